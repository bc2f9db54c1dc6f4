# SPDX-License-Identifier: Apache-2.0
"""Class 9: 64-bit values whose low half, which is all the kernel looks at, is what a naive rule refuses."""

from lib import attack
from lib.case import case

GUEST = r'''
import termios
HIGH = 1 << 32
def socket(family, kind, protocol):
    os.close(sc(41, family, kind, protocol))
probe("vsock", socket, HIGH | 40, 1, 0)
probe("netlink", socket, HIGH | 16, 3, 0)
probe("packet", socket, HIGH | 17, 3, 0)
probe("alg", socket, (0x7fffffff << 32) | 38, 5, 0)
probe("raw type", socket, 2, HIGH | 3, 1)
probe("raw protocol", socket, HIGH | 2, HIGH | 3, HIGH | 255)
pair = (ctypes.c_int * 2)()
probe("socketpair", lambda: sc(53, HIGH | 30, 5, 0, pair))
def clone():
    pid = sc(56, HIGH | 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
child_probe("clone", clone)
child_probe("personality", lambda: sc(135, HIGH | 0x0400000))
try:
    master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
except OSError:
    master = 0  # there is none, or it may not be opened
def sti():
    letter = (ctypes.c_char * 1)(b"x")
    fd = master
    if master:
        os.setsid()
        fcntl_unlock = ctypes.c_int(0)
        sc(16, master, 0x40045431, (ctypes.c_int * 1)(0))
        slave = os.open(f"/proc/self/fd/{master}", os.O_RDONLY) if False else sc(16, master, 0x5441, os.O_RDWR)
        fd = slave
    sc(16, fd, HIGH | 0x5412, letter)
child_probe("tiocsti", sti)
finish()
'''


@case()
def high_halves(t):
    attack.need_x86(t)
    sockets = {"EAFNOSUPPORT", "EPERM", "ENOSYS", "EACCES", "ESOCKTNOSUPPORT", "EPROTONOSUPPORT", "EINVAL"}
    names = ("vsock", "netlink", "packet", "alg", "raw type", "raw protocol", "socketpair")
    attack.attack(
        t, GUEST,
        {"vsock": "AF_VSOCK in the low half", "netlink": "AF_NETLINK in the low half",
         "packet": "AF_PACKET in the low half", "alg": "AF_ALG in the low half",
         "raw type": "SOCK_RAW in the low half",
         "raw protocol": "all three arguments", "socketpair": "TIPC socketpair in the low half",
         "clone": "CLONE_NEWUSER beside high bits", "personality": "READ_IMPLIES_EXEC beside high bits",
         "tiocsti": "TIOCSTI in the low half"},
        refused={**{name: sockets for name in names}, "tiocsti": {"ENOTTY", "EPERM", "EACCES", "ENOSYS"}},
        defences=["seccomp-args", "seccomp"])
