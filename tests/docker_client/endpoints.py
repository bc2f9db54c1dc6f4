# SPDX-License-Identifier: Apache-2.0
"""Where the engine is: Unix sockets, TCP, TLS with certificates of both sides, and which API it speaks."""

import os
import shutil
import socket

from lib import docker_client as d
from lib import engine as e
from lib.case import case, check, equal
from lib.engine import Engine

NO_HOST = d.POLICY.replace('  host: "{host}"\n', "")


def tls(where):
    return {"DOCKER_CERT_PATH": str(where)}


@case(limit=180)
def plain_tcp(t):
    d.prepare(t)
    with Engine(None) as engine:
        equal(d.run(t, engine)["status"], "ok", "docker.host")
        equal(d.run(t, engine, policy_text=NO_HOST, env={"DOCKER_HOST": engine.host})["status"], "ok", "DOCKER_HOST")
        # An engine is where docker.host says: neither a proxy nor a variable leads elsewhere.
        away = {"DOCKER_HOST": "tcp://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1"}
        equal(d.run(t, engine, env=away)["status"], "ok", "both")


@case(limit=180)
def with_certificates(t):
    d.prepare(t)
    where, context = e.certificates(t)
    with Engine(t, context=context) as engine:
        result = d.run(t, engine, env=tls(where))
        equal((result["status"], result["stdout"]), ("ok", "ran\n"), "TLS")
        home = t.tmp / "home"
        shutil.copytree(where, home / ".docker")
        result = d.run(t, engine, env={"HOME": str(home), "DOCKER_TLS_VERIFY": "1"})
        equal(result["status"], "ok", "DOCKER_TLS_VERIFY")
        equal(engine.containers, {}, "containers left")
    for call in ("image", "create", "attach", "start", "inspect"):
        with Engine(t, {**{f"{call}#{n}": e.closes for n in range(2, 6)}, call: e.closes}, context=context) as engine:
            d.check_error(d.run(t, engine, env=tls(where)), f"TLS, hangs up at {call}")

    def drop(_, container):
        container["stream"].close()

    with Engine(t, context=context, script={"sleeps": True, "drops": drop}) as engine:
        d.check_error(d.run(t, engine, env=tls(where)), "TLS, cut in mid-run")


@case(limit=180)
def bad_certificates(t):
    """Nothing of the run reaches an engine that does not prove itself, or that does not take our proof."""
    d.prepare(t)
    good, context = e.certificates(t)
    stranger, strange_context = e.certificates(t)
    other_name = e.certificates(t, name="DNS:engine.example")
    expired = e.certificates(t, expired=True)
    locked = t.tmp / "locked"
    shutil.copytree(good, locked)
    openssl = t.need_program("openssl")
    e.call([openssl, "ec", "-aes128", "-passout", "pass:secret", "-in", "key.pem", "-out", "locked.pem"], locked)
    os.replace(locked / "locked.pem", locked / "key.pem")

    def changed(name, file, text):
        where = t.tmp / name
        shutil.copytree(good, where)
        if text is None:
            (where / file).unlink()
        else:
            (where / file).write_text(text)
        return where

    tries = {
        "another authority": (good, strange_context, "certificate"),
        "another name": (*other_name, "127.0.0.1"),
        "expired": (*expired, "expired"),
        "a client of another authority": (self_signed(good, stranger, t), context, ""),
        "a locked key": (locked, context, "key.pem"),
        "no key": (changed("no-key", "key.pem", None), context, "key.pem"),
        "no certificate": (changed("no-cert", "cert.pem", None), context, "cert.pem"),
        "no authority": (changed("no-ca", "ca.pem", None), context, "ca.pem"),
        "an empty authority": (changed("empty-ca", "ca.pem", ""), context, "ca.pem"),
        "a key that is none": (changed("bad-key", "key.pem", "-----BEGIN NONSENSE-----\n"), context, "key.pem"),
        "another's key": (changed("other-key", "key.pem", (stranger / "key.pem").read_text()), context, ""),
        "no directory": (t.tmp / "nowhere", context, "nowhere/ca.pem"),
    }
    for name, (where, server, word) in tries.items():
        with Engine(t, context=server) as engine:
            result = d.run(t, engine, env=tls(where))
            d.check_error(result, name)
            said = result["error"]["message"] + result["error"]["hint"]
            check(word in said, f"{name}: words", result["error"])
            equal(engine.calls, [], f"{name}: calls that the engine saw")
    t.tried(f"{len(tries)} ways of being somebody else")


def self_signed(good, stranger, t):
    """The engine's true authority, with a client certificate of another."""
    where = t.tmp / "mixed"
    shutil.copytree(stranger, where)
    shutil.copy(good / "ca.pem", where / "ca.pem")
    return where


@case(limit=180)
def one_with_tls_and_one_without(t):
    d.prepare(t)
    where, context = e.certificates(t)
    with Engine(t, context=context) as engine:
        result = d.run(t, engine)
        d.check_error(result, "no TLS to an engine with it")
        check("TLS" in result["error"]["hint"], "hint", result["error"])
    with Engine(None) as engine:
        result = d.run(t, engine, env=tls(where))
        d.check_error(result, "TLS to an engine without it")
        check("TLS" in result["error"]["message"], "message", result["error"])
        equal(engine.calls, [], "calls")


@case(limit=180)
def addresses(t):
    """Bad ones are refused where they stand; good ones where nobody is say so."""
    d.prepare(t)
    (t.tmp / "file").write_text("x")
    dead = t.tmp / "dead"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(dead))
    for host, word in {
            f"unix://{t.tmp}/none": "No such file", f"unix://{dead}": "refused", f"unix://{t.tmp}/file": "refused",
            "tcp://127.0.0.1:1": "refused", "tcp://no-such-host.invalid:2375": "no-such-host.invalid"}.items():
        result = d.run(t, None, host=host)
        d.check_error(result, host)
        check(word in result["error"]["message"], f"{host}: words", result["error"])
        equal(result["cleanup"] and result["cleanup"]["complete"], True, f"{host}: cleanup")
    for host in ("tcp://", "tcp://h:1/path", "tcp://u@h:1", "unix://relative", "http://h:1", "ssh://h", "nonsense",
                 "unix:///" + "x" * 200, "tcp://h:99999", "tcp://h:port", "tcp://[::1", "tcp://h:1?x", "\x1b[31m"):
        result = d.run(t, None, policy_text=NO_HOST, env={"DOCKER_HOST": host}, host="")
        d.check_error(result, f"DOCKER_HOST={host!r}")


@case(limit=180)
def unreadable_socket(t):
    d.prepare(t)
    t.need_root()
    with Engine(t) as engine:
        os.chmod(engine.path, 0o600)
        result = d.run(t, engine, as_user=65534)
        d.check_error(result, "somebody else's socket")
        check("ermission denied" in result["error"]["message"] and "group docker" in result["error"]["hint"], "words",
              result["error"])


@case(limit=180)
def api_versions(t):
    """The newest that both speak; an engine that is too old, or none at all, is refused."""
    d.prepare(t)
    for api, spoken in (("1.40", "/v1.40/"), ("1.41", "/v1.41/"), ("1.53", "/v1.41/"), ("1.999", "/v1.41/")):
        with Engine(t, api=api) as engine:
            equal(d.run(t, engine)["status"], "ok", api)
            check(all(target.startswith(spoken) for target in engine.targets[1:]), api, engine.targets)
    for api in ("1.39", "1.24", "0.9", "2.0", "", "1.", "1.x", "1.-1", "1.99999999999", "1.41.1"):
        with Engine(t, api=api) as engine:
            result = d.run(t, engine)
            d.check_error(result, f"API {api!r}")
            equal(engine.calls, ["ping"], f"API {api!r}: calls")
