# SPDX-License-Identifier: Apache-2.0
"""Class 7: namespaces of one's own, above all user namespaces, whose root reaches half the kernel."""

from lib import attack
from lib.case import case

GUEST = r'''
FLAGS = {"user": 0x10000000, "mnt": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000,
         "cgroup": 0x2000000, "time": 0x80}
def clone3(flags):
    words = (ctypes.c_uint64 * 11)(flags, 0, 0, 0, signal.SIGCHLD)
    pid = sc(435, words, 88)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
def clone(flags):
    pid = sc(56, flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
for name, flag in FLAGS.items():
    child_probe(f"unshare {name}", lambda: sc(272, flag))
child_probe("unshare user+mnt", lambda: sc(272, FLAGS["user"] | FLAGS["mnt"]))
child_probe("clone user", clone, FLAGS["user"])
child_probe("clone net", clone, FLAGS["net"])
child_probe("clone3 user", clone3, FLAGS["user"])
child_probe("setns", lambda: sc(308, os.open("/proc/self/ns/uts", os.O_RDONLY), 0))
def tool():
    import subprocess
    if subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True).returncode:
        raise PermissionError(errno.EPERM, "unshare failed")
child_probe("unshare(1)", tool)
finish()
'''


@case()
def new_namespaces(t):
    attack.need_x86(t)
    names = [f"unshare {n}" for n in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time")]
    names += ["unshare user+mnt", "clone user", "clone net", "clone3 user", "setns", "unshare(1)"]
    attack.attack(t, GUEST, {name: name for name in names}, defences=["seccomp"])
