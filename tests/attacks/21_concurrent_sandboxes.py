# SPDX-License-Identifier: Apache-2.0
"""Class 21: another sandbox that runs at the same time: its processes, signals to them, its uid."""

from lib import attack, host
from lib.case import case, check, equal

GUEST = r'''
report["pids"] = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
alive = []
for pid in range(1, 33000):
    try:
        os.kill(pid, 0)
        alive.append(pid)
    except ProcessLookupError:
        pass
    except PermissionError:
        alive.append(-pid)
report["alive"] = alive
report["cmdlines"] = []
for pid in report["pids"]:
    try:
        report["cmdlines"].append(open(f"/proc/{pid}/cmdline").read())
    except OSError:
        pass
try:
    os.kill(-1, signal.SIGKILL)
except ProcessLookupError:
    pass
finish()
'''


@case(exclusive=True)
def neighbours(t):
    marker = attack.unique(t, "neighbour")
    events = t.sandbox.command("import time, sys; print('up'); time.sleep(3); print('survived')", [marker],
                               events=True, options=["--cpus", "0.5"])
    process = t.sandbox.start(events)
    try:
        host.wait_until(lambda: [p for p in host.processes_with(marker) if p != process.pid
                                 and b"main.py" in host.read(f"/proc/{p}/cmdline")], what="the neighbour")
        report, answer = attack.inside(t, GUEST, options=["--cpus", "0.5"])
        out, _ = process.communicate(timeout=40)
    finally:
        process.kill()
        process.wait()
    import json
    neighbour = json.loads(out.decode().splitlines()[-1])["result"]
    check(marker not in "".join(report["cmdlines"]), "the neighbour's process is visible", report)
    check(len(report["alive"]) <= 4, "signals reach processes of others", report["alive"][:20])
    equal((neighbour["status"], neighbour["stdout"]), ("ok", "up\nsurvived\n"),
          "the neighbour, after kill(-1, SIGKILL)")
    mine, theirs = answer.result["security"], neighbour["security"]
    check(mine["host_uid"] != theirs["host_uid"], "two sandboxes share a host uid", mine["host_uid"])
    same = [kind for kind, inode in mine["namespaces"].items() if theirs["namespaces"].get(kind) == inode]
    if not t.holds("user_namespace"):
        same.remove("user")
    check(not same, "two sandboxes share a namespace", same)
    control = len([pid for pid in host.pids() if pid < 33000])
    t.tried(f"signal every pid up to 33000: {report['alive']} answered ({control} on the host); kill(-1, SIGKILL): the "
            f"neighbour survived; host uids {mine['host_uid']} and {theirs['host_uid']}")
