# SPDX-License-Identifier: Apache-2.0
"""Class 30: a grandchild that keeps standard output open: the answer comes when the program ends, not at end of file."""

import subprocess
import time

from lib import attack, host
from lib.case import PYTHON, case, check, equal

GUEST = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20); print('late')", sys.argv[1]],
                 start_new_session=True)
print("early", flush=True)
"""


@case()
def grandchild(t):
    marker = attack.unique(t, "held")
    answer = t.run(GUEST, [marker])
    equal((answer.status, answer.text), ("ok", "early\n"), "status and output")
    check(answer.result["usage"]["wall"] < 15 and answer.active < 15, "waited for the grandchild", answer)
    equal(host.processes_with(marker), [], "grandchildren left")
    start = time.monotonic()
    path = t.write("control/main.py", GUEST.replace("time.sleep(20)", "time.sleep(3)"))
    subprocess.run([PYTHON, path, marker], stdout=subprocess.PIPE, check=True)
    check(time.monotonic() - start >= 2.5, "control: on the host a reader waits for the grandchild")
    t.tried(f"a grandchild holds stdout for 20 s: answer after {answer.active:.2f} s (a plain reader waits)")


@case()
def grandchild_that_floods_after_the_end(t):
    """What a survivor writes after the program's end must not hold up the answer either."""
    answer = t.run("import os\nif os.fork() == 0:\n os.setsid()\n while True: os.write(1, b'x' * 4096)\n",
                   policy="output_limit: 1m\n")
    check(answer.status in ("ok", "limit"), "status", answer)
    check(answer.active < 15, "held up", answer.active)
    host.assert_gone(answer)
    t.tried(f"a grandchild writes for ever: {answer.status} after {answer.active:.2f} s")
