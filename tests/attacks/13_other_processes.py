# SPDX-License-Identifier: Apache-2.0
"""Class 13: reading, writing or steering other processes, PID 1 of the sandbox above all."""

import subprocess

from lib import attack
from lib.case import case

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
child_probe("sched", lambda: os.sched_setaffinity(pid, {0}))
child_probe("prlimit", lambda: sc(302, pid, 7, None, (ctypes.c_uint64 * 2)()))
finish()
'''


@case()
def init_of_the_sandbox(t):
    attack.need_x86(t)
    names = ("attach", "seize", "readv", "writev", "getfd", "mem", "maps", "fd", "environ", "cwd", "root",
             "auxv", "stack",
             "io", "personality", "syscall", "mem for writing", "oom_score_adj", "sched", "prlimit")
    with subprocess.Popen(["sleep", "50"]) as victim:
        try:
            attack.attack(t, GUEST, {name: f"{name} of PID 1" for name in names}, args=["1"],
                          host_args=[str(victim.pid)],
                          defences=["dumpable"], refused={"": attack.REFUSED | {"ENOENT", "ESRCH"}})
        finally:
            victim.kill()
