# SPDX-License-Identifier: Apache-2.0
"""Class 10: typing into the caller's terminal, TIOCSTI and TIOCLINUX on an inherited one (CVE-2017-5226)."""

from lib import attack
from lib.case import PYTHON, case, check
from lib.terminal import on_terminal

GUEST = r'''
import fcntl
def tty():
    os.close(os.open("/dev/tty", os.O_RDWR))
probe("open /dev/tty", tty)
for path in ("/dev/console", "/dev/ptmx", "/dev/pts/0", "/dev/tty0", "/dev/tty1"):
    probe(f"open {path}", lambda: os.close(os.open(path, os.O_RDWR | os.O_NOCTTY)))
for fd in (0, 1, 2):
    probe(f"TIOCSTI on {fd}", fcntl.ioctl, fd, 0x5412, b"x")
    probe(f"TIOCLINUX on {fd}", fcntl.ioctl, fd, 0x541c, b"\x03")
report["isatty"] = [os.isatty(fd) for fd in (0, 1, 2)]
os.write(2, json.dumps(report).encode() + b"\n")
finish()
'''


def refused(t, shown, typed):
    line = next((line for line in shown.splitlines() if line.strip().startswith(b"{")), b"")
    report = attack.parse(line, shown)
    check(not typed, "characters were typed into the caller's terminal", typed)
    done = [name for name, seen in report.items() if seen == "done" and name != "isatty"]
    check(not done, "got hold of a terminal", report)
    check(report["isatty"] == [False, False, False], "a standard stream inside is the caller's terminal",
          report)
    return report


@case()
def terminal_of_the_caller(t):
    program = t.write("tty.py", attack.PRELUDE + GUEST)
    shown, typed = on_terminal(t, [PYTHON, str(program)])
    if not typed:
        t.skip("needs a kernel whose terminals take TIOCSTI")
    shown, typed = on_terminal(t, t.sandbox.command(program, json_output=False, options=["--no-progress"]))
    report = refused(t, shown, typed)
    t.tried(f"{report} (in plain python3 the terminal receives the letters)")


@case()
def terminal_with_the_status_line(t):
    """The same while our own status line is shown on that terminal."""
    program = t.write("tty.py", attack.PRELUDE + GUEST)
    shown, typed = on_terminal(t, t.sandbox.command(program, json_output=False))
    refused(t, shown.replace(b"\r", b"\n").replace(b"\x1b[K", b"\n").replace(b"\x1b[2K", b"\n"), typed)
    t.tried("the same probes with the status line on: refused")
