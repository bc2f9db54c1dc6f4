# SPDX-License-Identifier: Apache-2.0
"""Class 3: files of /proc through which the whole machine is changed; the mask itself swapped (CVE-2025-31133)."""

import pathlib

from lib import attack
from lib.case import case, check, equal

# Opened for writing and closed: on the host too, so nothing is ever written.
OPEN = r'''
for path in sys.argv[1:]:
    probe(path, lambda: os.close(os.open(path, os.O_WRONLY)))
finish()
'''
FILES = ["/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
         "/proc/sys/vm/panic_on_oom",
         "/proc/sys/kernel/hostname", "/proc/sys/fs/binfmt_misc/register", "/proc/irq/default_smp_affinity",
         "/proc/sys/kernel/ns_last_pid", "/proc/sys/net/ipv4/ip_forward"]


@case()
def writable_kernel_settings(t):
    core_pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text()
    attack.attack(t, OPEN, {path: f"open {path} for writing" for path in FILES}, args=FILES,
                  refused={"": {"EACCES", "EROFS", "EPERM", "ENOENT"}}, defences=["proc-mask"])
    equal(pathlib.Path("/proc/sys/kernel/core_pattern").read_text(), core_pattern, "core_pattern changed")


@case()
def swapped_mask(t):
    """Whatever lies over a masked file must be the real null device or an empty directory, and not removable."""
    guest = r'''
import stat
report["masks"] = {}
for path in ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/kallsyms",
             "/proc/sysrq-trigger", "/proc/acpi", "/proc/scsi", "/proc/firmware"]:
    try:
        found = os.stat(path)
    except OSError as error:
        report["masks"][path] = word(error)
        continue
    if stat.S_ISCHR(found.st_mode):
        report["masks"][path] = [os.major(found.st_rdev), os.minor(found.st_rdev)]
    elif stat.S_ISDIR(found.st_mode):
        report["masks"][path] = f"directory of {len(os.listdir(path))}" if os.access(path, os.R_OK) else "closed"
    else:
        try:
            with open(path, "rb") as file:
                report["masks"][path] = f"file, {len(file.read(100))} bytes"
        except OSError as error:
            report["masks"][path] = word(error)
null = os.stat("/dev/null")
report["null"] = [stat.S_ISCHR(null.st_mode), os.major(null.st_rdev), os.minor(null.st_rdev)]
probe("replace_null", os.unlink, "/dev/null")
probe("umount", lambda: sc(166, b"/proc/kcore", 2))
finish()
'''
    report, _ = attack.inside(t, guest)
    t.tried(f"look behind the masks: {report['masks']}; remove /dev/null: {report['replace_null']}; "
            f"umount2: {report['umount']}")
    equal(report["null"], [True, 1, 3], "/dev/null inside")
    for path, seen in report["masks"].items():
        check(seen in ([1, 3], "directory of 0", "closed", "EACCES", "EPERM", "ENOENT", "file, 0 bytes"),
              f"{path} shows something", seen)
    check(report["replace_null"] != "done" and report["umount"] != "done", "a mask can be removed", report)
    control = attack.on_host(t, guest.replace('probe("replace_null"', "#").replace('probe("umount"', "#"))
    check(any(isinstance(seen, str) and seen.startswith("file, 100") for seen in control["masks"].values()),
          "control: the host's own /proc shows something there", control)
