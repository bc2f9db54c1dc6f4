# SPDX-License-Identifier: Apache-2.0
"""
Class 35, addresses: a name of the whitelist that leads somewhere else, at once or later, by DNS or by a redirect. In a
network namespace where all of these addresses exist and answer, so that a refusal can be told from a failure.
"""

import json

from lib import gateway as g
from lib import netns
from lib.case import case, check, equal

PUBLIC = "93.184.216.34"
METADATA = "169.254.169.254"

# Name of the upstream -> what the name server says.
SPECIAL = {
    "loopback": ["127.0.0.1"],
    "loopback-8": ["127.8.8.8"],
    "unspecified": ["0.0.0.0"],
    "private-10": ["10.1.2.3"],
    "private-172": ["172.20.1.1"],
    "private-192": ["192.168.7.7"],
    "metadata": [METADATA],
    "carrier": ["100.100.100.200"],
    "benchmark": ["198.18.0.1"],
    "multicast": ["224.0.0.251"],
    "reserved": ["240.0.0.1"],
    "broadcast": ["255.255.255.255"],
    "loopback-6": ["::1"],
    "unspecified-6": ["::"],
    "mapped": ["::ffff:127.0.0.1"],
    "mapped-metadata": ["::ffff:169.254.169.254"],
    "compatible": ["::127.0.0.1"],
    "link-local-6": ["fe80::1"],
    "unique-local": ["fd00:ec2::254"],
    "nat64": ["64:ff9b::7f00:1"],
    "nat64-local": ["64:ff9b:1::7f00:1"],
    "6to4": ["2002:7f00:1::1"],
    "teredo": ["2001::1"],
    "multicast-6": ["ff02::1"],
}
LITERALS = {"literal": "127.0.0.1", "decimal": "2130706433", "octal": "0177.0.0.1", "hexadecimal": "0x7f.1",
            "short": "127.1", "literal-6": "[::1]", "literal-mapped": "[::ffff:127.0.0.1]"}
ON_LO = [PUBLIC + "/32", "93.184.216.35/32", METADATA + "/32", "10.1.2.3/32", "172.20.1.1/32", "192.168.7.7/32",
         "100.100.100.200/32", "198.18.0.1/32", "fd00:ec2::254/128", "64:ff9b::7f00:1/128", "2002:7f00:1::1/128",
         "2001::1/128", "64:ff9b:1::7f00:1/128"]
NAMES = ["public.test", "rebind.test", "both.test", "files.test", "evil.test", "inside.test",
         *[name + ".test" for name in SPECIAL]]


def setting(t, names):
    """The namespace, the name server, and one HTTPS server on all addresses."""
    g.program(t)
    netns.enter(t, ON_LO)
    bundle, context = g.authority(t, NAMES, ["127.0.0.1", "::1", PUBLIC, METADATA])
    upstream = g.Upstream(context, "0.0.0.0", 443)
    g.publish_wheel(upstream, "thing")
    return bundle, upstream, netns.NameServer(names)


def entry(bundle, name, host, **more):
    return {"name": name, "kind": "pypi", "url": f"https://{host}/simple/", "ca_bundle": bundle, **more}


@case(limit=90)
def special_addresses(t):
    names = {name + ".test": addresses for name, addresses in SPECIAL.items()}
    bundle, upstream, _ = setting(t, {**names, "public.test": [PUBLIC]})
    entries = [entry(bundle, name, name + ".test") for name in SPECIAL]
    entries += [entry(bundle, name, host) for name, host in LITERALS.items()]
    with g.Gateway(t, [*entries, entry(bundle, "public", "public.test")]) as gateway:
        before = netns.connects()
        for name in [*SPECIAL, *LITERALS]:
            g.check_denied(gateway.get(f"/{name}/simple/thing/"), name)
            equal(gateway.last_request()["reason"], "address", name)
        equal((netns.connects() - before, upstream.dialled), (0, []), "connections begun, and seen")
        equal(gateway.get("/public/simple/thing/").status, 200, "a public address")
        equal((netns.connects() - before, upstream.dialled), (1, [PUBLIC]), "the counters count")
    (t.tmp / "gateway.socket").unlink()

    # The control: these addresses are there, and an entry that names them reaches them.
    named = {"loopback": "127.0.0.0/8", "private-10": "10.1.0.0/16", "metadata": METADATA + "/32",
             "carrier": "100.100.100.200"}
    with g.Gateway(t, [entry(bundle, name, name + ".test", addresses=[network])
                       for name, network in named.items()]) as gateway:
        for name in named:
            equal(gateway.get(f"/{name}/simple/thing/").status, 200, "named in addresses: " + name)
    equal(upstream.dialled[1:], [SPECIAL[name][0] for name in named], "addresses dialled when named")
    t.tried(f"{len(SPECIAL) + len(LITERALS)} special addresses: none dialled (connections begun: 0; named, they answer)")


@case()
def rebinding(t):
    """A name that is public when it is looked at and loopback when it is dialled, or both at once."""
    turns = []

    def rebind(kind):
        if kind == 28:
            return []
        turns.append(kind)
        return [PUBLIC] if len(turns) == 1 else ["127.0.0.1"]

    bundle, upstream, server = setting(t, {"rebind.test": rebind, "both.test": [PUBLIC, "127.0.0.1", METADATA]})
    data = upstream.routes["/simple/thing/"]
    upstream.routes["/simple/thing/"] = (200, {**data[1], "Connection": "close"}, data[2])
    with g.Gateway(t, [entry(bundle, "rebind", "rebind.test"), entry(bundle, "both", "both.test")]) as gateway:
        equal(gateway.get("/rebind/simple/thing/").status, 200, "the first time")
        equal((len(turns), upstream.dialled), (1, [PUBLIC]), "looked up once, dialled what was looked up")
        g.check_denied(gateway.get("/rebind/simple/other/"), "when the name means loopback")
        equal(gateway.last_request()["reason"], "address", "reason")
        for _ in range(3):
            gateway.get("/both/simple/thing/")
        check(set(upstream.dialled) == {PUBLIC}, "dialled", upstream.dialled)
    equal({name for name, _ in server.asked}, {"rebind.test", "both.test"}, "names asked of the name server")


REDIRECTS = {
    "loopback": "https://127.0.0.1/simple/thing/",
    "metadata": f"https://{METADATA}/latest/meta-data/",
    "metadata in plain": f"http://{METADATA}/latest/meta-data/",
    "another host": "https://evil.test/simple/thing/",
    "another host without a scheme": "//evil.test/simple/thing/",
    "no TLS": "http://public.test/simple/thing/",
    "another port": "https://public.test:8443/simple/thing/",
    "user information": "https://x@public.test/simple/thing/",
    "user information that looks like the host": "https://public.test@evil.test/simple/thing/",
    "trailing dot": "https://public.test./simple/thing/",
    "file": "file:///etc/passwd",
    "gopher": "gopher://127.0.0.1:25/_x",
    "ftp": "ftp://public.test/x",
    "decimal": "https://2130706433/",
    "to itself": "/simple/redirect/",
    "a listed host that became private": "https://inside.test/simple/thing/",
    "nonsense": "https://[",
}


@case(limit=90)
def redirects(t):
    bundle, upstream, server = setting(t, {
        "public.test": [PUBLIC], "evil.test": ["93.184.216.35"], "files.test": ["93.184.216.35"], "inside.test": ["10.1.2.3"]})
    entries = [entry(bundle, "public", "public.test", hosts=["files.test", "inside.test"],
                     credentials={"token": "t0ken"})]
    file = json.loads(upstream.routes["/simple/thing/"][2])["files"][0]["url"]
    data = upstream.routes[file]
    with g.Gateway(t, entries, {"misses": 100}) as gateway:
        link = json.loads(gateway.get("/public/simple/thing/", accept=g.PYPI_JSON).body)["files"][0]["url"]
        for number, (name, target) in enumerate(REDIRECTS.items()):
            status = (301, 302, 303, 307, 308)[number % 5]
            redirect = (status, {"Location": target}, b"")
            upstream.routes["/simple/redirect/"] = redirect
            upstream.routes[file] = redirect
            reason = "address" if "private" in name else "redirect"
            for what, path in (("page", "/public/simple/redirect/"), ("file", link)):
                g.check_denied(gateway.get(path), f"{what} redirected: {name}")
                equal(gateway.last_request()["reason"], reason, f"{what}: {name}")
        equal(set(upstream.dialled), {PUBLIC}, "addresses dialled")
        check("evil.test" not in {name for name, _ in server.asked}, "a name was looked up", server.asked)

        # The control: redirects to the entry's own hosts are followed, without its credentials.
        upstream.routes[file] = (302, {"Location": "https://files.test/blob"}, b"")
        upstream.routes["/blob"] = data
        upstream.routes["/simple/redirect/"] = (301, {"Location": "/simple/thing/"}, b"")
        equal(gateway.get(link).body, data, "a file on a listed host")
        equal(upstream.dialled[-1], "93.184.216.35", "the listed host was dialled")
        fields = [fields for _, path, fields in upstream.requests if path == "/blob"][0]
        check("Authorization" not in fields, "credentials went to another host", fields)
        check(upstream.requests[0][2]["Authorization"] == "Bearer t0ken", "credentials of the index", upstream.requests[0])
    t.tried(f"{len(REDIRECTS)} redirects of pages and of files: none followed; to a listed host it is, without credentials")
