# SPDX-License-Identifier: Apache-2.0
"""The launcher or the init is stopped or killed while a program runs: an answer in time, and nothing left."""

import os
import signal
import time

from lib import attack, host
from lib.case import case, check, equal


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def disturb(t, number, generation):
    """The answer of a run whose launcher (1) or init (2) gets a signal, and the seconds from there to its end."""
    marker = attack.unique(t, "parts")
    process = t.sandbox.start(t.sandbox.command("import time; print('up', flush=True); time.sleep(60)", [marker],
                                                options=["--timeout", "2"], json_output=False))
    equal(process.stdout.readline(), b"up\n", "the first line")
    victim = process.pid
    for _ in range(generation):
        victim = children(victim)[0]
    begun = time.monotonic()
    os.kill(victim, number)
    try:
        process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    host.wait_until(lambda: not host.processes_with(marker), seconds=10, what="the death of the program")
    return process.returncode, time.monotonic() - begun


@case(limit=120, exclusive=True)
def stopped_or_killed(t):
    t.need_root()
    before = host.snapshot(t.program)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for generation, what in ((1, "launcher"), (2, "init")):
            status, seconds = disturb(t, number, generation)
            expected = 124 if number == signal.SIGSTOP else 125
            equal(status, expected, f"{number.name} to the {what}: exit status")
            check(seconds < 10, f"{number.name} to the {what}: {seconds:.1f} s until the answer")
    t.sandbox.call([t.program, "prune"])
    host.assert_same_after(before, t.program)
