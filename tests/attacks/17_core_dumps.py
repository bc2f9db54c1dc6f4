# SPDX-License-Identifier: Apache-2.0
"""Class 17: core dumps. A piped handler of the host runs as root outside every namespace; the limit of 1 stops it."""

import pathlib
import subprocess

from lib import attack, host
from lib.case import PYTHON, case, check, equal

CRASH = "import ctypes; ctypes.string_at(0)"


def cores(directory):
    return [path.name for path in pathlib.Path(directory).rglob("core*")]


@case()
def crash_leaves_nothing(t):
    out = t.tmp / "out"
    answer = t.run(CRASH, options=["--output-dir", str(out)], cwd=t.tmp)
    equal((answer.status, answer.result["signal"]), ("failed", "SIGSEGV"), "a crash of the program itself")
    equal(answer.exit, 139, "exit status of a crash")
    check(not cores(out) and not cores(t.tmp) and not answer.result["files"], "a core was left",
          cores(t.tmp))
    t.tried("crash with SIGSEGV: no core in the working directory or on the host")
    pattern = host.read("/proc/sys/kernel/core_pattern").decode().strip()
    if pattern.startswith(("|", "/")):
        t.note(f"control not possible: core_pattern is {pattern}")
        return
    crash = t.tmp / "control"
    crash.mkdir()
    subprocess.run(["sh", "-c", f'ulimit -c unlimited; exec {PYTHON} -c "{CRASH}"'], cwd=crash,
                   capture_output=True,
                   check=False)
    check(cores(crash), "control: the same crash on the host leaves a core")


@case()
def limit_stays_at_one(t):
    """0 would be ignored for piped handlers; the limit is 1, and can be neither raised nor lowered."""
    guest = r'''
import resource
report["limit"] = list(resource.getrlimit(resource.RLIMIT_CORE))
def change(soft, hard):
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
child_probe("lower", change, 0, 0)
child_probe("lower soft", change, 0, 1)
child_probe("raise", change, 1 << 20, 1 << 20)
child_probe("setrlimit", lambda: sc(160, 4, (ctypes.c_uint64 * 2)(0, 0)))
child_probe("prlimit64", lambda: sc(302, 0, 4, (ctypes.c_uint64 * 2)(0, 0), None))
child_probe("high half", lambda: sc(302, 0, (1 << 32) | 4, (ctypes.c_uint64 * 2)(0, 0), None))
finish()
'''
    report, _ = attack.attack(
        t, guest, {"lower": "lower the core limit to 0", "lower soft": "lower the soft limit",
                   "raise": "raise it",
                   "setrlimit": "the raw setrlimit", "prlimit64": "the raw prlimit64",
                   "high half": "its number beside high bits"},
        refused={"": attack.REFUSED | {"EINVAL", "ValueError"}}, defences=["rlimit-core", "seccomp"])
    equal(report["limit"], [1, 1], "RLIMIT_CORE inside")
