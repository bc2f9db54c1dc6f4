# SPDX-License-Identifier: Apache-2.0
"""
Each check of the web's entries left out alone: the attack that it stops then succeeds, so the matrices would notice. Needs
the test builds of ./dev test.
"""

import os
import pathlib
import ssl

from lib import gateway as g
from lib import web
from lib.case import case, check, equal

SECRET = b"s3cr3t"
KIND = "application/x-git-upload-pack-request"


def packet(text):
    return f"{len(text) + 4:04x}{text}"


def prefix(gateway, upstream):
    return web.get(gateway, upstream, "/secret/page").body == SECRET


def path(gateway, upstream):
    return web.get(gateway, upstream, "/docs/../secret/page").body == SECRET


def query(gateway, upstream):
    web.get(gateway, upstream, "/docs/page?s3cr3t")
    return upstream.asked("/docs/page?s3cr3t") > 0


def host_field(gateway, upstream):
    return web.get(gateway, upstream, "/docs/page", Host="evil.test").status == 200


def sni(gateway, upstream):
    try:
        with web.Tunnel(gateway, upstream, sni="evil.test", verify=False):
            return True
    except (ssl.SSLError, OSError):
        return False


def redirect(gateway, upstream):
    return web.get(gateway, upstream, "/docs/away").fields.get("Location") == "https://evil.test/"


def git(gateway, upstream):
    web.get(gateway, upstream, "/docs/x/info/refs?service=git-upload-pack")
    body = packet("want " + "c" * 40 + " agent=s3cr3t\n") + "0000" + packet("done\n")
    web.get(gateway, upstream, "/docs/x/git-upload-pack", "POST", body, Content_Type=KIND)
    return any(SECRET in body for body in upstream.bodies)


def verify(gateway, upstream):
    return web.get(gateway, upstream, "/docs/page").status == 200


ATTACKS = {"web-prefix": prefix, "web-path": path, "web-query": query, "web-host-field": host_field, "web-sni": sni,
           "web-redirect": redirect, "web-git": git, "web-verify": verify}


def server(t, context):
    upstream = g.Upstream(context)
    upstream.bodies = []

    def pack(handler):
        upstream.bodies.append(handler.rfile.read(int(handler.headers["Content-Length"])))
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    refs = packet("# service=git-upload-pack\n") + "0000" + packet("a" * 40 + " HEAD\0x\n") + "0000"
    upstream.routes.update({
        "/docs/page": b"page", "/docs/page?s3cr3t": b"page", "/secret/page": SECRET, "/docs/x/git-upload-pack": pack,
        "/docs/away": (302, {"Location": "https://evil.test/"}, b""),
        "/docs/x/info/refs?service=git-upload-pack": refs.encode()})
    return upstream


@case(limit=180)
def each_left_out(t):
    directory = os.environ.get("MAI_SANDBOX_DEFENCE_OFF_DIR")
    if not directory:
        t.skip("needs the builds with defences off")
    g.program(t)
    bundle, context = g.authority(t, ["localhost"])
    for name, attack in ATTACKS.items():
        weak = pathlib.Path(directory) / name / "mai-sandbox-gateway"
        check(weak.exists(), f"no build without {name}")
        for program, succeeds in ((None, False), (str(weak), True)):
            upstream = server(t, context)
            trusted = "/etc/ssl/certs/ca-certificates.crt" if attack is verify else bundle
            with g.Gateway(t, [web.entry(trusted, upstream, git=attack is git)], program_path=program) as gateway:
                equal(attack(gateway, upstream), succeeds, f"{name}, {'without' if succeeds else 'with'} the defence")
            (t.tmp / "gateway.socket").unlink()
    t.tried(f"{len(ATTACKS)} checks, each needed: the attack succeeds without it and fails with it")
