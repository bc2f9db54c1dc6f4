# SPDX-License-Identifier: Apache-2.0
"""
Entries of kind web and a guest that means harm: whatever is not a GET or HEAD below a listed prefix gets the one denial,
is counted and reported, and no server sees anything of it.
"""

import json
import socket
import ssl
import time

from lib import gateway as g
from lib import web
from lib.case import case, check, equal

SECRET = "s3cr3t"


def head(first, host, *fields):
    return "\r\n".join([first, f"Host: {host}", *fields, "", ""]).encode("latin-1")


def tunnels(port, other):
    """CONNECT and other ways to name a host -> the reason. `port` is the listed server's, `other` that of one not listed."""
    def connect(where, *fields, host=None):
        return head(f"CONNECT {where} HTTP/1.1", host or where, *fields)
    return {
        "another host": (connect(f"127.0.0.1:{other}"), "host"),
        "the address of the listed host": (connect(f"127.0.0.1:{port}"), "host"),
        "another port": (connect(f"localhost:{other}"), "host"),
        "no port": (connect("localhost"), "host"),
        "trailing dot": (connect(f"localhost.:{port}"), "host"),
        "user information": (connect(f"x@localhost:{port}", host="localhost"), "host"),
        "user information, the other way": (connect(f"localhost:{port}@127.0.0.1:{other}", host="localhost"), "host"),
        "a host below it": (connect(f"evil.localhost:{port}"), "host"),
        "a longer port": (connect(f"localhost:0{port}"), "host"),
        "port beyond": (connect(f"localhost:{port + 65536}"), "host"),
        "decimal": (connect(f"2130706433:{other}"), "host"),
        "IPv6": (connect(f"[::1]:{other}"), "host"),
        "a path behind it": (connect(f"localhost:{port}/docs/", host="localhost"), "host"),
        "Host says another": (connect(f"localhost:{port}", host=f"127.0.0.1:{other}"), "host"),
        "another listed by Host": (connect(f"127.0.0.1:{other}", host=f"localhost:{port}"), "host"),
        "credentials for the proxy": (connect(f"localhost:{port}", "Proxy-Authorization: Basic eDp5"), "field"),
        "body": (connect(f"localhost:{port}", "Content-Length: 5"), "body"),
        "whole URL, not listed": (head(f"GET http://127.0.0.1:{other}/docs/ HTTP/1.1", f"127.0.0.1:{other}"), "host"),
        "whole URL, https": (head(f"GET https://localhost:{port}/docs/ HTTP/1.1", f"localhost:{port}"), "target"),
        "whole URL without TLS of the listed": (head(f"GET http://localhost:{port}/docs/ HTTP/1.1", f"localhost:{port}"), "host"),
        "whole URL, user": (head(f"GET http://x@localhost:{port}/ HTTP/1.1", f"localhost:{port}"), "host"),
        "POST": (head("POST http://localhost/ HTTP/1.1", "localhost", "Content-Length: 0"), "method"),
        "upgrade": (connect(f"localhost:{port}", "Upgrade: websocket"), "field"),
        "path of the listed": (head("GET /docs/page HTTP/1.1", f"localhost:{port}"), "path"),
        "entry's name": (head("GET /web/docs/page HTTP/1.1", f"localhost:{port}"), "path"),
        "raw bytes": (b"\x00\xff" * 40, "malformed_request"),
        "SSH": (b"SSH-2.0-x\r\n\r\n", "malformed_request"),
    }


def requests_in(host):
    """Heads inside a tunnel -> the reason."""
    def get(target, *fields, method="GET", version="HTTP/1.1"):
        return head(f"{method} {target} {version}", host, *fields)
    long = "a" * 1100
    return {
        **{method: (get("/docs/page", "Content-Length: 0", method=method), "method")
           for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "QUERY")},
        "body of a GET": (get("/docs/page", "Content-Length: 6") + b"secret", "body"),
        "chunked GET": (get("/docs/page", "Transfer-Encoding: chunked") + b"0\r\n\r\n", "body"),
        "chunked POST": (get("/docs/page", "Transfer-Encoding: chunked", method="POST") + b"0\r\n\r\n", "body"),
        "both lengths": (get("/docs/page", "Content-Length: 0", "Transfer-Encoding: chunked"), "body"),
        "expectation": (get("/docs/page", "Expect: 100-continue"), "body"),
        "git without leave": (get("/docs/git-upload-pack", "Content-Length: 4",
                                  "Content-Type: application/x-git-upload-pack-request", method="POST") + b"0000", "method"),
        "WebSocket": (get("/docs/page", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x",
                          "Sec-WebSocket-Version: 13"), "field"),
        "h2c": (get("/docs/page", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), "field"),
        "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "method"),
        "HTTP/0.9": (b"GET /docs/page\r\n\r\n", "malformed_request"),
        "whole URL": (get(f"http://{host}/docs/page"), "target"),
        "asterisk": (get("*"), "target"),
        # Below no prefix.
        "root": (get("/"), "prefix"),
        "another folder": (get("/secret/page"), "prefix"),
        "the prefix without its slash": (get("/docs"), "prefix"),
        "case": (get("/DOCS/page"), "prefix"),
        "longer": (get("/docs2/page"), "prefix"),
        "a file as a folder": (get("/file.csv2"), "prefix"),
        "dots": (get("/docs/../secret/page"), "path"),
        "dots at the end": (get("/docs/.."), "path"),
        "dot": (get("/docs/./page"), "path"),
        "encoded dots": (get("/docs/%2e%2e/secret/page"), "path"),
        "half encoded dots": (get("/docs/.%2E/secret/page"), "path"),
        "encoded slash": (get("/docs/..%2fsecret/page"), "path"),
        "encoded slash, no dots": (get("/docs/a%2Fb"), "path"),
        "double encoding": (get("/docs/%252e%252e/secret/page"), "path"),
        "dots with a parameter": (get("/docs/..;x=y/secret/page"), "path"),
        "dots with an encoded parameter": (get("/docs/..%3bx/secret/page"), "path"),
        "overlong UTF-8": (get("/docs/%c0%ae%c0%ae/secret/page"), "path"),
        "no UTF-8": (get("/docs/%ff"), "path"),
        "backslash": (get("/docs/..\\secret/page"), "target"),
        "encoded backslash": (get("/docs/..%5csecret/page"), "path"),
        "host in the path": (get("//evil.test/docs/page"), "path"),
        "encoded NUL": (get("/docs/page%00.html"), "path"),
        "encoded CR LF": (get("/docs/page%0d%0aX:%20y"), "path"),
        "broken encoding": (get("/docs/page%4"), "path"),
        "user information": (get("/docs/page#@evil.test"), "target"),
        "bytes": (head("GET /docs/\xe9 HTTP/1.1", host), "malformed_request"),
        # Data.
        "query": (get(f"/docs/page?{SECRET}"), "query"),
        "empty query": (get("/docs/page?"), "query"),
        "long path": (get("/docs/" + long), "head_too_large"),
        "long field": (get("/docs/page", "X: " + "a" * 9000), "head_too_large"),
        # Whom is it for?
        "another host": (head("GET /docs/page HTTP/1.1", "evil.test"), "host"),
        "another port": (head("GET /docs/page HTTP/1.1", "localhost:1"), "host"),
        "trailing dot": (head("GET /docs/page HTTP/1.1", host.replace("localhost", "localhost.")), "host"),
        "user information in Host": (head("GET /docs/page HTTP/1.1", "x@" + host), "field"),
        "two hosts": (head("GET /docs/page HTTP/1.1", host, "Host: evil.test"), "field"),
        "no host": (b"GET /docs/page HTTP/1.1\r\n\r\n", "field"),
        "bare LF": (b"GET /docs/page HTTP/1.1\nHost: localhost\n\n", "malformed_request"),
        "folded field": (get("/docs/page", "A: b", " c: d"), "malformed_request"),
        "space before the colon": (get("/docs/page", "Content-Length : 0"), "malformed_request"),
    }


def world(t):
    bundle, upstream = g.world(t)
    upstream.routes["/docs/page"] = b"page"
    upstream.routes["/secret/page"] = b"secret"
    return bundle, upstream


@case(limit=120)
def tunnel_matrix(t):
    bundle, upstream = world(t)
    other = web.loopback_listener()
    wrong = []
    with g.Gateway(t, [web.entry(bundle, upstream)]) as gateway:
        matrix = tunnels(upstream.port, other.getsockname()[1])
        for name, (data, reason) in matrix.items():
            before = gateway.count()
            try:
                g.check_denied(gateway.raw(data), name)
            except AssertionError as error:
                wrong.append(f"{name}: {error}")
                continue
            gateway.wait_for_event(before)
            event = gateway.last_request()
            if (event["verdict"], event["reason"], gateway.count() - before) != ("denied", reason, 1):
                wrong.append(f"{name}: expected {reason}, event {event}")
        check(not wrong, "not as it should be: " + "; ".join(wrong))
        equal((upstream.connections, upstream.requests), (0, []), "what the server saw")
        equal(web.get(gateway, upstream, "/docs/page").body, b"page", "the control")
        equal(upstream.connections, 1, "the server would have been seen")
        end = gateway.close()
    equal(end["denied"], len(matrix), "denials counted")
    try:
        other.accept()
        check(False, "somebody dialled the server that no entry names")
    except socket.timeout:
        pass
    t.tried(f"{len(matrix)} ways to name another place: one answer, nothing left the gateway")


@case(limit=180)
def request_matrix(t):
    bundle, upstream = world(t)
    wrong = []
    with g.Gateway(t, [web.entry(bundle, upstream, "/docs/", "/file.csv")], {"rate": 1000, "burst": 1000}) as gateway:
        matrix = requests_in(f"{web.HOST}:{upstream.port}")
        for name, (data, reason) in matrix.items():
            before = gateway.count() + 1
            with web.Tunnel(gateway, upstream) as tunnel:
                gateway.wait_for_event(before - 1)
                answer = tunnel.send(data + head("GET /docs/smuggled HTTP/1.1", tunnel.host))
            try:
                if data.startswith(b"HEAD"):
                    continue
                g.check_denied(answer, name)
            except AssertionError as error:
                wrong.append(f"{name}: {error}")
                continue
            gateway.wait_for_event(before)
            event = gateway.last_request()
            if (event["verdict"], event["reason"], gateway.count() - before) != ("denied", reason, 1):
                wrong.append(f"{name}: expected {reason}, event {event}")
        check(not wrong, "not as it should be: " + "; ".join(wrong))
        equal((upstream.connections, upstream.requests), (0, []), "what the server saw")
        equal(web.get(gateway, upstream, "/docs/page").body, b"page", "the control")
        equal(upstream.connections, 1, "the server would have been seen")
        end = gateway.close()
    equal(end["denied"], len(matrix), "denials counted")
    t.tried(f"{len(matrix)} requests in a tunnel: one answer, nothing left the gateway")


@case(limit=90)
def names_in_tls(t):
    """The name in TLS is that of the tunnel; a handshake that is none ends with a word in the events."""
    bundle, upstream = world(t)
    with g.Gateway(t, [web.entry(bundle, upstream)], {"head_seconds": 2}) as gateway:
        for sni in ("evil.test", "index.test", "localhost.", None, "xlocalhost"):
            before = gateway.count() + 1
            try:
                with web.Tunnel(gateway, upstream, sni=sni, verify=False):
                    check(False, f"TLS for {sni}")
            except (ssl.SSLError, OSError):
                pass
            web.check_alert(gateway, before, "sni", f"name {sni}")
        for data in (b"GET /docs/page HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"\x00" * 100):
            before = gateway.count() + 1
            with gateway.connect() as raw:
                raw.sendall(f"CONNECT localhost:{upstream.port} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                time.sleep(0.1)
                raw.sendall(data)
                g.read_all(raw)
            web.check_alert(gateway, before, "tls_guest", f"bytes {data[:10]}")
        before = gateway.count() + 1
        with gateway.connect() as raw:
            raw.sendall(f"CONNECT localhost:{upstream.port} HTTP/1.1\r\nHost: localhost\r\n\r\n\x16\x03".encode())
            g.read_all(raw)
        web.check_alert(gateway, before, "slow_request", "a handshake that does not come")
        # Only http/1.1; nothing older than 1.2; nothing to resume.
        for change in (lambda context: context.set_alpn_protocols(["h2"]),
                       lambda context: setattr(context, "maximum_version", ssl.TLSVersion.TLSv1_1)):
            context = ssl.create_default_context(cadata=gateway.events[0]["authority"])
            context.set_ciphers("ALL:@SECLEVEL=0")
            change(context)
            before = gateway.count() + 1
            with gateway.connect() as raw:
                raw.sendall(f"CONNECT localhost:{upstream.port} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                raw.recv(4096)
                try:
                    context.wrap_socket(raw, server_hostname="localhost")
                    check(False, "the handshake was taken")
                except (ssl.SSLError, OSError):
                    pass
            web.check_alert(gateway, before, "tls_guest", "another protocol")
        equal(upstream.connections, 0, "connections to the server")
        with web.Tunnel(gateway, upstream) as tunnel:
            tunnel.socket.sendall(head("GET /docs/page HTTP/1.1", tunnel.host))
            check(tunnel.socket.recv(4096).startswith(b"HTTP/1.1 200"), "a good request")
            certificate = tunnel.socket.getpeercert()
            equal(certificate["subjectAltName"], (("DNS", "localhost"),), "names of the certificate")
            check(not tunnel.socket.session or not tunnel.socket.session.has_ticket, "a session ticket")
        # The certificate that the guest trusts is no other run's.
    with open(bundle, encoding="ascii") as file:
        check(gateway.events[0]["authority"] != file.read(), "authorities")


@case()
def nothing_forwarded(t):
    """Of what a guest writes into a good request, its URL alone reaches the server."""
    bundle, upstream = world(t)
    with g.Gateway(t, [web.entry(bundle, upstream)]) as gateway:
        answer = web.get(gateway, upstream, "/docs/page", Cookie=SECRET, Authorization=SECRET, User_Agent=SECRET,
                         Referer=SECRET, X_Data=SECRET, If_None_Match=SECRET, Range="bytes=0-1", Accept=f"text/{SECRET}",
                         Accept_Language=SECRET, Forwarded=SECRET, Origin=SECRET, Accept_Encoding=SECRET, Via=SECRET,
                         Content_Type=SECRET, Git_Protocol=SECRET, From=SECRET, Max_Forwards="7")
        equal((answer.status, answer.body), (200, b"page"), "answer")
    equal(upstream.requests, [("GET", "/docs/page", {
        "Host": f"localhost:{upstream.port}", "User-Agent": upstream.requests[0][2]["User-Agent"], "Accept": "*/*"})], "request")
    check(SECRET not in json.dumps(upstream.requests), "data of the guest reached the server", upstream.requests)


@case(limit=90)
def queries(t):
    """Only where the entry says so, of 256 characters at most, never git's pushing part."""
    bundle, upstream = world(t)
    upstream.routes["/docs/page?a=b"] = b"asked"
    with g.Gateway(t, [web.entry(bundle, upstream, query=True)]) as gateway:
        equal(web.get(gateway, upstream, "/docs/page?a=b").body, b"asked", "a query")
        for query, reason in (("a" * 257, "query"), ("a=%0d%0a", "path"), ("a=%", "path"), ("a=\"b\"", "target"),
                              ("service=git-receive-pack", "git")):
            g.check_denied(web.get(gateway, upstream, "/docs/page?" + query), query)
            equal(gateway.last_request()["reason"], reason, query)
    equal([path for _, path, _ in upstream.requests], ["/docs/page?a=b"], "what the server saw")


@case(limit=120)
def limits_of_a_run(t):
    bundle, upstream = world(t)
    upstream.routes = web.Anywhere("/docs/", b"x" * 1000)
    tries = {
        "urls": ({"urls": 3}, {}, "limit_urls"),
        "url_bytes": ({"url_bytes": 12}, {}, "limit_url_bytes"),
        "fetches": ({"fetches": 3}, {}, "limit_fetches"),
        "max_files": ({}, {"max_files": 3}, "limit_urls"),
        "max_bytes": ({}, {"max_bytes": 3500}, "limit_bytes"),
        "file_bytes": ({"file_bytes": 999}, {}, "too_large"),
        "sent_bytes": ({"sent_bytes": 3999}, {}, "limit_bytes"),
        "requests": ({"requests": 7}, {}, "limit_requests"),
    }
    for name, (limits, more, reason) in tries.items():
        seen = len(upstream.requests)
        with g.Gateway(t, [web.entry(bundle, upstream, **more)], limits) as gateway:
            statuses = []
            for letter in "abcdef":
                with web.Tunnel(gateway, upstream) as tunnel:
                    if tunnel.socket is None:
                        statuses.append(403)
                        continue
                    answer = tunnel.send(head(f"GET /docs/{letter}aaa HTTP/1.1", tunnel.host, "Connection: close"))
                    statuses.append(int(answer.split(b" ")[1]))
            good = 0 if name == "file_bytes" else 3
            equal(statuses, [200] * good + [403] * (6 - good), name)
            gateway.close()
            equal(len(gateway.requests(reason=reason)), 6 - good, f"events of {name}")
            sent = {"max_bytes": 6, "file_bytes": 6, "sent_bytes": 6}.get(name, 3)
            equal(len(upstream.requests) - seen, sent, f"requests to the server under {name}")
            (t.tmp / "gateway.socket").unlink()


@case(limit=60)
def git_matrix(t):
    """What is no question for objects that the repository has listed does not reach it."""
    bundle, upstream = g.world(t)
    listed, unlisted = "a" * 40, "c" * 40

    def packet(text):
        return f"{len(text) + 4:04x}{text}"

    refs = packet("# service=git-upload-pack\n") + "0000" + packet(listed + " HEAD\0side-band-64k\n") + "0000"
    upstream.routes["/git/x/info/refs?service=git-upload-pack"] = refs.encode()
    upstream.routes["/git/x/git-upload-pack"] = b"objects"
    good = packet(f"want {listed} side-band-64k agent={SECRET}\n") + "0000" + packet(f"have {unlisted}\n") + packet("done\n")
    kind = "application/x-git-upload-pack-request"
    matrix = {
        "not listed": (packet(f"want {unlisted}\n") + "0000" + packet("done\n"), kind, "git"),
        "no packets": (SECRET, kind, "git"),
        "something behind it": (good + SECRET, kind, "git"),
        "another line": (packet(f"want {listed}\n") + packet(f"{SECRET}\n") + "0000" + packet("done\n"), kind, "git"),
        "shallow": (packet(f"want {listed}\n") + packet(f"shallow {unlisted}\n") + "0000", kind, "git"),
        "filter": (packet(f"want {listed}\n") + packet(f"filter {SECRET}\n") + "0000", kind, "git"),
        "version 2": (packet("command=fetch\n") + "0001" + packet(f"want {listed}\n") + "0000", kind, "git"),
        "another type": (good, "text/plain", "git"),
        "too long": ("x" * 300000, kind, "body"),
    }
    with g.Gateway(t, [web.entry(bundle, upstream, "/git/", git=True)]) as gateway:
        g.check_denied(web.get(gateway, upstream, "/git/x/git-upload-pack", "POST", good, Content_Type=kind), "before the list")
        equal(web.get(gateway, upstream, "/git/x/info/refs?service=git-upload-pack").body, refs.encode(), "the list")
        seen = len(upstream.requests)
        for name, (body, media_type, reason) in matrix.items():
            answer = web.get(gateway, upstream, "/git/x/git-upload-pack", "POST", body, Content_Type=media_type)
            g.check_denied(answer, name)
            equal(gateway.last_request()["reason"], reason, name)
        for target in ("/git/x/git-receive-pack", "/git/x/info/refs?service=git-receive-pack", "/git/x/info/refs?service=x"):
            g.check_denied(web.get(gateway, upstream, target), target)
        g.check_denied(web.get(gateway, upstream, "/git/x/git-receive-pack", "POST", good, Content_Type=kind), "push")
        equal(len(upstream.requests), seen, "requests to the server")
        answer = web.get(gateway, upstream, "/git/x/git-upload-pack", "POST", good, Content_Type=kind)
        equal((answer.status, answer.body), (200, b"objects"), "the control")
    method, _, fields = upstream.requests[-1]
    equal((method, fields["Content-Length"]), ("POST", str(len(packet(f"want {listed} side-band-64k\n")) + 13)), "what was sent")
