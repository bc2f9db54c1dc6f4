# SPDX-License-Identifier: Apache-2.0
"""
Classes 36 and 37, a guest that means harm: whatever it writes to the socket, it gets the one denial, the connection ends,
the refusal is counted and reported, and the upstream sees nothing of it.
"""

import json
import re
import socket
import time

from lib import gateway as g
from lib.case import case, check, equal

GOOD = "GET /pypi/simple/thing/ HTTP/1.1\r\nHost: x\r\n"


def head(first="GET /pypi/simple/thing/ HTTP/1.1", *fields, host=True):
    return "\r\n".join([first, *(["Host: x"] if host else []), *fields, "", ""])


# What is sent -> the reason that the event has to give.
MATRIX = {
    # How long is it? Two readers could differ.
    "both lengths": (head("GET /pypi/simple/thing/ HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n",
                     "body"),
    "coding": (head("GET /pypi/simple/thing/ HTTP/1.1", "Transfer-Encoding: chunked"), "body"),
    "hidden coding": (head("GET /pypi/simple/thing/ HTTP/1.1", "transfer-encoding: identity"), "body"),
    "coding after a tab": (head("GET /pypi/simple/thing/ HTTP/1.1", "Transfer-Encoding:\tchunked"), "body"),
    "body": (head("GET /pypi/simple/thing/ HTTP/1.1", "Content-Length: 5") + "hello", "body"),
    "length +0": (head("GET /pypi/simple/thing/ HTTP/1.1", "Content-Length: +0"), "body"),
    "length 0x0": (head("GET /pypi/simple/thing/ HTTP/1.1", "Content-Length: 0x0"), "body"),
    "two lengths": (head("GET /pypi/simple/thing/ HTTP/1.1", "Content-Length: 0", "Content-Length: 0"), "field"),
    "expectation": (head("GET /pypi/simple/thing/ HTTP/1.1", "Expect: 100-continue"), "body"),
    # Where does it end?
    "bare LF": ("GET /pypi/simple/thing/ HTTP/1.1\nHost: x\n\n", "malformed_request"),
    "LF in the head": ("GET /pypi/simple/thing/ HTTP/1.1\r\nHost: x\nEvil: 1\r\n\r\n", "malformed_request"),
    "CR in the head": ("GET /pypi/simple/thing/ HTTP/1.1\r\nHost: x\rEvil: 1\r\n\r\n", "malformed_request"),
    "NUL": ("GET /pypi/simple/thing/\0 HTTP/1.1\r\nHost: x\r\n\r\n", "malformed_request"),
    "folded field": (head("GET /pypi/simple/thing/ HTTP/1.1", "A: b", " c: d"), "malformed_request"),
    "space before the colon": (head("GET /pypi/simple/thing/ HTTP/1.1", "Content-Length : 0"), "malformed_request"),
    "field without a name": (head("GET /pypi/simple/thing/ HTTP/1.1", ": x"), "malformed_request"),
    "field without a colon": (head("GET /pypi/simple/thing/ HTTP/1.1", "junk"), "malformed_request"),
    "Latin-1 field": (head("GET /pypi/simple/thing/ HTTP/1.1", "A: \xe9"), "malformed_request"),
    "empty lines first": ("\r\n\r\n" + head(), "malformed_request"),
    # Whom is it for?
    "no host": (head(host=False), "field"),
    "two hosts": (head("GET /pypi/simple/thing/ HTTP/1.1", "Host: y"), "field"),
    "host with a path": (head("GET /pypi/simple/thing/ HTTP/1.1", "Host: x/y", host=False), "field"),
    "absolute form": (head("GET http://pypi.org/simple/thing/ HTTP/1.1"), "target"),
    "authority form": (head("CONNECT pypi.org:443 HTTP/1.1"), "method"),
    "GET of an authority": (head("GET pypi.org:443 HTTP/1.1"), "target"),
    "asterisk": (head("OPTIONS * HTTP/1.1"), "method"),
    # Another protocol.
    "upgrade": (head("GET /pypi/simple/thing/ HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket"), "field"),
    "h2c": (head("GET /pypi/simple/thing/ HTTP/1.1", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), "field"),
    "HTTP/2 preface": ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "method"),
    "TLS": ("\x16\x03\x01\x02\x00\x01\x00\x01", "malformed_request"),
    "raw bytes": ("\x00\xff\x01" * 30, "malformed_request"),
    "SSH": ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "malformed_request"),
    "HTTP/0.9": ("GET /pypi/simple/thing/\r\n\r\n", "malformed_request"),
    "HTTP/1.2": (head("GET /pypi/simple/thing/ HTTP/1.2"), "version"),
    "HTTP/3.1": (head("GET /pypi/simple/thing/ HTTP/3.1"), "version"),
    "lower-case version": (head("GET /pypi/simple/thing/ http/1.1"), "version"),
    "two spaces": (head("GET  /pypi/simple/thing/ HTTP/1.1"), "version"),
    "trailing space": (head("GET /pypi/simple/thing/ HTTP/1.1 "), "version"),
    # Other methods.
    **{method: (head(f"{method} /pypi/simple/thing/ HTTP/1.1"), "method")
       for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "get", "GETS", "PROPFIND")},
    # Data in the path.
    "query": (head("GET /pypi/simple/thing/?x=1 HTTP/1.1"), "query"),
    "empty query": (head("GET /pypi/simple/thing/? HTTP/1.1"), "query"),
    "fragment": (head("GET /pypi/simple/thing/#x HTTP/1.1"), "query"),
    "encoded query": (head("GET /pypi/simple/thing%3fx=1/ HTTP/1.1"), "target"),
    "dots": (head("GET /pypi/simple/../secret/ HTTP/1.1"), "path"),
    "encoded dots": (head("GET /pypi/simple/%2e%2e/secret HTTP/1.1"), "path"),
    "encoded slash": (head("GET /pypi/simple/..%2f..%2fsecret/ HTTP/1.1"), "name"),
    "double encoding": (head("GET /pypi/simple/%252e%252e/ HTTP/1.1"), "name"),
    "encoded NUL": (head("GET /pypi/simple/thing%00/ HTTP/1.1"), "name"),
    "encoded CR LF": (head("GET /pypi/simple/thing%0d%0aX:%20y/ HTTP/1.1"), "target"),
    "broken encoding": (head("GET /pypi/simple/thing%4/ HTTP/1.1"), "name"),
    "overlong UTF-8": (head("GET /pypi/simple/%c0%ae%c0%ae/ HTTP/1.1"), "name"),
    "backslash": (head("GET /pypi/simple/..\\x/ HTTP/1.1"), "target"),
    "empty segment": (head("GET /pypi//simple/thing/ HTTP/1.1"), "path"),
    "matrix parameter": (head("GET /pypi/simple/thing;x=1/ HTTP/1.1"), "target"),
    "userinfo": (head("GET //user@pypi.org/simple/ HTTP/1.1"), "path"),
    "root": (head("GET / HTTP/1.1"), "path"),
    "unknown entry": (head("GET /debian/simple/thing/ HTTP/1.1"), "path"),
    "list of all projects": (head("GET /pypi/simple/ HTTP/1.1"), "path"),
    "deep": (head("GET /pypi/simple/thing/a/b/c/d/e HTTP/1.1"), "path"),
    # Names outside the grammar.
    "name begins with a dash": (head("GET /pypi/simple/-thing/ HTTP/1.1"), "name"),
    "name of 101 characters": (head(f"GET /pypi/simple/{'a' * 101}/ HTTP/1.1"), "name"),
    "name with a plus": (head("GET /pypi/simple/a+b/ HTTP/1.1"), "name"),
    "npm upper case": (head("GET /npm/Thing HTTP/1.1"), "name"),
    "npm scope alone": (head("GET /npm/@scope HTTP/1.1"), "name"),
    "npm two slashes": (head("GET /npm/@a%2fb%2fc HTTP/1.1"), "name"),
    "npm dot name": (head("GET /npm/.hidden HTTP/1.1"), "name"),
    "npm service": (head("GET /npm/-/npm/v1/security/audits HTTP/1.1"), "name"),
    "npm search": (head("GET /npm/-/v1/search HTTP/1.1"), "name"),
    # Files that no page listed.
    "unlisted file": (head(f"GET /pypi/files/{'0' * 64}/thing-1.0-py3-none-any.whl HTTP/1.1"), "not_listed"),
    "hash in upper case": (head(f"GET /pypi/files/{'A' * 64}/thing-1.0-py3-none-any.whl HTTP/1.1"), "name"),
    # Too much.
    "long target": (head(f"GET /pypi/simple/{'a' * 2000}/ HTTP/1.1"), "head_too_large"),
    "long field": (head("GET /pypi/simple/thing/ HTTP/1.1", "X: " + "a" * 9000), "head_too_large"),
    "many fields": (head("GET /pypi/simple/thing/ HTTP/1.1", *["X: y"] * 100), "head_too_large"),
    "long Accept": (head("GET /pypi/simple/thing/ HTTP/1.1", "Accept: " + "a" * 2000), "head_too_large"),
    "endless line": ("GET /" + "a" * 20000, "head_too_large"),
}


@case(limit=120)
def smuggling_matrix(t):
    bundle, upstream = g.world(t)
    wrong = []
    with g.Gateway(t, [g.pypi_entry(bundle, upstream), g.npm_entry(bundle, upstream)]) as gateway:
        for name, (data, reason) in MATRIX.items():
            before = gateway.count()
            # What follows on the connection must not be taken for a second request.
            answer = gateway.raw(data.encode("latin-1") + head("GET /pypi/simple/smuggled/ HTTP/1.1").encode())
            try:
                g.check_denied(answer, name)
            except AssertionError as error:
                wrong.append(f"{name}: {error}")
                continue
            gateway.wait_for_event(before)
            event = gateway.last_request()
            if (event["verdict"], event["reason"], gateway.count() - before) != ("denied", reason, 1):
                wrong.append(f"{name}: expected {reason}, event {event}")
        check(not wrong, "not as it should be: " + "; ".join(wrong))
        equal((upstream.connections, upstream.requests), (0, []), "what the upstream saw")
        # The control: the same server takes the good request.
        equal(gateway.get("/pypi/simple/thing/").status, 404, "a good request")
        check(upstream.connections == 1, "the upstream would have been seen")
        end = gateway.close()
    equal(end["denied"], len(MATRIX), "denials counted")
    t.tried(f"{len(MATRIX)} ways to be misread: one answer, nothing left the gateway")


@case()
def nothing_forwarded(t):
    """Fields of a good request do not reach the upstream."""
    bundle, upstream = g.world(t)
    g.publish_wheel(upstream, "thing")
    secret = "s3cr3t"
    with g.Gateway(t, [g.pypi_entry(bundle, upstream, credentials={"login": "robot:pass"})]) as gateway:
        answer = gateway.get("/pypi/simple/thing/", accept=f"text/html, x/{secret}", Cookie=secret, Authorization=secret,
                             User_Agent=secret, Referer=secret, X_Data=secret, If_None_Match=secret, Range="bytes=0-1",
                             Accept_Language=secret, Forwarded=secret)
        equal(answer.status, 200, "status")
        check("robot" not in str(answer.fields) + answer.body.decode(), "credentials show", answer)
    seen = json.dumps(upstream.requests)
    check(secret not in seen, "data of the guest reached the upstream", seen)
    fields = upstream.requests[0][2]
    equal(fields["Authorization"], "Basic cm9ib3Q6cGFzcw==", "credentials of the entry")
    equal(set(fields), {"Host", "User-Agent", "Accept", "Accept-Encoding", "Authorization"}, "fields")
    check("robot" not in json.dumps(gateway.events), "credentials show in events")


@case()
def slow_loris(t):
    """A head that comes a byte at a time, connections that say nothing, an answer that nobody reads."""
    bundle, upstream = g.world(t)
    g.publish_wheel(upstream, "thing", extra_metadata="X-Fill: y\n", files={"thing/big": "x" * 3_000_000})
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)], {"head_seconds": 1, "idle_seconds": 2, "connections": 4}) as gateway:
        start = time.monotonic()
        with gateway.connect() as slow:
            answer = b""
            slow.settimeout(0.15)
            for byte in (GOOD + "X: " + "y" * 200).encode():
                try:
                    slow.send(bytes([byte]))
                    answer += slow.recv(4096)
                except socket.timeout:
                    continue
                except OSError:
                    pass
                break
            slow.settimeout(5)
            answer += g.read_all(slow)
        g.check_denied(answer, "a head a byte at a time")
        gateway.wait_for_event(0)
        check(time.monotonic() - start < 5, "it took too long", time.monotonic() - start)
        equal(len(gateway.requests(reason="slow_request")), 1, "slow requests reported")
        start = time.monotonic()
        with gateway.connect() as silent:
            equal(g.read_all(silent), b"", "answer to silence")
        check(1.5 < time.monotonic() - start < 6, "the silent connection was closed", time.monotonic() - start)

        link = json.loads(gateway.get("/pypi/simple/thing/", accept=g.PYPI_JSON).body)["files"][0]["url"]
        with gateway.connect() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.sendall(head(f"GET {link} HTTP/1.1").encode())
            time.sleep(4)
            equal(len(gateway.requests(kind="file", reason="slow_request")), 1, "events of the answer that nobody reads")
        held = [gateway.connect() for _ in range(4)]
        time.sleep(0.3)
        before = gateway.count()
        g.check_denied(gateway.raw(b""), "one connection too many")
        gateway.wait_for_event(before)
        equal(len(gateway.requests(reason="limit_connections")), 1, "denied connections reported")
        for connection in held:
            connection.close()


LIMITS = {
    "requests": ({"requests": 3}, "limit_requests"),
    "names": ({"names": 2}, "limit_names"),
    "name_bytes": ({"name_bytes": 12}, "limit_name_bytes"),
    "fetches": ({"fetches": 2}, "limit_fetches"),
}


@case(limit=90)
def limits_of_a_run(t):
    bundle, upstream = g.world(t)
    names = [f"thing-{letter}" for letter in "abcdef"]
    for name in names:
        g.publish_wheel(upstream, name)
    for name, (limits, reason) in LIMITS.items():
        seen = len(upstream.requests)
        with g.Gateway(t, [g.pypi_entry(bundle, upstream)], limits) as gateway:
            answers = [gateway.get(f"/pypi/simple/{project}/") for project in names]
            statuses = [answer.status for answer in answers]
            good = statuses.count(200)
            check(0 < good < len(names) and statuses == [200] * good + [403] * (len(names) - good), name, statuses)
            g.check_denied(answers[-1], name)
            equal(len(gateway.requests(reason=reason)), len(names) - good, f"events of {name}")
            equal(len(upstream.requests) - seen, good, f"requests upstream under {name}")
            (t.tmp / "gateway.socket").unlink()
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)], {"misses": 2}) as gateway:
        statuses = [gateway.get(f"/pypi/simple/unheard-{letter}/").status for letter in "abcd"]
        equal(statuses, [404, 404, 403, 403], "statuses for unknown names")
    (t.tmp / "gateway.socket").unlink()
    with g.Gateway(t, [g.pypi_entry(bundle, upstream, max_files=1),
                       g.pypi_entry(bundle, upstream, "small", max_bytes=600)]) as gateway:
        links = [json.loads(gateway.get(f"/{entry}/simple/{project}/", accept=g.PYPI_JSON).body)["files"][0]["url"]
                 for entry in ("pypi", "small") for project in names[:2]]
        equal([gateway.get(link).status for link in links], [200, 403, 403, 403], "statuses of files")
        equal((len(gateway.requests(reason="limit_files")), len(gateway.requests(reason="limit_bytes"))), (1, 2), "events")


@case()
def rate(t):
    bundle, upstream = g.world(t)
    g.publish_wheel(upstream, "thing")
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)], {"rate": 20, "burst": 5}) as gateway:
        start = time.monotonic()
        for _ in range(25):
            equal(gateway.get("/pypi/simple/thing/").status, 200, "status")
        seconds = time.monotonic() - start
    check(0.9 < seconds < 10, "25 requests at 20 a second after a burst of 5", seconds)


@case()
def pipelined_refusal(t):
    """What stands behind a refused request is not looked at."""
    bundle, upstream = g.world(t)
    g.publish_wheel(upstream, "thing")
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)]) as gateway:
        answer = gateway.raw((head() + head("POST /pypi/simple/thing/ HTTP/1.1") + head("GET /pypi/simple/later/ HTTP/1.1")
                              ).encode())
        equal(re.findall(rb"HTTP/1\.1 (\d+)", answer), [b"200", b"403"], "statuses")
        equal(upstream.asked("/simple/later/"), 0, "requests for what stood behind")
