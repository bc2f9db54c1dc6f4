# SPDX-License-Identifier: Apache-2.0
"""The supervisor dies by SIGKILL at any moment: everything of the run is gone, at the latest after `prune`."""

import random
import signal
import time

from lib import attack, host
from lib.case import case, check, equal


def kill_at(t, delay, marker):
    program = "import os, time\nfor _ in range(3):\n if os.fork() == 0: break\nopen('f', 'w').write('x')\ntime.sleep(60)"
    process = t.sandbox.start(t.sandbox.command(program, [marker], json_output=False))
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()


@case(limit=240, exclusive=True)
def at_any_moment(t):
    before = host.snapshot(t.program)
    marker = attack.unique(t, "torture")
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    t.note(f"seed {seed}")
    for turn in range(60):
        kill_at(t, chance.uniform(0, 0.12) if turn % 10 else 0.4, marker)
    host.wait_until(lambda: not host.processes_with(marker), seconds=20, what="the death of all programs")
    answer = t.sandbox.call([t.program, "prune"])
    equal(answer.exit, 0, f"prune: {answer.err!r}")
    host.assert_same_after(before, t.program)
    equal(t.run("print(1)").status, "ok", "the next run")


@case(limit=120, exclusive=True)
def next_run_clears_up(t):
    """Without `prune` too: the next run finds the dead record and removes what is left."""
    before = host.snapshot(t.program)
    marker = attack.unique(t, "torture")
    for _ in range(5):
        kill_at(t, 0.3, marker)
    host.wait_until(lambda: not host.processes_with(marker), seconds=20, what="the death of all programs")
    equal(t.run("print(1)").status, "ok", "the next run")
    host.assert_same_after(before, t.program)


@case(limit=120, exclusive=True)
def prune_spares_the_living(t):
    marker = attack.unique(t, "alive")
    process = t.sandbox.start(t.sandbox.command("import time; print('up', flush=True); time.sleep(3); print('end')",
                                                [marker], json_output=False))
    try:
        equal(process.stdout.readline(), b"up\n", "the first line")
        for _ in range(3):
            equal(t.sandbox.call([t.program, "prune"]).exit, 0, "prune beside a living run")
        out, err = process.communicate(timeout=40)
        equal((process.returncode, out), (0, b"end\n"), f"the living run, after prune: {err!r}")
    finally:
        process.kill()
        process.wait()


@case(limit=120, exclusive=True)
def prune_with_nothing_to_do(t):
    t.sandbox.call([t.program, "prune"])
    before = host.snapshot(t.program)
    answer = t.sandbox.call([t.program, "prune"])
    equal(answer.exit, 0, "prune")
    host.assert_same_after(before, t.program)


@case(limit=180, exclusive=True)
def killed_process_group(t):
    """The launcher dies together with the supervisor, as when a terminal's whole group is killed."""
    import os
    before = host.snapshot(t.program)
    marker = attack.unique(t, "group")
    for delay in (0.01, 0.03, 0.06, 0.1, 0.3):
        process = t.sandbox.start(t.sandbox.command("import time; time.sleep(60)", [marker],
                                                    json_output=False),
                                  start_new_session=True)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    host.wait_until(lambda: not host.processes_with(marker), seconds=20, what="the death of all programs")
    equal(t.sandbox.call([t.program, "prune"]).exit, 0, "prune")
    host.assert_same_after(before, t.program)
    check(t.run("print(1)").status == "ok", "the next run")
