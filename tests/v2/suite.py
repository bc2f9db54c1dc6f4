#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
The part of the black-box suites that a slow guest can judge: tests/v2/suite.py root|user [FILTER...]. It is
tests/run.py with more patience and without the cases that measure time or need libraries that the guest lacks.
"""

import os
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import run  # noqa: E402
from lib import host, sandbox  # noqa: E402

# An emulated processor is about that much slower.
PATIENCE = 15

# Parts of names -> why not here.
NOT_HERE = {
    "libraries:": "needs numpy, pandas and matplotlib",
    "torture/": "measures a thousand runs",
    "admission:": "measures time",
    "20_traces_for_the_next_run:side_by_side": "measures time",
    "22_bombs:fork_bomb": "measures time",
    "23_children_that_stay:": "measures time",
    "24_orphans:": "measures time",
    "25_signals:": "measures time",
    "26_cpu:": "measures time",
    "limits:timeout": "measures time",
    "output:collected_after_a_limit": "measures time",
    "terminal:": "measures time",
}
NOT_HERE_AS_USER = {}


def more_patience():
    call = sandbox.Sandbox.call

    def patient(self, command, *, patience=50, **how):
        return call(self, command, patience=patience, **how)  # subprocess.run() below is what waits

    sandbox.Sandbox.call = patient
    if "XDG_RUNTIME_DIR" in os.environ:  # an ordinary user's login sets it
        sandbox.CALLER_ENVIRONMENT["XDG_RUNTIME_DIR"] = os.environ["XDG_RUNTIME_DIR"]
    spawn = subprocess.run

    def patient_spawn(*args, timeout=None, **how):
        return spawn(*args, timeout=timeout and timeout * PATIENCE, **how)

    subprocess.run = patient_spawn
    wait_until = host.wait_until

    def patient_wait(condition, seconds=10.0, what="condition"):
        return wait_until(condition, seconds * PATIENCE, what)

    host.wait_until = patient_wait
    original = run.Case.__init__

    def patient_case(self, name, function):
        original(self, name, function)
        self.limit *= PATIENCE

    run.Case.__init__ = patient_case


def main():
    who, *filters = sys.argv[1:]
    left_out = {**NOT_HERE, **(NOT_HERE_AS_USER if who == "user" else {})}
    for one in run.discover():
        for part, reason in left_out.items():
            if part in one.name:
                run.EXCEPTIONS["native"][one.name] = reason
    more_patience()
    sys.argv[1:] = ["-j", "2", *filters] if filters else ["-j", "2", "conformance/", "attacks/"]
    return run.main()


if __name__ == "__main__":
    sys.exit(main())
