# SPDX-License-Identifier: Apache-2.0
"""Class 8: system calls through another architecture's door: int 0x80 from 64-bit code, and x32 numbers."""

from lib import attack
from lib.case import case

GUEST = r'''
import mmap
def foreign(code, expected):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    value = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if value < 0:
        raise OSError(-value, "refused")
    if expected is not None and value != expected():
        raise OSError(errno.EINVAL, f"odd answer {value}")
# push rbx; mov eax, N; xor ebx, ebx; int 0x80; pop rbx; ret: the i386 numbers 20 getpid, 102 socketcall
def code(number):
    return b"\x53\xb8" + number.to_bytes(4, "little") + b"\x31\xdb\xcd\x80\x5b\xc3"
child_probe("int80", foreign, code(20), os.getpid)
def socketcall():
    try:
        foreign(code(102), None)
    except OSError as error:
        if error.errno != errno.EINVAL:      # sub-call 0 does not exist: EINVAL says that it was looked at
            raise
child_probe("socketcall", socketcall)
child_probe("x32 getpid", lambda: sc(0x40000000 | 39))
child_probe("x32 execve", lambda: sc(0x40000000 | 520, 0, 0, 0))
finish()
'''


@case()
def other_architectures(t):
    attack.need_x86(t)
    killed = {"killed by SIGSYS", "killed by SIGKILL", "killed by SIGSEGV", "ENOSYS"}
    # A compiled filter that is left out lets int 0x80 through; a kernel without its emulation kills with SIGSEGV.
    report, _ = attack.attack(
        t, GUEST, {"int80": "getpid by int 0x80", "socketcall": "socketcall by int 0x80",
                   "x32 getpid": "getpid by its x32 number", "x32 execve": "execve by its x32 number"},
        refused={"": killed}, defences=["seccomp"], lacking=killed)
    t.note(report)
