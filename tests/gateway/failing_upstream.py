# SPDX-License-Identifier: Apache-2.0
"""
Every call to an upstream failing at every stage: the name, the connection, TLS, the head, the body. The guest gets a
uniform answer and a reason, nothing half is handed out or kept, and the next try works.
"""

import json
import os
import socket
import ssl
import threading
import time

from lib import gateway as g
from lib.case import case, check, equal

LIMITS = {"connect_seconds": 2, "stall_seconds": 2, "fetch_seconds": 5}


def sends(*parts, pause=0.0):
    def answer(handler):
        try:
            for part in parts:
                handler.wfile.write(part)
                handler.wfile.flush()
                time.sleep(pause)
        except OSError:
            pass

    return answer


def faults(body, kind):
    """What an upstream may send in place of `body`: name -> (function of the handler, reasons that fit)."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n" % kind.encode()
    half = body[:len(body) // 2]
    failed, late, large = ("upstream_failed",), ("upstream_timeout",), ("too_large", "upstream_failed")
    return {
        "hangs up": (sends(), failed),
        "half a status": (sends(b"HTTP/1.1 2"), failed),
        "half a head": (sends(head + b"Content-Le"), failed),
        "half a body": (sends(head + b"Content-Length: %d\r\n\r\n" % len(body) + half), failed),
        "half a chunk": (sends(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + half), failed),
        "bad chunks": (sends(head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + body + b"\r\n0\r\n\r\n"), failed),
        "no last chunk": (sends(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body)), failed),
        "a negative length": (sends(head + b"Content-Length: -5\r\n\r\n" + body), failed + large),
        "a length that is none": (sends(head + b"Content-Length: many\r\n\r\n" + body), failed + large),
        "not HTTP": (sends(b"220 smtp.example.org ESMTP\r\n" * 50), failed),
        "an old protocol": (sends(b"<html>" + body), failed),
        "a coding that is none": (sends(head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body),
                                  failed + ("bad_index", "hash_mismatch")),
        "silence": (lambda handler: time.sleep(8), late),
        "silence after the head": (lambda handler: (sends(head + b"Content-Length: 9\r\n\r\n")(handler), time.sleep(8)), late),
        "silence in the body": (lambda handler: (sends(head + b"Content-Length: %d\r\n\r\n" % len(body) + half)(handler),
                                                 time.sleep(8)), late),
        "a drop at a time": (sends(head + b"Content-Length: 10000\r\n\r\n", *[b"x"] * 80, pause=0.1), late),
        "an error": (sends(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"), failed),
        "a part": (sends(b"HTTP/1.1 206 Partial\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (kind.encode(), len(body))
                         + body), failed),
        "a redirect to nowhere": (sends(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), failed + ("redirect",)),
    }


def try_each(t, gateway, upstream, path, target, kind, accept=None):
    right = upstream.routes[path]
    body = right if isinstance(right, bytes) else right[2]
    tries = faults(body, kind)
    if "octet" in kind:
        del tries["a coding that is none"]  # a file's bytes count as they come, and these are right
    for name, (answer, reasons) in tries.items():
        upstream.routes[path] = answer
        begin = time.monotonic()
        got = gateway.get(target, accept=accept)
        reason = gateway.last_request()["reason"]
        check(reason in reasons, f"{name}: the reason", reason, got)
        check(got.status in (403, 502), f"{name}: status", got)
        if got.status == 403:
            g.check_denied(got, name)
        else:
            equal(json.loads(got.body)["error"], "upstream_failed", f"{name}: answer")
        check(body[:20] not in got.body, f"{name}: bytes were handed out", got)
        check(time.monotonic() - begin < 20, f"{name}: it took too long")
    upstream.routes[path] = right
    equal(gateway.get(target, accept=accept).status, 200, "the next try")
    t.tried(f"{path}: {len(tries)} ways to fail")


@case(limit=120)
def page(t):
    bundle, upstream = g.world(t)
    g.publish_wheel(upstream, "thing")
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)], LIMITS) as gateway:
        try_each(t, gateway, upstream, "/simple/thing/", "/pypi/simple/thing/", g.PYPI_JSON, g.PYPI_JSON)


@case(limit=120)
def packument(t):
    bundle, upstream = g.world(t)
    g.publish_npm(upstream, "part")
    with g.Gateway(t, [g.npm_entry(bundle, upstream)], LIMITS) as gateway:
        try_each(t, gateway, upstream, "/npm/part", "/npm/part", "application/json")


@case(limit=120)
def file(t):
    """And nothing half is in the cache."""
    bundle, upstream = g.world(t)
    name, data = g.publish_wheel(upstream, "thing")
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)], LIMITS) as gateway:
        link = json.loads(gateway.get("/pypi/simple/thing/", accept=g.PYPI_JSON).body)["files"][0]["url"]
        right = upstream.routes[f"/files/{name}"]
        upstream.routes[f"/files/{name}"] = (200, {}, right)
        try_each(t, gateway, upstream, f"/files/{name}", link, "application/octet-stream")
        equal(os.listdir(gateway.cache), ["sha256-" + g.sha256(data)], "the cache")


class Dumb:
    """Listens and does one thing with each connection."""

    def __init__(self, what):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.what = what
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection):
        with connection:
            try:
                self.what(connection)
            except OSError:
                pass


@case(limit=120)
def before_http(t):
    """No such name, nobody there, and TLS that breaks or never comes."""
    bundle, upstream = g.world(t)

    def old_tls(connection):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(t.tmp / "tls/server.pem", t.tmp / "tls/server.key")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.wrap_socket(connection, server_side=True)

    dumb = {
        "hangs up": lambda connection: None, "hangs up after the hello": lambda connection: connection.recv(4096),
        "plain text": lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        "an alert": lambda connection: (connection.recv(4096), connection.sendall(b"\x15\x03\x03\x00\x02\x02\x28")),
        "garbage": lambda connection: (connection.recv(4096), connection.sendall(bytes(range(256)) * 4)),
        "a hello cut off": lambda connection: (connection.recv(4096), connection.sendall(b"\x16\x03\x03\x40\x00\x02")),
        "old TLS": old_tls, "silence": lambda connection: time.sleep(8),
        "silence after the hello": lambda connection: (connection.recv(4096), time.sleep(8)),
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()[1]
    places = {name: Dumb(what).port for name, what in dumb.items()}
    places["nobody"] = closed
    entries, names = [], {}
    for number, (name, port) in enumerate(places.items()):
        names[name] = f"e{number}"
        entries.append({**g.pypi_entry(bundle, upstream, f"e{number}"), "url": f"https://127.0.0.1:{port}/simple/"})
    names["no such name"] = "nameless"
    entries.append({**g.pypi_entry(bundle, upstream, "nameless"), "url": "https://no-such-host.invalid/simple/"})
    with g.Gateway(t, entries, LIMITS) as gateway:
        for name, entry in names.items():
            begin = time.monotonic()
            answer = gateway.get(f"/{entry}/simple/thing/")
            reason = gateway.last_request()["reason"]
            late = "silence" in name
            check(reason in (("upstream_timeout",) if late else ("upstream_failed", "tls", "upstream_timeout")
                             if name == "no such name" else ("upstream_failed", "tls")), f"{name}: the reason", reason)
            check(answer.status in (403, 502), f"{name}: status", answer)
            check(time.monotonic() - begin < 20, f"{name}: it took too long")
        equal(upstream.requests, [], "requests that came through")
    t.tried(f"{len(names)} ends before HTTP")
