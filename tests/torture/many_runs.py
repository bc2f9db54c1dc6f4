# SPDX-License-Identifier: Apache-2.0
"""Run after run, and many at once: descriptors, mounts, groups, processes and records are back where they were."""

import concurrent.futures
import os

from lib import host
from lib.case import case, check, equal

PROGRAMS = (
    ("print('x')", (), "ok", 0),
    ("import sys; sys.exit(3)", (), "failed", 3),
    ("import os\nos.fork()\nopen(str(os.getpid()), 'w').write('x')", (), "ok", 0),
    ("import time; time.sleep(60)", ("--timeout", "0.2"), "limit", 124),
    ("x = []\nwhile True: x.append(bytearray(1 << 20))", ("--memory", "48m"), "limit", 137),
    ("import os; os.kill(os.getpid(), 9)", (), "failed", 137),
    ("import subprocess; subprocess.Popen(['sleep', '60'])", (), "ok", 0),
    ("def broken(", (), "failed", 1),
)


def one(t, number):
    program, options, status, exit_status = PROGRAMS[number % len(PROGRAMS)]
    answer = t.run(program, options=options)
    return (answer.status, answer.exit) == (status, exit_status), number, answer


@case(limit=400, exclusive=True)
def two_hundred_in_a_row(t):
    t.run("print('first')")  # what is made once, such as the state directory, is there
    before = host.snapshot(t.program)
    descriptors = len(os.listdir("/proc/self/fd"))
    for number in range(200):
        good, _, answer = one(t, number)
        check(good, f"run {number}", answer)
        host.assert_gone(answer)
    equal(len(os.listdir("/proc/self/fd")), descriptors, "descriptors of this process")
    host.assert_same_after(before, t.program)


@case(limit=300, exclusive=True)
def eight_at_a_time(t):
    t.run("print('first')")
    before = host.snapshot(t.program)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda number: one(t, number), range(80)))
    wrong = [(number, answer) for good, number, answer in outcomes if not good]
    check(not wrong, f"{len(wrong)} of 80 runs went wrong; the first, {wrong[0][0] if wrong else None}",
          wrong[:1])
    identities = [answer.result["id"] for _, _, answer in outcomes]
    equal(len(set(identities)), 80, "different ids")
    for _, _, answer in outcomes:
        host.assert_gone(answer)
    host.assert_same_after(before, t.program)


@case(limit=120, exclusive=True)
def descriptors_of_a_run(t):
    """The supervisor itself opens no more as a run goes on: looked at twice within one."""
    process = t.sandbox.start(t.sandbox.command("import time\nfor n in range(40):\n print(n, flush=True); time.sleep(0.05)\n"
                                                "time.sleep(2)", json_output=False))
    try:
        process.stdout.readline()
        first = len(os.listdir(f"/proc/{process.pid}/fd"))
        for _ in range(38):
            process.stdout.readline()
        second = len(os.listdir(f"/proc/{process.pid}/fd"))
        check(second <= first + 2 and second < 80, "descriptors of the supervisor", first, second)
        equal(process.wait(timeout=30), 0, "exit status")
    finally:
        process.kill()
        process.communicate()


@case(limit=60, exclusive=True)
def what_a_living_run_shows(t):
    """The control of this suite: while a run lives, every account of the host that we compare shows it."""
    before = host.snapshot(t.program)
    process = t.sandbox.start(t.sandbox.command("print('up', flush=True); import time; time.sleep(30)",
                                                json_output=False))
    try:
        equal(process.stdout.readline(), b"up\n", "the first line")
        shown = host.difference(before, t.program)
    finally:
        process.terminate()
        process.communicate(timeout=30)
    expected = {"guests", "supervisors", "cgroups", "net namespaces", "user namespaces", "state records"}
    check(expected <= set(shown), "a living run is not noticed", shown)
    host.assert_same_after(before, t.program)
