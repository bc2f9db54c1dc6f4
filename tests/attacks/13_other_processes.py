# SPDX-License-Identifier: Apache-2.0
"""Class 13: reading, writing or steering other processes, PID 1 of the sandbox above all."""

import subprocess

from lib import attack
from lib.case import case, check, equal

GUEST = r'''
pid = int(sys.argv[1])
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
local = ctypes.create_string_buffer(8)
here = (Vector * 1)(Vector(ctypes.addressof(local), 8))
def mapped():
    """An address of the other process, or of our own where the map can't be seen: the refusal comes first."""
    try:
        return int(open(f"/proc/{pid}/maps").read().split("-")[0], 16)
    except (OSError, ValueError):
        return ctypes.addressof(local)
there = (Vector * 1)(Vector(mapped(), 8))
def attach(request):
    sc(101, request, pid, 0, 0)
    os.waitpid(pid, 0x40000000) if request == 16 else None
    sc(101, 17, pid, 0, 0) if request == 16 else None
child_probe("attach", attach, 16)
child_probe("seize", attach, 0x4206)
child_probe("readv", lambda: sc(310, pid, here, 1, there, 1, 0))
child_probe("writev", lambda: sc(311, pid, here, 0, there, 0, 0))
def getfd():
    pidfd = os.pidfd_open(pid)
    os.close(sc(438, pidfd, 0, 0))
child_probe("getfd", getfd)
for name in ("mem", "maps", "fd", "environ", "cwd", "root", "auxv", "stack", "io", "personality", "syscall"):
    def look():
        path = f"/proc/{pid}/{name}"
        if name == "fd":
            return os.listdir(path)
        if name in ("cwd", "root"):
            return os.listdir(path + "/")
        with open(path, "rb") as file:
            return file.read(1) if name != "mem" else None
    child_probe(name, look)
child_probe("mem for writing", lambda: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR)))
child_probe("oom_score_adj", lambda: os.close(os.open(f"/proc/{pid}/oom_score_adj", os.O_WRONLY)))
finish()
'''


@case()
def init_of_the_sandbox(t):
    attack.need_x86(t)
    names = ("attach", "seize", "readv", "writev", "getfd", "mem", "maps", "fd", "environ", "cwd", "root",
             "auxv", "stack",
             "io", "personality", "syscall", "mem for writing", "oom_score_adj")
    with subprocess.Popen(["sleep", "50"]) as victim:
        try:
            attack.attack(t, GUEST, {name: f"{name} of PID 1" for name in names}, args=["1"],
                          host_args=[str(victim.pid)],
                          defences=["dumpable"], refused={"": attack.REFUSED | {"ENOENT", "ESRCH"}})
        finally:
            victim.kill()


STEER = r'''
import time
pid = int(sys.argv[1])
zero = (ctypes.c_uint64 * 2)(0, 0)
for name, resource in (("CPU time", 0), ("file size", 1), ("data", 2), ("descriptors", 7), ("address space", 9)):
    probe(name, lambda: sc(302, pid, resource, zero, None))
probe("idle class", lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)))
probe("affinity", lambda: os.sched_setaffinity(pid, os.sched_getaffinity(0)))
probe("priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
probe("stop", lambda: os.kill(pid, signal.SIGSTOP))
probe("kill", lambda: os.kill(pid, signal.SIGKILL))
open("left.txt", "w").write("left")
finish()
time.sleep(0.3)
sys.exit(5)
'''


@case()
def limits_of_init(t):
    """
    PID 1 has the program's uid, so that the kernel alone would let its limits be changed. Whatever is refused, the
    outcome must not suffer: the program's status and its files come out.
    """
    attack.need_x86(t)
    answer = t.run(attack.PRELUDE + STEER, ["1"], options=["--output-dir", str(t.tmp / "out")])
    report = attack.parse(answer.stdout, answer)
    t.note(f"inside: {report}")
    limits = ("CPU time", "file size", "data", "descriptors", "address space")
    with subprocess.Popen(["sleep", "50"]) as victim:
        control = attack.on_host(t, STEER, [str(victim.pid)])
        victim.kill()
    check(all(control[name] == "done" for name in limits), "control: another process's limits can be set", control)
    equal((answer.status, answer.exit), ("failed", 5), "the program's own status")
    equal([entry["path"] for entry in answer.result["files"]], ["left.txt"], "the file that it left")
    through = [name for name in limits if report[name] == "done"]
    check(not through, "limits of PID 1 were changed", report)
    t.tried(f"set limits, class, affinity and priority of PID 1, stop and kill it: {report} (limits of another "
            "process can be set on the host); status and files came out right")
