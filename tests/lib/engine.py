# SPDX-License-Identifier: Apache-2.0
"""
A Docker engine that is none, for what a real one does not do on demand: it answers the calls of a container's life as
dockerd 20.10 does (tests/lib/engine-answers.json was written down from one), and fails where a case wants it to.
"""

import copy
import json
import os
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import threading
import time

from lib.case import check
from lib.guest import Guest

ANSWERS = json.loads((pathlib.Path(__file__).parent / "engine-answers.json").read_text())

# The calls of a container's life, by what they are called here.
CALLS = (
    ("ping", "GET", r"/_ping"),
    ("version", "GET", r"/version"),
    ("image", "GET", r"/images/(?P<name>.+)/json"),
    ("build", "POST", r"/build"),
    ("create", "POST", r"/containers/create"),
    ("attach", "POST", r"/containers/(?P<name>[^/]+)/attach"),
    ("start", "POST", r"/containers/(?P<name>[^/]+)/start"),
    ("inspect", "GET", r"/containers/(?P<name>[^/]+)/json"),
    ("kill", "POST", r"/containers/(?P<name>[^/]+)/kill"),
    ("remove", "DELETE", r"/containers/(?P<name>[^/]+)"),
)
HOSTILE = "no \x1b[31mway\x07\r\nsecond line"
REASONS = {101: "UPGRADED", 200: "OK", 201: "Created", 204: "No Content"}


def http(status, body=b"", kind="application/json", fields=()):
    """A whole answer. `body`: bytes, or what is to be JSON."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} {REASONS.get(status, 'Whatever')}", "Api-Version: 1.41", "Docker-Experimental: false",
            "Ostype: linux", "Server: Docker/20.10.24 (linux)", *fields]
    if status != 204:
        head += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


# ---- Faults: functions of the right answer (bytes) and the connection; each leaves the connection to be closed ----

def says(status, message=HOSTILE):
    return lambda right, connection: connection.sendall(http(status, {"message": message}))


def plain(status, text):
    return lambda right, connection: connection.sendall(http(status, text, "text/html"))


def closes(right, connection):
    """Takes the request and hangs up."""


def hangs(right, connection):
    connection.settimeout(60)
    try:
        while connection.recv(65536):
            pass
    except OSError:
        pass


def cut_head(right, connection):
    connection.sendall(right[:right.index(b"\r\n\r\n") - 5])


def body_of(right):
    """The body of an answer without its framing."""
    head, _, body = right.partition(b"\r\n\r\n")
    if b"chunked" in head:
        return body.split(b"\r\n", 1)[1].rsplit(b"\r\n0\r\n", 1)[0]
    return body


def cut_body(right, connection):
    """Announces more than comes."""
    head, body = right.partition(b"\r\n\r\n")[0], body_of(right)
    head = re.sub(rb"\r\n(Content-Length|Content-Type|Transfer-Encoding): [^\r]*", b"", head)
    connection.sendall(head.replace(b"204 No Content", b"200 OK") + b"\r\nContent-Length: 100000\r\n\r\n" + body[:-1])


def garbage(right, connection):
    connection.sendall(bytes(range(256)) * 8)


def oversize(right, connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    for _ in range(40):
        connection.sendall(b" " * (1 << 20))


def endless_head(right, connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for number in range(2000):
        connection.sendall(b"X-%d: %s\r\n" % (number, b"y" * 1000))


def other_type(right, connection):
    connection.sendall(http(200, b"<html>Welcome to nginx!</html>", "text/html"))


def cut_json(right, connection):
    """A whole answer of half a document."""
    body = body_of(right) or b'{"Id": "'
    connection.sendall(http(200, body[:len(body) // 2]))


def other_json(right, connection):
    connection.sendall(http(200, b'[null, {"Id": 7, "HostConfig": []}]'))


def deep_json(right, connection):
    connection.sendall(http(200, b"[" * 100000))


def bad_chunks(right, connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                       b"5\r\nhello and more than five\r\nzz\r\n")


def two_lengths(right, connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 7\r\n\r\n{}")


def edited(change):
    """The right document, with what `change` makes of it."""

    def fault(right, connection):
        document = json.loads(body_of(right))
        change(document)
        connection.sendall(http(int(right.split()[1]), document))

    return fault


def redirects(right, connection):
    connection.sendall(http(302, b"", fields=("Location: http://127.0.0.1:1/",)))


FAULTS = {
    "hangs up": closes, "hangs up once": closes, "hangs": hangs, "cuts the head": cut_head, "cuts the body": cut_body, "garbage": garbage,
    "answers without end": oversize, "a head without end": endless_head, "another type": other_type,
    "half a document": cut_json, "another document": other_json, "a deep document": deep_json, "bad chunks": bad_chunks,
    "two lengths": two_lengths, "redirects": redirects, "says 400": says(400), "says 404": says(404),
    "says 409": says(409), "says 500": says(500), "a page of 503": plain(503, b"<h1>\x1b[2J\xff</h1>" * 5000),
}


# ---- The engine ----

class Stream:
    """A container's standard output on the attached connection."""

    def __init__(self, connection):
        self.connection = connection

    def send(self, data, stream=1):
        for at in range(0, len(data), 4096):  # pieces fall anywhere into frames
            self.raw(struct.pack(">BxxxI", stream, len(data[at:at + 4096])) + data[at:at + 4096])

    def raw(self, data):
        try:
            self.connection.sendall(data)
        except OSError:
            pass

    def close(self):
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Gone(Exception):
    """This engine is not there any more."""


class Engine:
    """
    Listens until the `with` block ends. `faults`: call -> function as above, for the first call of that name, or for the
    second one as `call#2`; `always` for all of them. `vanish`: the name of a call at which the engine goes away. `script`: see Guest.
    """

    def __init__(self, t, faults=None, *, always=False, vanish=None, script=None, context=None, image_made=True,
                 running_after=False, api="1.41"):
        self.faults = dict(faults or {})
        self.always = always
        self.vanish = vanish
        self.script = script or {}
        self.context = context
        self.image_made = image_made
        self.running_after = running_after  # what inspect says once the streams have ended
        self.api = api
        self.calls = []
        self.targets = []
        self.containers = {}
        self.went = 0  # how often user code would have run
        self.bad_handshakes = 0
        self.connections = []
        self.lock = threading.Lock()
        self.path = None
        if context or t is None:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.host = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        else:
            number = len([name for name in os.listdir(t.tmp) if name.startswith("engine")])
            while True:
                self.path = str(t.tmp / f"engine{number}")
                self.listener = socket.socket(socket.AF_UNIX)
                try:
                    self.listener.bind(self.path)
                    break
                except OSError:
                    self.listener.close()
                    number += 1
            self.listener.listen(64)
            self.host = f"unix://{self.path}"
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for end in (self.listener, *self.connections):
            for step in (lambda end=end: end.shutdown(socket.SHUT_RDWR), end.close):
                try:
                    step()
                except OSError:
                    pass

    def asked(self, name):
        return self.calls.count(name)

    def _serve(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(raw)
            threading.Thread(target=self._connection, args=(raw,), daemon=True).start()

    def _connection(self, raw):
        try:
            raw.settimeout(60)
            if self.context:
                try:
                    raw = self.context.wrap_socket(raw, server_side=True)
                except OSError:
                    self.bad_handshakes += 1
                    raise
                self.connections.append(raw)
            buffer = b""
            while True:
                while b"\r\n\r\n" not in buffer:
                    part = raw.recv(65536)
                    if not part:
                        return
                    buffer += part
                    if buffer[:1] == b"\x16":  # TLS where none is expected
                        raw.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request")
                        return
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                length = int(length[1]) if length else 0
                while len(buffer) < length:
                    buffer += raw.recv(65536)
                body, buffer = buffer[:length], buffer[length:]
                if not self._answer(raw, head.split(b"\r\n")[0].decode(), body):
                    return
        except (OSError, Gone):
            pass
        finally:
            raw.close()

    def _answer(self, connection, line, body):
        """One request; False when the connection is over."""
        method, target, _ = line.split(" ")
        path = re.sub(r"^/v1\.\d+", "", target.partition("?")[0])
        query = target.partition("?")[2]
        for name, verb, pattern in CALLS:
            match = re.fullmatch(pattern, path)
            if verb == method and match:
                break
        else:
            connection.sendall(http(404, {"message": "page not found"}))
            return True
        with self.lock:
            self.calls.append(name)
            self.targets.append(target)
            number = self.calls.count(name)
        if name == self.vanish:
            self.close()
            if self.path:
                os.unlink(self.path)
            raise Gone
        fault = self.faults.get(name if number == 1 or self.always else f"{name}#{number}")
        if name == "attach" and not fault:
            self._attach(connection, self.containers[match["name"]])
            return False
        right = getattr(self, "on_" + name)(match.groupdict().get("name"), query, body, bool(fault))
        right = right.replace(b"Api-Version: 1.41", b"Api-Version: " + self.api.encode())
        if fault:
            fault(right, connection)
            return False
        connection.sendall(right)
        return True

    # ---- The right answers. `failing`: a fault follows, so that nothing may have come of the call ----

    def on_ping(self, *_):
        return http(200, b"OK", "text/plain; charset=utf-8")

    def on_version(self, *_):
        return http(200, ANSWERS["version"])

    def on_image(self, *_):
        return http(200, ANSWERS["image"])

    def on_build(self, name, query, body, failing):
        check(body[257:262] == b"ustar" and b"COPY init" in body, "the build context")
        self.image_made = self.image_made or not failing
        lines = (json.dumps(line) for line in ANSWERS["build"])
        return http(200, "\r\n".join(lines).encode() + b"\r\n")

    def on_create(self, name, query, body, failing):
        request = json.loads(body)
        if not self.image_made:
            return http(404, {"message": f"No such image: {request['Image']}"})
        name = query.partition("name=")[2]
        self.containers[name] = {"request": request, "guest": None, "stream": None, "running": False,
                                 "id": os.urandom(32).hex()}
        return http(201, {"Id": self.containers[name]["id"], "Warnings": []})

    def on_attach(self, *_):
        return b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\n" \
               b"Upgrade: tcp\r\n\r\n"

    def on_start(self, name, query, body, failing):
        container = self.containers.get(name)
        if container is None:
            return http(404, {"message": f"No such container: {name}"})
        container["running"] = True
        if container["guest"]:
            # Its words may well be there before the answer.
            if "instead" in self.script:
                threading.Thread(target=self._instead, args=(container,), daemon=True).start()
            else:
                container["guest"].start()
        return http(204)

    def on_inspect(self, name, query, body, failing):
        container = self.containers.get(name)
        if container is None:
            return http(404, {"message": f"No such container: {name}"})
        answer = copy.deepcopy(ANSWERS["inspect"])
        request = container["request"]
        answer["Id"], answer["Name"] = container["id"], "/" + name
        answer["HostConfig"].update(request["HostConfig"])
        answer["State"].update({"Running": container["running"], "Status": "running" if container["running"] else "exited"})
        whole = json.dumps(answer).encode()
        head = http(200).partition(b"\r\nContent-Length")[0]
        return head + b"\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n" % (len(whole), whole)

    def on_kill(self, name, query, body, failing):
        container = self.containers.get(name)
        if container is None:
            return http(404, {"message": f"No such container: {name}"})
        self._stop(container)
        return http(204)

    def on_remove(self, name, query, body, failing):
        if failing:
            return http(204)
        container = self.containers.pop(name, None)
        if container is None:
            return http(404, {"message": f"No such container: {name}"})
        self._stop(container)
        return http(204)

    @staticmethod
    def _stop(container):
        container["running"] = False
        if container["stream"]:
            container["stream"].close()

    # ---- The streams ----

    def _instead(self, container):
        """The script's own words in place of an init's, and then the container's end."""
        self.script["instead"](container["stream"])
        container["running"] = self.running_after
        container["stream"].close()

    def _attach(self, connection, container):
        stream = Stream(connection)
        guest = Guest(container["request"], stream, {**self.script})
        container["guest"], container["stream"] = guest, stream
        connection.sendall(self.on_attach())
        connection.settimeout(None)
        while data := connection.recv(1 << 20):
            guest.feed(data)
            if guest.went:
                guest.went = False
                self.went += 1
            if self.script.get("drops") and self.went:
                self.script["drops"](self, container)
        if not self.running_after:
            container["running"] = False


# ---- Certificates ----

def call(words, where):
    subprocess.run(words, cwd=where, check=True, capture_output=True)


def certificates(t, *, name="DNS:localhost,IP:127.0.0.1", expired=False):
    """
    An authority, a server's certificate and a client's. Returns the directory with ca.pem, cert.pem, key.pem, and the
    context of a server that asks for the client's.
    """
    openssl = t.need_program("openssl")
    where = t.tmp / f"tls-{time.monotonic_ns()}"
    where.mkdir()

    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    call([openssl, "req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority", "-days", "3",
         "-addext", "keyUsage=critical,keyCertSign,cRLSign"], where)
    for who, out, key, extension, days in (
            ("server", "server.pem", "server.key", f"subjectAltName={name}\nextendedKeyUsage=serverAuth",
             -1 if expired else 2),
            ("client", "cert.pem", "key.pem", "extendedKeyUsage=clientAuth", 2)):
        call([openssl, "req", *new_key, "-keyout", key, "-out", f"{who}.csr", "-subj", f"/CN=test {who}"], where)
        (where / f"{who}.ext").write_text(extension + "\n")
        call([openssl, "x509", "-req", "-in", f"{who}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
              "-out", out, "-days", str(days), "-extfile", f"{who}.ext"], where)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(where / "server.pem", where / "server.key")
    context.load_verify_locations(where / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return where, context
