# SPDX-License-Identifier: Apache-2.0
"""
The init of a container that is none: speaks the guest protocol (src/protocol/guest.h) as our init would, over the stream
that a mock engine gives it, and tells of itself whatever the case wants. Nothing is run.
"""

import struct

PUT_FILE, PUT_DATA, SPEC_DATA, SPEC_END, GO, KILL_ALL, COLLECT, CONFIGURE, INPUT, INPUT_END, DISCARD = range(1, 12)
(READY, AT_GATE, STARTED, EXEC_FAILED, EXITED, FILE, FILE_DATA, FILE_SKIPPED, COLLECTED, SETUP_FAILED, SAMPLE, COUNTS,
 EVIDENCE, OUTPUT, OUTPUT_END, INPUT_TAKEN) = range(64, 80)

CONFIGURE_FORMAT = "<IIIIQQ16QII"
MISSING, TMPFS_FLAGS = 16, 64 | 2 | 4


def frame(kind, payload=b""):
    return struct.pack("<IHH", len(payload), kind, 0) + payload


def sizes_of(tmpfs):
    """The size and inode count of a tmpfs by the options that it was asked for with."""
    options = dict(word.split("=", 1) for word in tmpfs.split(",") if "=" in word)
    return int(options["size"]), int(options["nr_inodes"])


class Guest:
    """
    `stream.send(bytes)` writes to the container's standard output. `script` may hold, by name, what differs from an init
    that behaves: see the uses below.
    """

    def __init__(self, request, stream, script=None):
        self.request = request  # the body of the create call
        self.stream = stream
        self.script = script or {}
        self.buffer = b""
        self.started = False  # the container is
        self.waiting = []  # frames until then
        self.configured = None
        self.paths = []
        self.went = False  # the gate was opened: user code would run

    # ---- What comes in ----

    def feed(self, data):
        self.buffer += data
        while len(self.buffer) >= 8:
            size, kind, _ = struct.unpack_from("<IHH", self.buffer)
            if len(self.buffer) < 8 + size:
                return
            payload, self.buffer = self.buffer[8:8 + size], self.buffer[8 + size:]
            if self.started:
                self.take(kind, payload)
            else:
                self.waiting.append((kind, payload))

    def start(self):
        self.started = True
        for kind, payload in self.waiting:
            self.take(kind, payload)

    def say(self, kind, payload=b""):
        """Sends a frame, unless the script has something else in its place: bytes, or None for silence."""
        whole = frame(kind, payload)
        if kind in self.script:
            whole = self.script[kind]
            whole = whole(payload) if callable(whole) else whole
        if whole:
            self.stream.send(whole)

    def take(self, kind, payload):
        if kind == CONFIGURE:
            size = struct.calcsize(CONFIGURE_FORMAT)
            self.configured = struct.unpack_from(CONFIGURE_FORMAT, payload)
            self.paths = payload[size:].rstrip(b"\0").split(b"\0")
            self.say(READY, struct.pack("<IIIiI", 1, 0, 2, 3, 0))
        elif kind == SPEC_END:
            self.say(AT_GATE, struct.pack("<iI", 2, 0))
            self.say(EVIDENCE, self.evidence())
        elif kind == GO:
            self.went = True
            self.go()
        elif kind == KILL_ALL:
            if self.script.get("sleeps") and not self.script.get("deaf"):
                self.end(9)
        elif kind == COLLECT:
            self.say(FILE, struct.pack("<QqII", 2, 0, 0o644, 3) + b"out")
            self.say(FILE_DATA, b"hi")
            self.say(COLLECTED, struct.pack("<3Q", 1, 2, 0))

    # ---- What goes out ----

    def go(self):
        self.say(STARTED)
        self.say(OUTPUT, struct.pack("<I", 0) + b"ran\n")
        if not self.script.get("sleeps"):
            self.end(0)

    def end(self, wait_status):
        none = 2**64 - 1
        self.say(SAMPLE, struct.pack("<10Q4I", 1000, 500, 500, 1 << 20, 2 << 20, 1, 1, 4096, 1 << 20, 100, 2, 2, 2, 0))
        self.say(COUNTS, struct.pack("<2Q", 0, none))
        self.say(EXITED, struct.pack("<iIIIQQQ", wait_status, 0, 0, 0, 500, 500, 1 << 20))
        for stream in (0, 1):
            self.say(OUTPUT_END, struct.pack("<I", stream))

    def evidence(self):
        """What an init would find in a container that is as the create call asked."""
        host = self.request["HostConfig"]
        _, _, uid, gid, open_files, capabilities, *words = self.configured
        cpus = sum(bin(word).count("1") for word in words[:16]) or 1
        mounts = []
        for path in self.paths:
            options = host["Tmpfs"].get(path.decode())
            size, inodes = sizes_of(options) if options else (0, 0)
            mounts.append(struct.pack("<64s4I3Q", path, TMPFS_FLAGS if options else MISSING, uid, gid, 0o755,
                                      len(mounts), size, inodes))
        everybody = (0, 0, 2**32 - 1)
        head = struct.pack("<ii8I6I2II32I4x", 2, 3, *[uid] * 4, *[gid] * 4, *everybody, *everybody, 1, 1, 0, *[0] * 32)
        rights = struct.pack("<5Q4I7Q", 0, capabilities, capabilities, capabilities, 0, 1, 2, 2, 0,
                             *range(4026530001, 4026530008))
        quota = host["NanoCpus"] // 10000
        limits = struct.pack("<2I2Q2I2QQ2Q2I", cpus, 1, open_files, 1, 2, 0, host["Memory"], 0, host["PidsLimit"],
                             quota, 100000, 1, len(mounts))
        interfaces = struct.pack("<16s", b"lo").ljust(128, b"\0")
        # Not this machine's: so the engine is asked which kernel it runs, and says this one.
        release = b"6.1.0-28-amd64".ljust(64, b"\0")
        return head + rights + limits + interfaces + b"".join(mounts).ljust(16 * 104, b"\0") + release
