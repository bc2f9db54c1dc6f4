# SPDX-License-Identifier: Apache-2.0
"""Class 27: memory in every shape that a program can hold it in. On the host only a bounded piece is tried, as the control."""

import resource

from lib import host
from lib.case import case, check, equal

LIMIT = 96 << 20
SHAPES = {
    "heap": "held = []\nwhile True: held.append(bytearray(1 << 20))",
    "anonymous shared mapping": "import mmap\nheld = []\nwhile True:\n m = mmap.mmap(-1, 1 << 20)\n m.write(b'x' * (1 << 20))\n"
                                " held.append(m)",
    "one large object": "x = bytearray(10 ** 9)\nfor i in range(0, len(x), 4096): x[i] = 1",
    "many small processes": "import os, time\nfor _ in range(30):\n if os.fork() == 0:\n  x = bytearray(16 << 20)\n"
                            "  for i in range(0, len(x), 4096): x[i] = 1\n  time.sleep(60)\ntime.sleep(60)",
    "memfd": "import os\nfd = os.memfd_create('x')\nwhile True: os.write(fd, b'x' * (1 << 20))",
    "a grandchild": "import os, time\nif os.fork() == 0:\n if os.fork() == 0:\n  held = []\n  while True: "
                    "held.append(bytearray(1 << 20))\n os._exit(0)\ntime.sleep(60)",
    "SysV shared memory": "import ctypes\nl = ctypes.CDLL(None)\nl.shmat.restype = ctypes.c_void_p\nn = 0\nwhile True:\n"
                          " i = l.shmget(0, 8 << 20, 0o1600)\n if i < 0: raise MemoryError\n p = l.shmat(i, None, 0)\n"
                          " ctypes.memset(p, 1, 8 << 20)",
}


@case(limit=180)
def every_shape(t):
    for shape, program in SHAPES.items():
        answer = t.run(program, options=["--memory", str(LIMIT), "--timeout", "20"])
        check(answer.status in ("limit", "failed"), f"{shape}: not stopped", answer)
        if answer.status == "failed":
            # A refusal by the kernel is the program's own error, never an unexplained 137.
            check(b"MemoryError" in answer.stderr or b"OSError" in answer.stderr, f"{shape}: unexplained",
                  answer)
            t.tried(f"{shape}: {answer.stderr.decode().splitlines()[-1]}")
            continue
        equal((answer.kind, answer.exit, answer.result["violation"]["limit"]), ("memory", 137, LIMIT), shape)
        peak = answer.result["usage"]["memory_peak"]
        check(LIMIT * 0.8 <= peak <= LIMIT * 1.05, f"{shape}: memory_peak", answer.result["usage"])
        host.assert_gone(answer)
        t.tried(f"{shape}: memory, peak {peak >> 20} of {LIMIT >> 20} MiB")


@case(limit=90)
def bounded_piece(t):
    """200 MiB under a limit of 96: stopped inside, and it goes well where no limit holds."""
    guest = r'''
held = bytearray(200 << 20)
for number in range(0, len(held), 4096):
    held[number] = 1
report["held"] = len(held)
finish()
'''
    from lib import attack

    def demand(sandbox):
        answer = sandbox.run(attack.PRELUDE + guest, options=["--memory", str(LIMIT)])
        if answer.status == "error":
            raise attack.NotRun(answer.result["error"]["message"])
        equal((answer.status, answer.kind), ("limit", "memory"), "200 MiB under a limit of 96 MiB")

    demand(t.sandbox)
    equal(attack.on_host(t, guest)["held"], 200 << 20, "control: on the host the same goes well")
    t.tried("touch 200 MiB under a limit of 96 MiB: memory (goes well on the host)")
    attack.expect_noticed(t, ["cgroup-memory"], demand)


@case(limit=90)
def file_systems_and_pipes(t):
    """What is bounded by another limit first: the run ends by itself or as `memory`, and the host is none the wiser."""
    program = """
import errno, fcntl, os
def fill(path):
    try:
        with open(path, "wb") as file:
            while True:
                file.write(b"x" * (1 << 20))
    except OSError as error:
        return errno.errorcode[error.errno]
    finally:
        os.unlink(path)
def pipes():
    held = []
    try:
        while True:
            r, w = os.pipe()
            held.append((r, w))
            try:
                fcntl.fcntl(w, 1031, 1 << 20)
            except OSError:
                pass
            os.set_blocking(w, False)
            try:
                while True:
                    os.write(w, b"x" * 65536)
            except BlockingIOError:
                pass
    except OSError as error:
        return errno.errorcode[error.errno]
print("tmp", fill("/tmp/x"), flush=True)
print("shm", fill("/dev/shm/x"), flush=True)
print("cwd", fill("x"), flush=True)
print("pipes", pipes(), flush=True)
"""
    answer = t.run(program, options=["--memory", str(LIMIT), "--timeout", "30"], policy="disk_limit: 16m\n")
    check(answer.status == "ok" or answer.kind == "memory", "neither at an end by itself nor `memory`",
          answer)
    lines = dict(line.split() for line in answer.text.splitlines())
    equal([lines.get("tmp"), lines.get("shm"), lines.get("cwd")], ["ENOSPC"] * 3,
          "what stops a growing file")
    t.tried(f"/tmp, /dev/shm and /sandbox filled: {lines['tmp']}; pipe buffers: {lines.get('pipes', answer.kind)}")


@case(limit=90)
def supervisor_stays_small(t):
    """The largest of our own processes, seen by wait4: what the program takes is not ours."""
    t.run(SHAPES["heap"], options=["--memory", "200m", "--timeout", "20"])
    # ru_maxrss of waited-for children contains that of theirs, and so the guest's own 200 MiB where init is waited for.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    check(peak < 300 << 20, "peak of the supervisor and what it waited for", peak)
    answer = t.run("print('x' * 1000)")
    equal(answer.status, "ok", "the next run")
    t.tried(f"heap of 200 MiB: largest process of ours and the program's {peak >> 20} MiB, the next run works")
