# SPDX-License-Identifier: Apache-2.0
"""Class 24: a thousand orphans: reaped by the sandbox's init, while the program's own status is kept."""

from lib import attack
from lib.case import case, check, equal

GUEST = r'''
import time
for _ in range(1000):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os._exit(9)
        os._exit(3)
    os.waitpid(pid, 0)
def zombies():
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                count += open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                pass
    return count
for _ in range(100):
    report["zombies"] = zombies()
    if not report["zombies"]:
        break
    time.sleep(0.02)
finish()
sys.exit(7)
'''


@case(limit=180)
def thousand(t):
    report, answer = attack.inside(t, GUEST, options=["--pids", "16", "--cpus", "1"], trust="trusted", patience=140)
    equal((answer.status, answer.exit, report["zombies"]), ("failed", 7, 0),
          "status, exit status and zombies left")
    check(answer.result["usage"]["pids_peak"] <= 16, "processes at once", answer.result["usage"])
    # The control: under an init that does not reap, the orphans stay. `cat` as PID 1 is such a one; it ends with them.
    t.need_root()
    control = attack.on_host(t, GUEST.replace("range(1000)", "range(20)"),
                             wrap=["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                                   'mkfifo pipe && { "$0" "$@" >pipe & exec cat pipe; }'])
    equal(control["zombies"], 20, "control: zombies under a PID 1 that does not reap")
    t.tried("1000 orphans: 0 zombies, exit status 7 kept (20 of 20 stay under a PID 1 that does not reap)")
