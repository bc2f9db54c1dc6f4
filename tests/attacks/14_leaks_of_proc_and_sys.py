# SPDX-License-Identifier: Apache-2.0
"""Class 14: what /proc and /sys tell about the machine and its other users."""

import subprocess

from lib import attack
from lib.case import PYTHON, case, check

FILES = r'''
def kallsyms():
    if not any(int(line.split()[0], 16) for line in read_some("/proc/kallsyms", 1 << 16).decode().splitlines()[:-1]):
        raise OSError(errno.ENODATA, "all zero")
probe("/proc/kallsyms", kallsyms)
for path in sys.argv[1:]:
    if os.path.isdir(path):
        probe(path, lambda: os.listdir(path) or os.stat("/nonexistent"))
    else:
        probe(path, read_some, path)
finish()
'''
PATHS = ["/proc/keys", "/proc/timer_list", "/proc/kcore", "/proc/kpagecount", "/proc/config.gz",
         "/proc/iomem",
         "/proc/ioports", "/proc/interrupts", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/sysvipc/shm",
         "/proc/irq",
         "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi", "/proc/key-users", "/proc/partitions",
         "/proc/diskstats",
         "/proc/modules", "/sys/class", "/sys/devices/virtual", "/sys/devices/pci0000:00",
         "/sys/devices/system/node", "/sys/devices/system/cpu/cpu0", "/sys/firmware", "/sys/kernel", "/sys/class/dmi/id",
         "/sys/fs/cgroup", "/sys/kernel/debug", "/proc/asound", "/proc/driver"]
# Open in every container of the field, without names of others in them; listed so that the choice is visible.
HARMLESS = {"/proc/partitions", "/proc/diskstats", "/proc/modules", "/proc/fs", "/proc/sysvipc/shm",
            "/proc/driver",
            "/proc/iomem", "/proc/ioports", "/proc/interrupts"}


@case()
def files_about_the_machine(t):
    paths = [path for path in PATHS if path not in HARMLESS]
    if not t.holds("no_cgroup"):
        paths.remove("/sys/fs/cgroup")
    attack.attack(t, FILES, {path: f"read {path}" for path in [*paths, "/proc/kallsyms"]}, args=paths,
                  refused={"": "*"}, defences=["proc-mask"])


@case()
def processes_of_the_machine(t):
    guest = r'''
report["pids"] = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
report["cgroup"] = open("/proc/self/cgroup").read().splitlines()
report["mounts"] = open("/proc/self/mountinfo").read()
report["hostname"] = os.uname().nodename
finish()
'''
    canary = attack.unique(t, "mount")
    t.need_program("unshare")
    # A mount namespace of the case's own holds a mount with a telling name: the machine's mounts are not touched.
    (t.tmp / "canary").mkdir()
    world = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs {canary} "$1" && shift && exec "$@"', "sh",
             str(t.tmp / "canary")]
    t.need_root()
    command = t.sandbox.command(attack.PRELUDE + guest, json_output=False)
    done = subprocess.run([*world, *command], capture_output=True, env=t.sandbox.environment(), timeout=50,
                          check=False)
    report = attack.parse(done.stdout, done)
    path = t.write("mounts.py", attack.PRELUDE + guest)
    control = attack.parse(subprocess.run([*world, PYTHON, path], capture_output=True, timeout=50,
                                          check=True).stdout, "")
    t.tried(f"list /proc: pids {report['pids']} (host: {len(control['pids'])}); look for the host's mount {canary} in "
            f"mountinfo: {'seen' if canary in report['mounts'] else 'not seen'} (seen from the host); "
            f"/proc/self/cgroup: {report['cgroup'][:2]}")
    check(canary in control["mounts"], "control: the canary mount is seen on the host")
    check(canary not in report["mounts"], "a mount of the host is visible", report["mounts"])
    check(str(t.tmp) not in report["mounts"], "a path of the caller is in mountinfo", report["mounts"])
    check(len(report["pids"]) <= 3 and max(report["pids"]) < 100, "processes of others are visible",
          report["pids"])
    check(all("mai-sandbox" not in line for line in report["cgroup"]), "the cgroup's path is visible",
          report["cgroup"])
    check(report["hostname"] != control["hostname"], "the host's name is visible", report["hostname"])


@case()
def settings_of_the_kernel(t):
    """Nothing under /proc/sys can be opened for writing (nothing is written on the host either)."""
    guest = r'''
count, open_for_writing = 0, []
for directory, _, names in os.walk("/proc/sys"):
    for name in names:
        path = os.path.join(directory, name)
        count += 1
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            open_for_writing.append(path)
        except OSError:
            pass
report.update(count=count, writable=open_for_writing[:20], number=len(open_for_writing))
finish()
'''
    report, _ = attack.inside(t, guest)
    control = attack.on_host(t, guest)
    t.tried(f"open each of {report['count']} files of /proc/sys for writing: {report['number']} opened "
            f"({control['number']} on the host)")
    check(report["number"] == 0, "settings of the kernel can be opened for writing", report)
    check(control["number"] > 100, "control: on the host they can", control)
