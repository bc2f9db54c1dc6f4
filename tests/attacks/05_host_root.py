# SPDX-License-Identifier: Apache-2.0
"""Class 5: the host's root mapped into the sandbox's user namespace, or reachable from it."""

import subprocess

from lib import attack, host
from lib.case import PYTHON, case, check

MAPS = r'''
for name in ("uid_map", "gid_map"):
    report[name] = [[int(n) for n in line.split()] for line in open(f"/proc/self/{name}")]
report["ids"] = list(os.getresuid() + os.getresgid()) + os.getgroups()
finish()
'''


def maps_host_root(report):
    """Whether id 0 of the parent namespace lies in a mapped range."""
    return any(outside <= 0 < outside + count for name in ("uid_map", "gid_map")
               for _, outside, count in report[name])


@case()
def id_maps(t):
    report, answer = attack.inside(t, MAPS)
    t.tried(f"read uid_map and gid_map: {report['uid_map']} {report['gid_map']}")
    check(report["uid_map"] and report["gid_map"], "no map at all", report)
    if t.holds("unmapped_root"):
        check(not maps_host_root(report), "the host's root is mapped", report)
    check(0 not in report["ids"], "an id of root inside", report)
    check(answer.result["security"]["host_uid"] not in (0, None), "host_uid in the result",
          answer.result["security"])
    t.need_program("unshare")
    control = attack.on_host(t, MAPS, wrap=["unshare", "--user", "--map-root-user"])
    check(maps_host_root(control), "control: a namespace that maps root is recognised", control)


@case()
def becoming_root(t):
    guest = r'''
child_probe("setuid", os.setuid, 0)
child_probe("setresuid", os.setresuid, 0, 0, 0)
child_probe("setgid", os.setgid, 0)
child_probe("setgroups", os.setgroups, [0])
child_probe("setfsuid", lambda: (sc(122, 0), sc(122, 0) == 0 or os.setuid(0)))
def write_map():
    pid = os.getpid()
    with open(f"/proc/{pid}/uid_map", "w") as file:
        file.write("0 0 1")
child_probe("uid_map", write_map)
finish()
'''
    # The host lets root do all but the last, whose map is already written there (EPERM): not part of the list.
    attack.attack(t, guest, {"setuid": "setuid(0)", "setresuid": "setresuid(0, 0, 0)", "setgid": "setgid(0)",
                             "setgroups": "setgroups([0])", "setfsuid": "setfsuid(0)"},
                  refused={"": {"EPERM", "EINVAL", "ENOSYS"}})


@case()
def seen_from_the_host(t):
    """The kernel's own account, from outside: the process belongs to nobody's uid, and never to root."""
    marker = attack.unique(t, "uid")
    process = t.sandbox.start(t.sandbox.command("import time; time.sleep(20)", [marker], json_output=False))
    try:
        program = t.program.encode()
        pid = host.wait_until(lambda: [p for p in host.processes_with(marker)
                                       if not host.read(f"/proc/{p}/cmdline").startswith(program)
                                       and b"python" in host.read(f"/proc/{p}/cmdline")],
                              what="the guest")[0]
        status = host.read(f"/proc/{pid}/status").decode()
        uids = status.split("Uid:")[1].split("\n")[0].split()
        groups = status.split("Groups:")[1].split("\n")[0].split()
        t.tried(f"look at the guest from the host: uids {uids}, groups {groups} (plain python3 shows 0)")
        check("0" not in uids, "the guest runs as the host's root", status)
        check("0" not in groups, "the guest is in root's group", status)
    finally:
        process.kill()
        process.communicate()
    with subprocess.Popen([PYTHON, "-c", "import time; time.sleep(20)", marker]) as control:
        status = host.read(f"/proc/{control.pid}/status").decode()
        control.kill()
    t.need_root()
    check("0" in status.split("Uid:")[1].split("\n")[0].split(), "control: a plain python3 shows root's uid")
