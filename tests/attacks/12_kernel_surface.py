# SPDX-License-Identifier: Apache-2.0
"""
Class 12: system calls that programs do not need and kernels have been broken through. The arguments are such that
even root on the bare host changes nothing: most are malformed, so that "EFAULT" or "EINVAL" shows the kernel's code was
reached. Inside, the answer must come from the filter.
"""

from lib import attack
from lib.case import case

GUEST = r'''
NOWHERE = b"/nonexistent/mai"
buffer = (ctypes.c_uint64 * 64)()
perf = (ctypes.c_uint32 * 32)(1, 128)                    # a software event, size 128
array_map = (ctypes.c_uint32 * 18)(2, 4, 4, 1)           # BPF array of one entry
CALLS = {
    "bpf": lambda: os.close(sc(321, 0, array_map, 72)),
    "perf_event_open": lambda: os.close(sc(298, perf, 0, -1, -1, 0)),
    "userfaultfd": lambda: os.close(sc(323, 0)),
    "kexec_load": lambda: sc(246, 0, 0, 0, 0xffffffff),
    "kexec_file_load": lambda: sc(320, -1, -1, 0, 0, 0xffffffff),
    "init_module": lambda: sc(175, 0, 0, b""),
    "finit_module": lambda: sc(313, -1, b"", 0),
    "delete_module": lambda: sc(176, b"mai_nonexistent", 0x800),
    "add_key": lambda: sc(248, b"user", b"mai-test", b"x", 1, -2),
    "request_key": lambda: sc(249, b"user", b"mai-nonexistent", None, 0),
    "keyctl": lambda: sc(250, 0, -1, 1),
    "quotactl": lambda: sc(179, 0xffffff00, NOWHERE, 0, buffer),
    "quotactl_fd": lambda: sc(443, -1, 0xffffff00, 0, buffer),
    "swapon": lambda: sc(167, NOWHERE, 0),
    "swapoff": lambda: sc(168, NOWHERE),
    "mount": lambda: sc(165, NOWHERE, NOWHERE, b"tmpfs", 0, None),
    "umount2": lambda: sc(166, NOWHERE, 0),
    "pivot_root": lambda: sc(155, NOWHERE, NOWHERE),
    "chroot": lambda: sc(161, NOWHERE),
    "fsopen": lambda: os.close(sc(430, b"tmpfs", 0)),
    "fsconfig": lambda: sc(431, -1, 0, b"a", b"b", 0),
    "fsmount": lambda: sc(432, -1, 0, 0),
    "fspick": lambda: sc(433, -1, NOWHERE, 0),
    "open_tree": lambda: os.close(sc(428, -100, b"/", 1)),
    "move_mount": lambda: sc(429, -1, NOWHERE, -1, NOWHERE, 0),
    "mount_setattr": lambda: sc(442, -1, NOWHERE, 0, buffer, 32),
    "listmount": lambda: sc(458, buffer, buffer, 0, 0),
    "statmount": lambda: sc(457, buffer, buffer, 0, 0),
    "open_by_handle_at": lambda: sc(304, -1, buffer, 0),
    "reboot": lambda: sc(169, 0, 0, 0, None),
    "sethostname": lambda: sc(170, b"x", -1),
    "setdomainname": lambda: sc(171, b"x", -1),
    "iopl": lambda: sc(172, 0),
    "ioperm": lambda: sc(173, 0, 1, 0),
    "acct": lambda: sc(163, NOWHERE),
    "clock_settime": lambda: sc(227, 99, buffer),
    "syslog": lambda: sc(103, 10, None, 0),
    "fanotify_init": lambda: os.close(sc(300, 0, 0)),
    "memfd_secret": lambda: os.close(sc(447, 0)),
    "kcmp": lambda: sc(312, os.getpid(), os.getpid(), 0, 0, 1),
    "lookup_dcookie": lambda: sc(212, 0, buffer, 0),
    "setns": lambda: sc(308, -1, 0),
    "migrate_pages": lambda: sc(256, os.getpid(), 0, None, None),
    "move_pages": lambda: sc(279, os.getpid(), 0, None, None, None, 0),
    "modify_ldt": lambda: sc(154, 0, buffer, 16),
    "process_madvise": lambda: sc(440, -1, buffer, 0, 0, 0),
}
for name, call in CALLS.items():
    child_probe(name, call)
report["names"] = list(CALLS)
finish()
'''


@case()
def calls_nobody_needs(t):
    attack.need_x86(t)
    names = [line.split('"')[1] for line in GUEST.splitlines() if line.startswith('    "')]
    attack.attack(t, GUEST, {name: name for name in names}, defences=["seccomp"], wrap=attack.APART)


@case()
def numbers_of_the_future(t):
    """Numbers that no table knows answer ENOSYS, so that libraries fall back."""
    guest = r'''
for number in (463, 468, 500, 1000, 5000, 2**30 - 1):
    probe(str(number), lambda: sc(number, 0, 0, 0, 0, 0, 0))
finish()
'''
    attack.need_x86(t)
    report, _ = attack.inside(t, guest)
    wrong = {number: seen for number, seen in report.items() if seen not in ("ENOSYS", "EPERM")}
    t.tried(f"call numbers beyond the table: {report}")
    if wrong:
        raise AssertionError(f"unknown numbers were let through: {wrong}")
