# SPDX-License-Identifier: Apache-2.0
"""Class 34: the program returns our own exit statuses: the result still says `failed`."""

from lib.case import case, equal


@case()
def statuses_of_ours(t):
    for status in (2, 124, 125, 126, 127, 137):
        answer = t.run(f"raise SystemExit({status})")
        seen = (answer.status, answer.exit, answer.result["exit_code"], answer.result["signal"], answer.kind)
        equal(seen, ("failed", status, status, None, None), f"a program that exits with {status}")
    answer = t.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    equal((answer.status, answer.result["signal"], answer.kind), ("failed", "SIGKILL", None),
          "a program killed by itself")
    t.tried("exit with 2, 124, 125, 126, 127, 137 and SIGKILL: all `failed`, no violation, no error")
