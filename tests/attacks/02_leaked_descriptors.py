# SPDX-License-Identifier: Apache-2.0
"""Class 2: descriptors and a working directory left over from the caller or the set-up (CVE-2024-21626)."""

import os
import subprocess

from lib import attack
from lib.case import PYTHON, case, check, equal

LIST = r'''
listing = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
report["fds"] = {}
for name in os.listdir(listing):
    if int(name) != listing:
        try:
            report["fds"][name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError as error:
            if error.errno != errno.ENOENT:      # the listing's own, already closed
                report["fds"][name] = word(error)
report["cwd"] = os.readlink("/proc/self/cwd")
report["getcwd"] = os.getcwd()
report["root"] = sorted(os.listdir("/proc/self/cwd/../../../.."))
finish()
'''


@case()
def only_the_three_streams(t):
    secret = t.write("secret", "canary")
    program = t.write("list.py", attack.PRELUDE + LIST)
    high = 37
    fd = os.open(secret, os.O_RDONLY)
    os.dup2(fd, high, inheritable=True)
    how = {"pass_fds": [high], "capture_output": True, "timeout": 50, "env": t.sandbox.environment(),
           "cwd": t.tmp,
           "stdin": subprocess.DEVNULL, "check": False}
    control = attack.parse(subprocess.run([PYTHON, program], **how).stdout, "control")
    equal(control["fds"].get(str(high)), str(secret), "control: the descriptor reaches a plain python3")

    def demand(sandbox):
        done = subprocess.run(sandbox.command(program, json_output=False), **how)
        report = attack.parse(done.stdout, done)
        equal(sorted(report["fds"]), ["0", "1", "2"], "descriptors inside")
        equal((report["getcwd"], report["cwd"]), ("/sandbox", "/sandbox"), "working directory inside")
        check("sandbox" in report["root"] and "proc" in report["root"], "what lies above is not our root", report)
        return report

    report = demand(t.sandbox)
    t.tried(f"list /proc/self/fd: {report['fds']} (plain python3 sees the caller's descriptor {high})")
    attack.expect_noticed(t, ["close-fds"], demand)


@case()
def the_commands_of_exec_too(t):
    answer = t.exec(["sh", "-c", "ls -l /proc/$$/fd | wc -l; pwd -P"])
    lines = answer.text.split()
    t.tried(f"ls /proc/$$/fd in exec: {int(lines[0]) - 1} entries")
    check(int(lines[0]) - 1 <= 4, "sh sees more than its own descriptors",
          answer)  # 0-2, and sh's own script
    equal(lines[1], "/sandbox", "working directory of exec")


@case()
def streams_of_the_caller_can_not_be_reopened(t):
    """Standard input comes from a file that anybody may write; reopening the descriptor must not reach it."""
    guest = r'''
def overwrite():
    fd = os.open("/proc/self/fd/0", os.O_WRONLY | os.O_TRUNC)
    os.write(fd, b"overwritten")
    if os.fstat(fd).st_ino != os.fstat(0).st_ino or not os.path.isfile("/proc/self/fd/0"):
        raise OSError(errno.EACCES, "a pipe of our own")
probe("overwrite", overwrite)
finish()
'''
    canary = t.write("canary", "original", 0o666)
    t.tmp.chmod(0o777)
    with open(canary, "rb") as stream:
        answer = t.sandbox.call(t.sandbox.command(attack.PRELUDE + guest, options=["--stdin", str(canary)]),
                                parse=True)
    report = attack.parse(answer.stdout, answer)
    t.tried(f"reopen --stdin's file for writing: {report['overwrite']} (gets through in plain python3)")
    equal(canary.read_text(), "original", "the file behind --stdin was overwritten from inside")
    with open(canary, "rb") as stream:
        subprocess.run([PYTHON, "-c", attack.PRELUDE + guest], stdin=stream, capture_output=True, check=True)
    equal(canary.read_text(), "overwritten", "control: a plain python3 overwrites its standard input's file")


@case()
def flags_of_the_callers_pipe(t):
    """
    O_NONBLOCK belongs to the open file description, not to the descriptor: set on a standard input that is shared with
    the caller, it would make the caller's next reader fail.
    """
    guest = r'''
import fcntl
probe("nonblock", fcntl.fcntl, 0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_NONBLOCK)
finish()
'''
    program = t.write("flags.py", attack.PRELUDE + guest)

    def flags_after(command):
        reader, writer = os.pipe()
        try:
            subprocess.run(command, stdin=reader, capture_output=True, timeout=50, env=t.sandbox.environment(),
                           check=True)
            return os.get_blocking(reader)
        finally:
            os.close(reader)
            os.close(writer)

    check(flags_after([PYTHON, str(program)]) is False, "control: a plain python3 changes the caller's pipe")
    blocking = flags_after(t.sandbox.command(program, json_output=False))
    t.tried(f"set O_NONBLOCK on standard input: the caller's pipe is {'untouched' if blocking else 'changed'}")
    check(blocking, "the program changed the flags of the caller's own pipe")
