# SPDX-License-Identifier: Apache-2.0
"""Running a command line on a terminal of its own, as a person would."""

import fcntl
import os
import pty
import subprocess
import termios
import time


def on_terminal(t, command):
    """Runs a command on a terminal of its own; what was shown, and what waits in the terminal's input."""
    master, slave = pty.openpty()
    settings = termios.tcgetattr(slave)
    settings[3] &= ~(termios.ICANON | termios.ECHO)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, settings)

    def own_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 1)

    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=t.tmp,
                          env=t.sandbox.environment({"TERM": "xterm"}),
                          preexec_fn=own_terminal) as process:
        shown = b""
        os.set_blocking(master, False)
        deadline = time.monotonic() + 50
        while time.monotonic() < deadline:
            ended = process.poll() is not None
            try:
                shown += os.read(master, 65536)
            except BlockingIOError:
                if ended:
                    break
                time.sleep(0.01)
    os.set_blocking(slave, False)
    try:
        typed = os.read(slave, 100)
    except BlockingIOError:
        typed = b""
    os.close(master)
    os.close(slave)
    return shown, typed
