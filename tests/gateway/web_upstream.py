# SPDX-License-Identifier: Apache-2.0
"""Entries of kind web and servers that mean harm, or are not who they should be."""

import os
import subprocess
import time

from lib import gateway as g
from lib import netns, web
from lib.case import PYTHON, case, check, equal

PUBLIC = "93.184.216.34"


@case(limit=90)
def redirects(t):
    """A client is led on only to where it may go; the gateway itself follows none."""
    bundle, upstream = g.world(t)
    base = f"https://{web.HOST}:{upstream.port}"
    refused = ["/secret/page", "/docs/../secret/page", "/docs/%2e%2e/secret", "https://evil.test/docs/page",
               f"https://127.0.0.1:{upstream.port}/docs/page", f"http://{web.HOST}:{upstream.port}/docs/page",
               f"https://x@{web.HOST}:{upstream.port}/docs/page", f"https://{web.HOST}.:{upstream.port}/docs/page",
               f"https://{web.HOST}/docs/page", "//evil.test/docs/page", "/docs/page?data=1", "file:///etc/passwd",
               "javascript:alert(1)", "https://[", "/docs/" + "a" * 2000]
    allowed = {"/docs/page": "/docs/page", "page#part": "/docs/page", f"{base}/docs/p%61ge": "/docs/page",
               f"{base.upper().replace('HTTPS', 'https')}/other/x": "/other/x"}
    with g.Gateway(t, [web.entry(bundle, upstream), web.entry(bundle, upstream, "/other/", name="other")]) as gateway:
        for number, target in enumerate(refused):
            upstream.routes[f"/docs/r{number}"] = ((301, 302, 303, 307, 308)[number % 5], {"Location": target}, b"")
            g.check_denied(web.get(gateway, upstream, f"/docs/r{number}"), target)
            equal(gateway.last_request()["reason"], "redirect", target)
        for number, (target, where) in enumerate(allowed.items()):
            upstream.routes[f"/docs/a{number}"] = (302, {"Location": target}, b"")
            answer = web.get(gateway, upstream, f"/docs/a{number}")
            equal((answer.status, answer.fields["Location"]), (302, base + where), target)
    equal(len(upstream.requests), len(refused) + len(allowed), "no redirect was followed")
    t.tried(f"{len(refused)} redirects to elsewhere: none passed on, none followed")


@case(limit=90)
def statuses_and_fields(t):
    """Answers that would begin another protocol, or set something up in the client."""
    bundle, upstream = g.world(t)
    fields = {"Set-Cookie": "a=b", "Alt-Svc": 'h2="evil.test:443"', "Upgrade": "websocket", "Refresh": "0; url=https://evil.test/",
              "Strict-Transport-Security": "max-age=1", "Proxy-Authenticate": "Basic", "WWW-Authenticate": "Basic",
              "Content-Type": "text/plain", "X-Any": "x", "Trailer": "x"}
    upstream.routes["/docs/page"] = (200, fields, b"page")
    upstream.routes["/docs/switch"] = lambda handler: handler.wfile.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nframes")
    upstream.routes["/docs/part"] = (206, {"Content-Range": "bytes 0-3/10"}, b"part")
    upstream.routes["/docs/proxy"] = (407, {"Proxy-Authenticate": "Basic"}, b"who")
    upstream.routes["/docs/injected"] = lambda handler: handler.wfile.write(
        b"HTTP/1.1 200 OK\r\nETag: a\rSet-Cookie: b\r\nContent-Type: x/\x01\r\nContent-Length: 2\r\n\r\nok")
    upstream.routes["/docs/short"] = lambda handler: handler.wfile.write(
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
    upstream.routes["/docs/two"] = lambda handler: handler.wfile.write(
        b"HTTP/1.1 103 Early Hints\r\nLink: </secret>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    upstream.routes["/docs/fields"] = (200, {f"X-{number}": "y" * 1000 for number in range(70)}, b"page")
    with g.Gateway(t, [web.entry(bundle, upstream)], {"stall_seconds": 2}) as gateway:
        equal(web.get(gateway, upstream, "/docs/page").fields,
              {"Content-Type": "text/plain", "Content-Length": "4", "Connection": "keep-alive"}, "fields")
        for path in ("switch", "part", "proxy", "short"):
            equal(web.get(gateway, upstream, "/docs/" + path).status, 502, path)
        equal(web.get(gateway, upstream, "/docs/injected").fields, {"Content-Length": "2", "Connection": "keep-alive"}, "injected")
        equal(set(web.get(gateway, upstream, "/docs/two").fields), {"Content-Length", "Connection"}, "fields before the answer")
        g.check_denied(web.get(gateway, upstream, "/docs/fields"), "70 KB of fields")


@case(limit=90)
def who_the_server_is(t):
    """The server's certificate is verified by the entry's bundle, for the entry's host."""
    bundle, upstream = g.world(t)
    upstream.routes["/docs/page"] = b"page"
    (t.tmp / "else").mkdir()
    mine, t.tmp = t.tmp, t.tmp / "else"
    other_bundle, _ = g.authority(t, ["localhost"])
    wrong_bundle, wrong_context = g.authority(t, ["evil.test"], ["127.0.0.9"])
    t.tmp = mine
    wrong_name = g.Upstream(wrong_context)
    wrong_name.routes["/docs/page"] = b"page"
    for case_name, server, trusted in (("another authority", upstream, other_bundle), ("another name", wrong_name, wrong_bundle)):
        with g.Gateway(t, [web.entry(trusted, server)]) as gateway:
            g.check_denied(web.get(gateway, server, "/docs/page"), case_name)
            equal(gateway.last_request()["reason"], "tls", case_name)
        equal(server.requests, [], case_name)
        (t.tmp / "gateway.socket").unlink()
    # Loopback and private addresses only where the entry names them.
    with g.Gateway(t, [web.entry(bundle, upstream, addresses=["10.0.0.0/8"])]) as gateway:
        before = upstream.connections
        g.check_denied(web.get(gateway, upstream, "/docs/page"), "loopback")
        equal((gateway.last_request()["reason"], upstream.connections - before), ("address", 0), "loopback")
    (t.tmp / "gateway.socket").unlink()
    with g.Gateway(t, [web.entry(bundle, upstream)]) as gateway:
        equal(web.get(gateway, upstream, "/docs/page").body, b"page", "the control")


@case(limit=90)
def without_tls(t):
    """An http prefix: as a whole URL, to networks that the entry names, with the same checks."""
    g.program(t)
    bundle = "/etc/ssl/certs/ca-certificates.crt"
    upstream = g.Upstream(None)
    upstream.routes["/docs/page"] = b"page"
    upstream.routes["/docs/on"] = (302, {"Location": "/secret/page"}, b"")
    url = f"http://{web.HOST}:{upstream.port}"
    entry = {"name": "web", "kind": "web", "urls": [url + "/docs/"], "addresses": [*g.LOOPBACK, "::1"], "ca_bundle": bundle}
    with g.Gateway(t, [entry], tcp=True) as gateway:
        program = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read())"
        done = web.run([PYTHON, "-c", program, url + "/docs/page"], web.environment(t, gateway))
        equal(done.stdout, "b'page'\n", done.stderr)
        before = len(upstream.requests)
        host = f"Host: {web.HOST}:{upstream.port}\r\n\r\n"
        for target, field, reason in ((url + "/secret/page", host, "prefix"), (url + "/docs/../secret/page", host, "path"),
                                      (url + "/docs/page?x", host, "query"), (url + "/docs/page#x", host, "target"),
                                      (url + "/docs/page", "Host: evil.test\r\n\r\n", "host"),
                                      (url + "/docs/on", host, "redirect")):
            events = gateway.count()
            g.check_denied(gateway.raw(f"GET {target} HTTP/1.1\r\n{field}".encode()), target)
            gateway.wait_for_event(events)
            equal(gateway.last_request()["reason"], reason, target)
        g.check_denied(gateway.raw(f"CONNECT {web.HOST}:{upstream.port} HTTP/1.1\r\n{host}".encode()), "a tunnel there")
    equal(len(upstream.requests) - before, 1, "requests to the server")
    with g.Gateway(t, [{**entry, "addresses": None}], wait=False) as gateway:
        gateway.reader.join(5)
        check("addresses" in gateway.complaint(), "http without networks", gateway.complaint())
        gateway.close()
        gateway.status = 0


@case(limit=120)
def clients_without_a_proxy(t):
    """A name that leads to loopback, port 443 there, and TLS from the first byte: Node's fetch, and curl told so."""
    g.program(t)
    netns.enter(t, [PUBLIC + "/32"])
    curl = t.need_program("curl")
    bundle, context = g.authority(t, ["docs.test", "evil.test"], [PUBLIC])
    upstream = g.Upstream(context, PUBLIC, 443)
    upstream.routes["/docs/page"] = b"page"
    netns.NameServer({"docs.test": [PUBLIC], "evil.test": [PUBLIC]})
    entry = {"name": "web", "kind": "web", "urls": ["https://docs.test/docs/"], "ca_bundle": bundle}
    with g.Gateway(t, [entry], tcp=("127.0.0.1", 443)) as gateway:
        environment = {name: value for name, value in web.environment(t, gateway).items() if "roxy" not in name.lower()}
        inside = ["--resolve", "docs.test:443:127.0.0.1", "--resolve", "evil.test:443:127.0.0.1"]
        done = web.run([curl, "-sS", *inside, "https://docs.test/docs/page"], environment)
        equal(done.stdout, "page", done.stderr)
        done = web.run([curl, "-sS", "-w", "%{http_code}", *inside, "https://docs.test/secret/page"], environment)
        check(done.stdout.endswith("403"), "below no prefix", done.stdout)
        before = gateway.count()
        done = web.run([curl, "-sS", *inside, "https://evil.test/docs/page"], environment)
        check(done.returncode != 0, "another host", done.stdout)
        web.check_alert(gateway, before, "sni", "another host")
        before = gateway.count()
        done = web.run([curl, "-sSk", "https://127.0.0.1/docs/page"], environment)
        check(done.returncode != 0, "no name", done.stdout)
        web.check_alert(gateway, before, "sni", "no name")
        node = web.run(["sh", "-c", "command -v node"], environment).stdout.strip()
        if node:
            hosts = t.write("hosts", "127.0.0.1 localhost docs.test\n")
            script = "fetch('https://docs.test/docs/page').then((page) => page.text()).then(console.log)"
            done = web.run(["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && exec "$3" -e "$4"', "x", str(hosts),
                            os.path.realpath("/etc/hosts"), node, script], environment)
            equal(done.stdout, "page\n", done.stderr)
            t.tried("Node's fetch: " + subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip())
    equal({where for where in upstream.dialled}, {PUBLIC}, "addresses dialled")


@case(limit=60)
def slow_server(t):
    """A server that does not come to an end holds up nobody but who asked for it."""
    bundle, upstream = g.world(t)

    def slowly(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        for _ in range(100):
            handler.wfile.write(b"x")
            time.sleep(0.1)

    upstream.routes["/docs/slow"] = slowly
    upstream.routes["/docs/page"] = b"page"
    with g.Gateway(t, [web.entry(bundle, upstream)], {"stall_seconds": 2, "fetch_seconds": 20}) as gateway:
        start = time.monotonic()
        with web.Tunnel(gateway, upstream) as waiting:
            waiting.socket.sendall(f"GET /docs/slow HTTP/1.1\r\nHost: {waiting.host}\r\n\r\n".encode())
            equal(web.get(gateway, upstream, "/docs/page").body, b"page", "another page meanwhile")
            check(waiting.socket.recv(4096).startswith(b"HTTP/1.1 502"), "the slow one")
        check(1 < time.monotonic() - start < 9, "seconds", time.monotonic() - start)
        gateway.wait_for_event(0)
    equal(len(gateway.requests(reason="upstream_timeout")), 1, "event")
