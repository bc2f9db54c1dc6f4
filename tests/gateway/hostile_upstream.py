# SPDX-License-Identifier: Apache-2.0
"""Class 38 and more, an upstream that means harm: what it sends is checked before the guest has any of it."""

import gzip
import json
import os
import ssl
import time

from lib import gateway as g
from lib.case import case, check, equal


def link_of(gateway, name, entry="pypi"):
    files = json.loads(gateway.get(f"/{entry}/simple/{name}/", accept=g.PYPI_JSON).body)["files"]
    return files[0]["url"]


def cached(gateway):
    return sorted(os.listdir(gateway.cache))


@case()
def wrong_bytes(t):
    """Another file than the page said, a part of it, more than it: nothing is handed out, nothing is kept."""
    bundle, upstream = g.world(t)
    file, data = g.publish_wheel(upstream, "thing")
    where = f"/files/{file}"

    def cut(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data) + data[:-5])

    def endless(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                handler.wfile.write(b"x" * 65536)
        except OSError:
            pass

    def coded(handler):
        packed = gzip.compress(data)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed)

    tries = {
        "another file": (data[:-1] + b"!", 403, "hash_mismatch"),
        "a part, properly ended": (data[:-5], 403, "hash_mismatch"),
        "a part, broken off": (cut, 502, "upstream_failed"),
        "too much": (endless, 403, "too_large"),
        "too much, announced": ((200, {"Content-Length": str(10**12)}, b"x"), 403, "too_large"),
        "coded": (coded, 403, "hash_mismatch"),
        "an error": ((500, {}, b"no"), 502, "upstream_failed"),
        "gone": ((404, {}, b"no"), 502, "upstream_failed"),
        "garbage": (lambda handler: handler.wfile.write(b"\0\1\2\3 nonsense\r\n\r\n"), 502, "upstream_failed"),
        "part of a body": ((206, {}, data), 502, "upstream_failed"),
    }
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)], {"file_bytes": 1_000_000}) as gateway:
        link = link_of(gateway, "thing")
        for name, (answer, status, reason) in tries.items():
            upstream.routes[where] = answer
            got = gateway.get(link)
            equal(got.status, status, name)
            check(data[:100] not in got.body, "bytes were handed out: " + name)
            equal(gateway.last_request()["reason"], reason, name)
            equal(cached(gateway), [], "left in the cache: " + name)
        upstream.routes[where] = data
        equal(gateway.get(link).body, data, "the right file, at last")
        equal(cached(gateway), ["sha256-" + g.sha256(data)], "in the cache")
    t.tried(f"{len(tries)} wrong answers for a file: none handed out, none kept, the next try works")


@case()
def poisoned_cache(t):
    bundle, upstream = g.world(t)
    _, data = g.publish_wheel(upstream, "thing")
    for attempt in range(2):
        with g.Gateway(t, [g.pypi_entry(bundle, upstream)]) as gateway:
            equal(gateway.get(link_of(gateway, "thing")).body, data, f"file, run {attempt}")
        (t.tmp / "gateway.socket").unlink()
        path = os.path.join(gateway.cache, "sha256-" + g.sha256(data))
        os.chmod(path, 0o644)
        with open(path, "r+b") as file:
            file.write(b"poison")
    equal(upstream.asked("/files/thing-1.0-py3-none-any.whl"), 2, "downloads: the poisoned file does not count")


@case()
def bad_pages(t):
    bundle, upstream = g.world(t)
    json_type = {"Content-Type": g.PYPI_JSON}
    pages = {
        "not JSON": (200, json_type, b"<html>"),
        "another shape": (200, json_type, b'{"files": {"a": 1}}'),
        "a file without a name": (200, json_type, b'{"files": [{"url": "x"}]}'),
        "deep": (200, json_type, b"[" * 100000),
        "twice the same key": (200, json_type, b'{"files": [], "files": []}'),
        "nothing": (200, {"Content-Type": "text/html"}, b""),
        "invalid UTF-8": (200, json_type, b'{"files": ["\xff\xfe"]}'),
        "a bomb": (200, {**json_type, "Content-Encoding": "gzip"}, gzip.compress(b" " * 8_000_000)),
    }
    for number, page in enumerate(pages.values()):
        upstream.routes[f"/simple/bad-{number}/"] = page
    upstream.routes["/npm/other"] = json.dumps({"name": "not-other", "versions": {}}).encode()
    upstream.routes["/simple/markup/"] = (
        200, {"Content-Type": "text/html"},
        b"<base href='https://evil.test/'>" + b"<a href='" + b"../" * 500 + b"etc/passwd#sha256=" + b"0" * 64 + b"'>"
        + b"<div>" * 20000 + b"<script>alert(1)</script><a href='javascript:alert(1)'>x</a>")
    with g.Gateway(t, [g.pypi_entry(bundle, upstream), g.npm_entry(bundle, upstream)], {"index_bytes": 1_000_000}) as gateway:
        for number, name in enumerate(pages):
            g.check_denied(gateway.get(f"/pypi/simple/bad-{number}/"), name)
            reason = "too_large" if name == "a bomb" else "bad_index"
            equal(gateway.last_request()["reason"], reason, name)
        g.check_denied(gateway.get("/npm/other"), "the packument of another package")
        page = gateway.get("/pypi/simple/markup/")
        equal(page.status, 200, "a page of markup only")
        for word in (b"script", b"evil", b"javascript", b"passwd", b"base"):
            check(word not in page.body, "markup of the upstream came through", page)


@case()
def confused_files(t):
    """A page can not make another file of a name that was listed before."""
    bundle, upstream = g.world(t)
    file, data, manifest = g.tarball("left-part", "1.0.0")
    url = f"https://127.0.0.1:{upstream.port}/t/"
    version = {**manifest, "dist": {"tarball": url + file, "integrity": g.integrity(data)}}
    clash = {**manifest, "version": "2.0.0", "dist": {"tarball": url + "x/" + file, "integrity": g.integrity(b"other")}}
    weak = {**manifest, "version": "3.0.0", "dist": {"tarball": url + "w.tgz", "shasum": "0" * 40}}
    away = {**manifest, "version": "4.0.0", "dist": {"tarball": "https://evil.test/t.tgz", "integrity": g.integrity(data)}}
    upstream.routes["/npm/left-part"] = json.dumps({
        "name": "left-part", "dist-tags": {"latest": "2.0.0", "old": "1.0.0"},
        "versions": {"1.0.0": version, "2.0.0": clash, "3.0.0": weak, "4.0.0": away, "<b>": version}}).encode()
    upstream.routes["/t/" + file] = data
    with g.Gateway(t, [g.npm_entry(bundle, upstream)]) as gateway:
        page = json.loads(gateway.get("/npm/left-part").body)
        equal((list(page["versions"]), page["dist-tags"]), (["1.0.0"], {"old": "1.0.0"}), "what is left of the packument")
        equal(gateway.get(f"/npm/left-part/-/{file}").body, data, "the tarball")
        g.check_denied(gateway.get("/npm/left-part/-/w.tgz"), "a tarball with a weak hash")


@case(limit=90)
def slow_upstream(t):
    bundle, upstream = g.world(t)

    def drip(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        try:
            for _ in range(200):
                handler.wfile.write(b"x")
                time.sleep(0.1)
        except OSError:
            pass

    upstream.routes["/simple/drip/"] = drip
    upstream.routes["/simple/silent/"] = lambda handler: time.sleep(15)
    upstream.routes["/simple/head/"] = lambda handler: handler.wfile.write(
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 1000) for n in range(200)) + b"\r\n")
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)],
                   {"stall_seconds": 2, "fetch_seconds": 6, "connect_seconds": 2}) as gateway:
        for name, status, reason in (("drip", 502, "upstream_timeout"), ("silent", 502, "upstream_timeout"),
                                     ("head", 403, "too_large")):
            start = time.monotonic()
            equal(gateway.get(f"/pypi/simple/{name}/").status, status, name)
            check(time.monotonic() - start < 9, f"{name}: took too long")
            equal(gateway.last_request()["reason"], reason, name)


@case()
def certificates(t):
    """A server that the bundle does not vouch for, or that is another."""
    bundle, upstream = g.world(t)
    other = t.tmp / "other"
    other.mkdir()
    t.tmp, here = other, t.tmp
    _, strange = g.authority(t, ["localhost"])
    t.tmp = here
    stranger = g.Upstream(strange)
    plain = g.Upstream(None)
    for server in (upstream, stranger, plain):
        g.publish_wheel(server, "thing")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old.load_cert_chain(here / "tls/server.pem", here / "tls/server.key")
    entries = [
        g.pypi_entry(bundle, stranger, "stranger"),
        {**g.pypi_entry(bundle, upstream, "other-name"), "url": f"https://127.0.0.2:{upstream.port}/simple/"},
        g.pypi_entry(bundle, plain, "plain"),
        g.pypi_entry(bundle, upstream),
    ]
    with g.Gateway(t, entries) as gateway:
        g.check_denied(gateway.get("/stranger/simple/thing/"), "a certificate of another authority")
        equal(gateway.last_request()["reason"], "tls", "reason for the stranger")
        check(gateway.get("/other-name/simple/thing/").status in (403, 502), "a certificate for another name")
        equal(stranger.requests, [], "requests that the stranger saw")
        check(gateway.get("/plain/simple/thing/").status in (403, 502), "no TLS at all")
        equal(plain.requests, [], "requests in plain text")
        equal(gateway.get("/pypi/simple/thing/").status, 200, "the right one")


@case()
def gone(t):
    """The upstream is not there, and then it is."""
    bundle, upstream = g.world(t)
    g.publish_wheel(upstream, "thing")
    upstream.server.shutdown()
    upstream.server.server_close()
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)]) as gateway:
        answer = gateway.get("/pypi/simple/thing/")
        equal((answer.status, json.loads(answer.body)["error"]), (502, "upstream_failed"), "answer")
        routes, port = upstream.routes, upstream.port
        _, context = bundle, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(t.tmp / "tls/server.pem", t.tmp / "tls/server.key")
        again = g.Upstream(context, port=port)
        again.routes = routes
        equal(gateway.get("/pypi/simple/thing/").status, 200, "the next try")


@case()
def bad_configuration(t):
    """Anything but a good configuration stops it before it takes a connection."""
    bundle, upstream = g.world(t)
    good = g.pypi_entry(bundle, upstream)
    for name, entries, more in (
            ("unknown key", [{**good, "colour": "red"}], {}),
            ("no entries", [], {}),
            ("plain HTTP to anywhere", [{**good, "url": "http://example.org/", "addresses": []}], {}),
            ("user in the URL", [{**good, "url": "https://a:b@127.0.0.1/"}], {}),
            ("bad network", [{**good, "addresses": ["127.0.0.1/8"]}], {}),
            ("name twice", [good, good], {}),
            ("no such bundle", [{**good, "ca_bundle": "/nonexistent"}], {}),
            ("kind", [{**good, "kind": "web"}], {}),
            ("limit 0", [good], {"limits": {"names": 0}}),
            ("root", [good], {"user": [0, 0]})):
        gateway = g.Gateway(t, entries, wait=False, **more)
        gateway.close()
        equal((gateway.status, gateway.events), (1, []), name)
        check("mai-sandbox-gateway: " in gateway.complaint(), "words of the refusal: " + name, gateway.complaint())
        (t.tmp / "gateway.socket").unlink()
