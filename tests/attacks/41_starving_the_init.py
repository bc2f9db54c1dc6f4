# SPDX-License-Identifier: Apache-2.0
"""
Class 41: the container's init has the program's user id, so the kernel would let the program slow it down, and with it
the end of the run and the collection of its files. Also what costs the supervisor time without end.
"""

from lib import host
from lib.case import case, check, equal

# Each call is tried on process 1, and on a child of the program's own, where it must work: as a control.
PRIORITIES = """
import ctypes, errno, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
param = struct.pack("i", 0)
attr = struct.pack("IIQiIQQQ", 48, 5, 0, 0, 0, 0, 0, 0)
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
for name, pid_to_args in {
    "sched_setscheduler idle": lambda pid: (144, pid, 5, param),
    "sched_setparam": lambda pid: (142, pid, param),
    "sched_setattr idle": lambda pid: (314, pid, attr, 0),
    "setpriority": lambda pid: (141, 0, pid, 19),
    "ioprio_set idle": lambda pid: (251, 1, pid, 3 << 13),
}.items():
    for who, pid in (("init", 1), ("init, high bits", 0x100000001), ("child", child)):
        ctypes.set_errno(0)
        words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in pid_to_args(pid)]
        failed = libc.syscall(*words) < 0
        print(name, who, errno.errorcode[ctypes.get_errno()] if failed else "done", sep="|")
for name, number, which in (("setpriority", 141, 2), ("ioprio_set", 251, 3)):
    ctypes.set_errno(0)
    failed = libc.syscall(number, which, 0, 19) < 0
    print(name, "init, as all of its user", errno.errorcode[ctypes.get_errno()] if failed else "done", sep="|")
os.kill(child, 9)
"""


@case()
def priority_of_the_init(t):
    answer = t.run(PRIORITIES)
    equal(answer.status, "ok", "status")
    lines = [line.split("|") for line in answer.text.splitlines()]
    equal(len(lines), 17, "tries")
    for name, who, outcome in lines:
        equal(outcome, "done" if who == "child" else "EPERM", f"{name} of {who}")
    t.tried("scheduling class, nice value and I/O class of process 1, by number, with garbage in the high half, and as "
            "all processes of the user: EPERM; the same of a child: done")


@case()
def closed_working_directory(t):
    """The program takes away every right to its directory: its files are collected all the same."""
    guest = "import os; open('/sandbox/kept', 'w').write('x'); os.chmod('/sandbox', 0)"
    target = t.tmp / "out"
    answer = t.run(guest, options=["--output-dir", str(target)])
    equal(answer.status, "ok", "status")
    equal([entry["path"] for entry in answer.result["files"]], ["kept"], "files")
    equal((target / "kept").read_text(), "x", "content")
    t.tried("chmod 0 of /sandbox: the file in it is collected")


@case()
def affinity_flood(t):
    """Each call is work of the supervisor's, outside the container's limits: it has a bound as denied calls do."""
    if t.backend != "native":
        t.skip("a backend that brokers affinity")
    guest = """
import os
mine = os.sched_getaffinity(0)
os.sched_setaffinity(0, mine)
print("one works", flush=True)
while True:
    try:
        os.sched_setaffinity(0, mine)
    except PermissionError:
        pass
"""
    answer = t.run(guest, options=["--timeout", "30"], patience=90)
    check("one works" in answer.text, "a single call", answer)
    equal((answer.status, answer.kind), ("limit", "syscall"), "the flood's end")
    equal([event["syscall"] for event in answer.result["events"] if event["kind"] == "syscall_denied"],
          ["sched_setaffinity"], "what was counted")
    host.assert_gone(answer)
    t.tried("sched_setaffinity without end: after 10000 served calls and as many refused ones the run is ended")


@case(limit=120)
def busy_at_the_end(t):
    """Many processes burn CPU and fill memory at the timeout: the files may be lost, but nobody waits 30 s for them."""
    guest = """
import os, time
for _ in range(30):
    if os.fork() == 0:
        try:
            held = []
            while True: held.append(bytearray(1 << 16))
        except MemoryError:
            while True: pass
time.sleep(100)
"""
    answer = t.run(guest, options=["--timeout", "3", "--trust", "untrusted", "--output-dir", str(t.tmp / "out")],
                   patience=90)
    equal(answer.status, "limit", "status")
    collect = answer.result["timing"]["collect"]
    check(collect is None or collect < 10, "collecting waited for an init that is gone", answer.result["timing"])
    host.assert_gone(answer)
    t.tried(f"30 processes busy at the timeout: collected or given up within {collect} s")
