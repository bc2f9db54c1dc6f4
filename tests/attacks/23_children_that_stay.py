# SPDX-License-Identifier: Apache-2.0
"""Class 23: children that leave session and parent behind to outlive the program or its time limit."""

import os
import signal
import subprocess

from lib import attack, host
from lib.case import PYTHON, case, check, equal

GUEST = """
import os, signal, sys, time
for way in range(3):
    if os.fork() == 0:
        os.setsid()
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        if os.fork() == 0:
            null = os.open("/dev/null", os.O_RDWR)
            if way:
                for fd in (0, 1, 2):
                    os.dup2(null, fd)
            time.sleep(600)
        os._exit(0)
time.sleep(float(sys.argv[2]))
"""


def stays(marker):
    return [pid for pid in host.processes_with(marker) if b"main.py" in host.read(f"/proc/{pid}/cmdline")]


@case()
def past_the_end(t):
    marker = attack.unique(t, "stay")
    answer = t.run(GUEST, [marker, "0.3"])
    equal(answer.status, "ok", "status of the program itself")
    equal(host.processes_with(marker), [], "processes that outlived the program")
    check(answer.active < 20, "the answer waited for the children", answer.active)
    host.assert_gone(answer)
    path = t.write("control/main.py", GUEST)
    subprocess.run([PYTHON, path, marker, "0.3"], stdout=subprocess.DEVNULL, check=True)
    left = stays(marker)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    equal(len(left), 3, "control: processes that outlive the program on the host")
    t.tried("setsid and double-fork past the program's end: none left (3 on the host)")


@case()
def past_the_time_limit(t):
    marker = attack.unique(t, "stay")
    answer = t.run(GUEST, [marker, "600"], options=["--timeout", "1"])
    equal(answer.kind, "timeout", "what ended it")
    equal(host.processes_with(marker), [], "processes that outlived the limit")
    check(answer.result["usage"]["wall"] - 1 < 0.1, "more than 100 ms over the limit",
          answer.result["usage"])
    host.assert_gone(answer)
    t.tried("the same past the time limit: none left")
