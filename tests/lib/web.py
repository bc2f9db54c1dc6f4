# SPDX-License-Identifier: Apache-2.0
"""What the cases of the gateway's entries of kind web share: clients that go through it as a proxy, and servers behind it."""

import http.client
import os
import socket
import ssl
import subprocess
import urllib.parse

from lib import gateway as g
from lib.case import check, equal

HOST = "localhost"


def entry(bundle, upstream, *paths, name="web", **more):
    urls = [f"https://{HOST}:{upstream.port}{path}" for path in paths or ("/docs/",)]
    return {"name": name, "kind": "web", "urls": urls, "ca_bundle": bundle, "addresses": [*g.LOOPBACK, "::1"], **more}


class Tunnel:
    """A connection through the gateway, with TLS in it."""

    def __init__(self, gateway, upstream, *, host=HOST, sni=HOST, verify=True):
        self.host = f"{host}:{upstream.port}"
        self.raw = gateway.connect(60)
        self.raw.sendall(f"CONNECT {self.host} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
        self.answer = b""
        while b"\r\n\r\n" not in self.answer:
            part = self.raw.recv(4096)
            if not part:
                break
            self.answer += part
        self.socket = None
        if b" 200 " in self.answer.split(b"\r\n")[0]:
            context = ssl.create_default_context(cadata=gateway.events[0]["authority"])
            if not verify:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            self.socket = context.wrap_socket(self.raw, server_hostname=sni)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        (self.socket or self.raw).close()

    def send(self, data):
        """Bytes as they are; everything that comes back until the end."""
        self.socket.sendall(data)
        return g.read_all(self.socket)


def get(gateway, upstream, target, method="GET", body=None, **fields):
    """One request in a tunnel of its own."""
    with Tunnel(gateway, upstream) as tunnel:
        before = gateway.count()
        connection = http.client.HTTPConnection(tunnel.host)
        connection.sock = tunnel.socket
        connection.request(method, target, body=body,
                           headers={name.replace("_", "-"): value for name, value in fields.items()})
        answer = connection.getresponse()
        content = answer.read()
        gateway.wait_for_event(before)
        return g.Answer(answer.status, dict(answer.getheaders()), content)


def environment(t, gateway, **more):
    """What a client is told inside: where the proxy is and whom to trust."""
    bundle = str(t.write("run-authority.pem", gateway.events[0]["authority"]))
    proxy = gateway.url
    names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO")
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(t.tmp), "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1", "NO_PROXY": "", **{name: bundle for name in names},
            **{name: proxy for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")}, **more}


def run(command, env, cwd=None, limit=60):
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False, timeout=limit)


def git_backend(t, root):
    """A route handler that answers as a git server does, by git's own program. `root` holds bare repositories."""
    backend = os.path.join(subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
                           .stdout.strip(), "git-http-backend")

    def answer(handler):
        where = urllib.parse.urlsplit(handler.path)
        size = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(size)
        variables = {"PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1",
                     "PATH_INFO": where.path, "QUERY_STRING": where.query, "REQUEST_METHOD": handler.command,
                     "CONTENT_TYPE": handler.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(size),
                     "REMOTE_USER": "test", "REMOTE_ADDR": "127.0.0.1", "HOME": str(t.tmp),
                     "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        done = subprocess.run([backend], env=variables, input=body, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        handler.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in {**fields, "Content-Length": str(len(content)), "Connection": "close"}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)
        upstream_bodies.append((handler.path, body))

    upstream_bodies = []
    answer.bodies = upstream_bodies
    return answer


class Anywhere(dict):
    """Routes whose values for a path below a folder are those of the folder; like the servers that resolve dots."""

    def __init__(self, folder, answer):
        super().__init__()
        self.folder, self.answer = folder, answer

    def get(self, key, default=None):
        return self.answer if key.startswith(self.folder) else super().get(key, default)


def check_alert(gateway, before, reason, what):
    """A connection that ended in TLS: no answer, but an event."""
    gateway.wait_for_event(before)
    event = gateway.last_request()
    equal((event["verdict"], event["reason"]), ("denied", reason), what)
    check(event["method"] is None, what, event)


def loopback_listener():
    """A port where somebody would notice a connection."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(8)
    listener.settimeout(0.2)
    return listener
