# SPDX-License-Identifier: Apache-2.0
"""Class 15: a writable cgroup file system, release_agent, leaving one's group."""

from lib import attack
from lib.case import case, check

GUEST = r'''
kinds = [line.split()[2] for line in open("/proc/self/mounts")]
probe("mounted", lambda: None if {"cgroup", "cgroup2"} & set(kinds) else os.stat("/nonexistent"))
def find(name, mode):
    for directory, _, names in os.walk("/sys/fs/cgroup"):
        if name in names:
            try:
                return os.close(os.open(os.path.join(directory, name), mode))
            except OSError:
                pass
    os.stat("/nonexistent")
probe("release_agent", find, "release_agent", os.O_WRONLY)
probe("cgroup.procs", find, "cgroup.procs", os.O_WRONLY)
child_probe("mount v1", lambda: (os.makedirs("m", exist_ok=True), sc(165, b"none", b"m", b"cgroup", 0, b"memory"), sc(166, b"m", 2)))
child_probe("mount v2", lambda: (os.makedirs("m", exist_ok=True), sc(165, b"none", b"m", b"cgroup2", 0, None), sc(166, b"m", 2)))
finish()
'''


@case()
def no_cgroup_file_system(t):
    attack.need_x86(t)
    t.need_root()
    tries = {"mounted": "find a mounted cgroup file system", "release_agent": "open a release_agent for writing",
             "cgroup.procs": "open a cgroup.procs for writing", "mount v1": "mount cgroup v1", "mount v2": "mount cgroup v2"}
    if not t.holds("none_mounted"):
        del tries["mounted"]
    report, _ = attack.attack(
        t, GUEST, tries,
        refused={"": attack.REFUSED | {"ENOENT", "EROFS"}}, wrap=["unshare", "--mount", "--cgroup"])
    check("mounted" in report, "no report", report)
