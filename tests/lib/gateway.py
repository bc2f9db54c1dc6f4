# SPDX-License-Identifier: Apache-2.0
"""
What the cases of the gateway share: the gateway as a process, an upstream index that does as it is told, and packages to
put there. Nothing here leaves the machine.
"""

import base64
import fcntl
import hashlib
import http.client
import http.server
import io
import json
import os
import pathlib
import socket
import ssl
import subprocess
import tarfile
import threading
import time
import zipfile

from lib.case import check, equal

USER = [61917, 61917]
PYPI_JSON = "application/vnd.pypi.simple.v1+json"
NPM_SHORT = "application/vnd.npm.install-v1+json"
LOOPBACK = ["127.0.0.0/8"]


def program(t):
    path = pathlib.Path(t.program).with_name("mai-sandbox-gateway")
    if not path.exists():
        t.skip("needs a build with the gateway (libevent, libcurl, libxml2)")
    return str(path)


# ---- Certificates ----

def authority(t, names, addresses=("127.0.0.1",)):
    """A certificate authority of our own and a server's certificate by it. Returns (bundle, ssl context)."""
    openssl = t.need_program("openssl")
    where = t.tmp / "tls"
    where.mkdir(exist_ok=True)
    alternatives = ",".join([f"DNS:{name}" for name in names] + [f"IP:{address}" for address in addresses])
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    def call(*words):
        subprocess.run([openssl, *words], cwd=where, check=True, capture_output=True)

    call("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority", "-days", "2",
         "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    call("req", *new_key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=test server")
    (where / "extensions").write_text(f"subjectAltName={alternatives}\n")
    call("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
         "-extfile", "extensions", "-out", "server.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(where / "server.pem", where / "server.key")
    return str(where / "ca.pem"), context


# ---- Upstreams ----

class Upstream:
    """
    An index on loopback. `routes`: path -> bytes, or (status, fields, bytes), or a function of the request handler that
    writes the answer itself. Every request is remembered.
    """

    def __init__(self, context, address="127.0.0.1", port=0):
        self.routes = {}
        self.requests = []
        self.connections = 0
        self.dialled = []  # addresses of ours that somebody connected to
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                upstream.requests.append((self.command, self.path, dict(self.headers)))
                answer = upstream.routes.get(self.path, (404, {}, b"no"))
                if callable(answer):
                    answer(self)
                    self.close_connection = True
                    return
                if isinstance(answer, bytes):
                    answer = (200, {}, answer)
                status, fields, body = answer
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **fields}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_HEAD = do_POST = do_PUT = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def get_request(self):
                raw, peer = self.socket.accept()
                upstream.connections += 1
                upstream.dialled.append(raw.getsockname()[0])
                raw.settimeout(20)
                return (context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
                        if context else raw), peer

            def handle_error(self, *_):
                pass

        self.server = Server((address, port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def asked(self, path):
        return sum(1 for _, seen, _ in self.requests if seen == path)


# ---- Packages ----

def wheel(name, version="1.0", requires=(), files=None, extra_metadata=""):
    """A pure wheel: (file name, bytes, metadata)."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata = (f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                + "".join(f"Requires-Dist: {other}\n" for other in requires) + extra_metadata)
    content = {f"{module}/__init__.py": f"NAME = {name!r}\nVERSION = {version!r}\n", **(files or {}),
               f"{info}/METADATA": metadata,
               f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()}"
                     f",{len(text.encode())}\n" for path, text in content.items())
    content[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
    return f"{module}-{version}-py3-none-any.whl", out.getvalue(), metadata.encode()


def tarball(name, version="1.0.0", dependencies=None):
    """An npm package: (file name, bytes, manifest)."""
    manifest = {"name": name, "version": version, "main": "index.js", "dependencies": dependencies or {}}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in {"package/package.json": json.dumps(manifest),
                           "package/index.js": f"module.exports = {json.dumps(name + '@' + version)};\n"}.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return f"{name.split('/')[-1]}-{version}.tgz", out.getvalue(), manifest


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def integrity(data):
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


def simple_json(name, files):
    """A PEP 691 page. `files`: list of dicts, completed where they say nothing."""
    return json.dumps({"meta": {"api-version": "1.0"}, "name": name, "files": files}).encode()


def publish_wheel(upstream, name, *, metadata=False, form="json", **how):
    """Puts a wheel and its page upstream. Returns (file name, bytes)."""
    file, data, text = wheel(name, **how)
    upstream.routes[f"/files/{file}"] = data
    if metadata:
        upstream.routes[f"/files/{file}.metadata"] = text
    if form == "json":
        entry = {"filename": file, "url": f"/files/{file}", "hashes": {"sha256": sha256(data)}}
        if metadata:
            entry["core-metadata"] = {"sha256": sha256(text)}
        upstream.routes[f"/simple/{name}/"] = (200, {"Content-Type": PYPI_JSON}, simple_json(name, [entry]))
    else:
        extra = f' data-core-metadata="sha256={sha256(text)}"' if metadata else ""
        upstream.routes[f"/simple/{name}/"] = (
            200, {"Content-Type": "text/html"},
            f'<html><body><a href="../../files/{file}#sha256={sha256(data)}"{extra}>{file}</a></body></html>'.encode())
    return file, data


def publish_npm(upstream, name, version="1.0.0", dependencies=None):
    file, data, manifest = tarball(name, version, dependencies)
    where = f"/npm/{name}/-/{file}"
    upstream.routes[where] = data
    url = f"https://127.0.0.1:{upstream.port}{where}"
    document = {"name": name, "dist-tags": {"latest": version}, "versions": {
        version: {**manifest, "dist": {"tarball": url, "integrity": integrity(data),
                                       "shasum": hashlib.sha1(data).hexdigest()}}}}
    upstream.routes["/npm/" + name.replace("/", "%2f")] = json.dumps(document).encode()
    return file, data


# ---- The gateway ----

class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def __repr__(self):
        return f"Answer({self.status}, {self.fields}, {self.body[:300]!r})"


class Gateway:
    """The process, with a listening socket; ends with the `with` block."""

    def __init__(self, t, entries, limits=None, tcp=False, cache=None, wait=True,
                 program_path=None, **more):
        self.path = str(t.tmp / "gateway.socket")
        family = socket.AF_INET if tcp else socket.AF_UNIX
        self.listener = socket.socket(family)
        self.listener.bind((tcp if isinstance(tcp, tuple) else ("127.0.0.1", 0)) if tcp else self.path)
        self.listener.listen(64)
        self.where = self.listener.getsockname()
        self.url = f"http://127.0.0.1:{self.where[1]}" if tcp else "http://127.0.0.1:8199"
        self.cache = cache or str(t.tmp / "cache")
        config = {"base_url": self.url, "cache": {"directory": self.cache}, "entries": entries, **more}
        if limits:
            config["limits"] = limits
        if os.geteuid() == 0:
            config.setdefault("user", USER)
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        document = os.memfd_create("config")
        os.write(document, json.dumps(config).encode())
        os.lseek(document, 0, os.SEEK_SET)
        reader, writer = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
                for fd in (self.listener.fileno(), theirs.fileno(), document, writer)]
        self.errors = open(t.tmp / "gateway.stderr", "w+b")  # pylint: disable=consider-using-with
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(high, 3)]
        actions.append((os.POSIX_SPAWN_DUP2, self.errors.fileno(), 2))
        environment = {"https_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1",
                       "ASAN_OPTIONS": "detect_leaks=0"}
        self.pid = os.posix_spawn(program_path or program(t), ["mai-sandbox-gateway"], environment, file_actions=actions)
        for fd in [*high, document, writer]:
            os.close(fd)
        theirs.close()
        self.events = []
        self.status = None
        self.reader = threading.Thread(target=self._read_events, args=(reader,), daemon=True)
        self.reader.start()
        if wait:
            deadline = time.monotonic() + 15
            while not self.events and self.reader.is_alive() and time.monotonic() < deadline:
                time.sleep(0.01)
            check(self.events and self.events[0]["event"] == "ready", "the gateway did not start", self.complaint())

    def complaint(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def _read_events(self, fd):
        with os.fdopen(fd, "rb") as lines:
            for line in lines:
                self.events.append(json.loads(line))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close()
        if kind is None:
            equal(self.status, 0, "exit status of the gateway: " + self.complaint())

    def close(self):
        """Closes the control socket, which ends it; returns the last event."""
        if self.status is None:
            self.control.close()
            self.listener.close()
            deadline = time.monotonic() + 10
            pid = 0
            while not pid and time.monotonic() < deadline:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                time.sleep(0.01)
            if not pid:
                os.kill(self.pid, 9)
                _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
            self.reader.join(5)
        return self.events[-1] if self.events else None

    def connect(self, timeout=20):
        connection = socket.socket(self.listener.family)
        connection.settimeout(timeout)
        connection.connect(self.where)
        return connection

    def raw(self, data, timeout=20):
        """Sends bytes as they are; everything that comes back until the end."""
        with self.connect(timeout) as connection:
            connection.sendall(data)
            return read_all(connection)

    def count(self):
        return sum(1 for event in list(self.events) if event["event"] == "request")

    def wait_for_event(self, before):
        """Until the event of a request is there: it follows the answer."""
        deadline = time.monotonic() + 3
        while self.count() == before and time.monotonic() < deadline:
            time.sleep(0.005)

    def get(self, target, accept=None, method="GET", **fields):
        before = self.count()
        connection = http.client.HTTPConnection("127.0.0.1", timeout=60)
        connection.sock = self.connect(60)
        head = {"Accept": accept} if accept else {}
        head.update({name.replace("_", "-"): value for name, value in fields.items()})
        connection.request(method, target, headers=head)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        self.wait_for_event(before)
        return Answer(answer.status, dict(answer.getheaders()), body)

    def last_request(self):
        """
        The event of the request that was answered last. It is written as the answer is, and read by a thread of ours: so not
        before nothing more has come for a while.
        """
        seen, since = len(self.events), time.monotonic()
        while time.monotonic() - since < 0.02:
            time.sleep(0.005)
            if len(self.events) != seen:
                seen, since = len(self.events), time.monotonic()
        return self.requests()[-1]

    def requests(self, **wanted):
        """The request events that have these values."""
        return [event for event in list(self.events) if event["event"] == "request"
                and all(event[key] == value for key, value in wanted.items())]


def read_all(connection):
    out = b""
    try:
        while part := connection.recv(65536):
            out += part
    except (ConnectionResetError, socket.timeout) as error:
        out += f"<{type(error).__name__}>".encode()
    return out


DENIAL = b'{"error":"network_denied","message":"The package gateway of this sandbox refuses the request."}\n'


def check_denied(answer, what):
    """The one uniform denial, be it parsed or raw."""
    if isinstance(answer, Answer):
        equal((answer.status, answer.body, answer.fields.get("Connection")), (403, DENIAL, "close"), what)
        return
    head, _, body = answer.partition(b"\r\n\r\n")
    expected = (b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                b"Connection: close" % len(DENIAL))
    equal((head, body), (expected, DENIAL), what)


def pypi_entry(bundle, upstream, name="pypi", **more):
    return {"name": name, "kind": "pypi", "url": f"https://127.0.0.1:{upstream.port}/simple/", "ca_bundle": bundle,
            "addresses": LOOPBACK, **more}


def npm_entry(bundle, upstream, name="npm", **more):
    return {"name": name, "kind": "npm", "url": f"https://127.0.0.1:{upstream.port}/npm/", "ca_bundle": bundle,
            "addresses": LOOPBACK, **more}


def world(t):
    """A bundle and an upstream on loopback."""
    program(t)
    bundle, context = authority(t, ["localhost", "index.test", "files.test", "evil.test"])
    return bundle, Upstream(context)
