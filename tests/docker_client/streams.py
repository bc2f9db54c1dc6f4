# SPDX-License-Identifier: Apache-2.0
"""The container's attached streams: broken framing, an init that says what it must not, silence, and ends in mid-run."""

import struct
import time

from lib import docker_client as d
from lib import guest as g
from lib.case import case, check, equal
from lib.engine import Engine
from lib.guest import frame

BACKEND = ("backend_unavailable",)


def each(t, scripts, codes=BACKEND, went=0, words="", **engine_options):
    """Runs under each script: an error, no gate opened, nothing left."""
    d.prepare(t)
    for name, script in scripts.items():
        with Engine(t, script=script, **engine_options) as engine:
            result = d.run(t, engine)
            d.check_error(result, name, codes)
            check(words in result["error"]["message"], f"{name}: words", result["error"])
            equal((engine.went, engine.containers), (went, {}), f"{name}: gates opened, containers left")
            check(result["seconds"] < 25, f"{name}: it took too long", result["seconds"])
    t.tried(f"{len(scripts)} scripts")


def raw(data):
    return {"instead": lambda stream: stream.raw(data)}


@case(limit=180)
def multiplexing(t):
    each(t, {
        "another stream": raw(b"\x09\0\0\0\0\0\0\x01x"), "padding": raw(b"\x01\0\x01\0\0\0\0\x01x"),
        "a page": raw(b"HTTP/1.1 500 Internal Server Error\r\n\r\n"),
        "a terminal's stream": raw(b"hello from a tty\r\n" * 100),
        "all ones": raw(b"\xff" * 4096)}, words="malformed stream")
    each(t, {
        "half a header": raw(b"\x01\0\0"), "half a piece": raw(b"\x01\0\0\0\0\0\0\x40" + frame(g.READY)[:4]),
        "empty pieces": raw(b"\x01\0\0\0\0\0\0\0" * 1000), "nothing": raw(b"")}, words="ended by itself")


def piece(data):
    return raw(b"".join(struct.pack(">BxxxI", 1, len(data)) + data for data in [data]))


@case(limit=180)
def frames_out_of_place(t):
    """What is no message, too large, of a wrong size, or out of order."""
    ready = struct.pack("<IIIiI4x8Q", 1, 0, 2, 3, 0, *[0] * 8)
    each(t, {
        "unknown": piece(frame(999)), "one for the init": piece(frame(g.GO)),
        "huge": piece(struct.pack("<IHH", 1 << 31, g.OUTPUT, 0)),
        "a little too large": piece(struct.pack("<IHH", (1 << 20) + 1, g.OUTPUT, 0)),
        "short ready": piece(frame(g.READY, ready[:-1])), "long ready": piece(frame(g.READY, ready + b"x")),
        "another version": piece(frame(g.READY, b"\x02" + ready[1:])),
        "started before the gate": piece(frame(g.STARTED)),
        "exited before the gate": piece(frame(g.EXITED, b"\0" * 40)),
        "short evidence": piece(frame(g.EVIDENCE, b"\0" * 100)),
        "evidence twice": {g.EVIDENCE: lambda payload: frame(g.EVIDENCE, payload) * 2},
        "output of a third stream": piece(frame(g.OUTPUT, struct.pack("<I", 2) + b"x")),
        "empty output": piece(frame(g.OUTPUT, struct.pack("<I", 0))),
        "output after its end": piece(frame(g.OUTPUT_END, struct.pack("<I", 0)) + frame(g.OUTPUT, b"\0\0\0\0x")),
        "more input taken than sent": piece(frame(g.INPUT_TAKEN, struct.pack("<QII", 1 << 40, 0, 0))),
        "a file of another length": piece(frame(g.FILE, struct.pack("<QqII", 1 << 60, 0, 0o644, 1) + b"f")),
        "a file without a name": piece(frame(g.FILE, struct.pack("<QqII", 1, 0, 0o644, 0))),
        "a name of another length": piece(frame(g.FILE, struct.pack("<QqII", 1, 0, 0o644, 9) + b"f")),
        "data of no file": piece(frame(g.FILE_DATA, b"x")),
    }, words="malformed message")


@case(limit=180)
def silence(t):
    """An init that says nothing, or stops in the middle: the time limit of a call is its limit too."""
    each(t, {"at all": {"instead": lambda stream: time.sleep(30)}, "no account": {g.EVIDENCE: None},
             "not ready": {g.READY: None, g.AT_GATE: None, g.EVIDENCE: None}}, words="init does not answer")
    each(t, {"not started": {g.STARTED: None, g.OUTPUT: None, g.EXITED: None}}, went=1, words="init does not answer")


@case(limit=180)
def complaints(t):
    """What the runtime or the init writes before it ends is part of the message, on one line and escaped."""
    d.prepare(t)

    def dies(stream):
        stream.send(b"exec /.mai-sandbox/init:\n exec format error \x1b[31m\n" * 3, 2)

    with Engine(t, script={"instead": dies}) as engine:
        result = d.run(t, engine)
        d.check_error(result, "complaint")
        check("exec format error \\x1b[31m" in result["error"]["message"], "the runtime's words", result["error"])
    failure = struct.pack("<iI32s256s256s", 13, 0, b"read_only", b"\x1b[2J" + b"a" * 252, b"h" * 256)
    with Engine(t, script={g.READY: frame(g.SETUP_FAILED, failure)}) as engine:
        result = d.run(t, engine)
        d.check_error(result, "setup failed", ("backend_unavailable", "not_enforceable", "internal"))
        equal(engine.went, 0, "gates opened")


@case(limit=180)
def in_mid_run(t):
    """The connection is cut while the program runs: what became of it is not known, and said so."""

    def drop(_, container):
        container["stream"].close()

    def end(_, container):
        container["running"] = False
        container["stream"].close()

    each(t, {"cut": {"sleeps": True, "drops": drop}}, went=1, words="connection to the container's streams",
         running_after=True)
    each(t, {"ended": {"sleeps": True, "drops": end}}, went=1, words="ended by itself")
    for name, script in {
            "a bad header": {g.OUTPUT: b"\xff" * 16, "sleeps": True},
            "frames of nothing": {"sleeps": True, g.OUTPUT: frame(999)},
            "started twice, then silence": {g.EXITED: None, g.OUTPUT_END: None}}.items():
        with Engine(t, script=script) as engine:
            result = d.run(t, engine, "--timeout", "1")
            check(result["status"] in ("error", "limit"), name, result["status"], result["error"])
            equal(engine.containers, {}, f"{name}: containers left")


def patched(offset, form, value):
    def change(payload):
        data = bytearray(payload)
        struct.pack_into(form, data, offset, value)
        return frame(g.EVIDENCE, bytes(data))

    return {g.EVIDENCE: change}


@case(limit=180)
def lying_init(t):
    """The init's account differs from the policy: the gate stays shut."""
    # Offsets into struct guest_evidence.
    uid, gid, groups, caps, flags, namespaces = 8, 24, 72, 208, 248, 264
    root, limits = 324, 328
    each(t, {
        "two ids": patched(uid, "<I", 0), "another group": patched(gid, "<I", 5),
        "groups": patched(groups, "<I", 3), "effective capabilities": patched(caps + 16, "<Q", 1 << 21),
        "bounding set": patched(caps + 24, "<Q", 1), "ambient": patched(caps + 32, "<Q", 1),
        "new privileges": patched(flags, "<I", 0), "no filter": patched(flags + 4, "<I", 0),
        "no filters": patched(flags + 8, "<I", 0), "dumpable": patched(flags + 12, "<I", 1),
        "no Landlock": patched(4, "<i", 0), "an unreadable namespace": patched(namespaces + 8, "<Q", 0),
        "many CPUs": patched(namespaces + 56, "<I", 64), "a writable root": patched(root, "<I", 0),
        "open files": patched(limits, "<Q", 1 << 20), "core dumps": patched(limits + 8, "<Q", 1 << 20),
        "a writable control group": patched(limits + 20, "<I", 1),
        "more memory": patched(limits + 24, "<Q", 1 << 40), "swap": patched(limits + 32, "<Q", 1 << 30),
        "more processes": patched(limits + 40, "<Q", 1 << 20), "more CPU": patched(limits + 48, "<Q", 1 << 40),
        "an interface": patched(limits + 64, "<I", 2), "other paths": patched(limits + 68, "<I", 3),
        "a strange interface": patched(limits + 72, "<4s", b"eth\x1b"),
    }, codes=("security_mismatch",))
    each(t, {"no control group": patched(limits + 16, "<I", 0)}, codes=("not_enforceable",), words="pids_limit")
