# SPDX-License-Identifier: Apache-2.0
"""On a terminal a status line shows what goes on; elsewhere, and on demand, it does not."""

import re

from lib.case import case, check
from lib.terminal import on_terminal

PROGRAM = "import time\nprint('first', flush=True)\ntime.sleep(1.5)\nprint('last')\n"


@case()
def status_line(t):
    shown, typed = on_terminal(t, t.sandbox.command(PROGRAM, json_output=False))
    text = shown.decode(errors="replace")
    check(not typed, "something was typed", typed)
    check("first" in text and "last" in text, "the program's output", text)
    check(re.search(r"\d+(\.\d+)? ?/ ?\d+", text), "elapsed time and limit", text)
    check(re.search(r"(?i)cpu|%", text) and re.search(r"(?i)mi?b|mem", text), "CPU and memory", text)
    end = re.split(r"\x1b\[[0-9;]*[A-Za-z]|\r", text)[-1]
    check(end.strip() in ("", "last"), "the status line is wiped away at the end", end)


@case()
def none_on_demand(t):
    shown, _ = on_terminal(t, t.sandbox.command(PROGRAM, json_output=False, options=["--no-progress"]))
    check(shown.replace(b"\r\n", b"\n") == b"first\nlast\n", "the program's output alone", shown)


@case()
def none_without_a_terminal(t):
    answer = t.run(PROGRAM, json_output=False)
    check((answer.out, answer.err) == (b"first\nlast\n", b""), "the program's output alone", answer)


@case()
def a_limit_is_told(t):
    """Who runs a program without --json learns in one line what ended it."""
    answer = t.run("import time; print('before', flush=True); time.sleep(60)", json_output=False,
                   options=["--timeout", "1"])
    check((answer.exit, answer.out) == (124, b"before\n"), "exit status and output", answer)
    lines = answer.err.decode().splitlines()
    check(len(lines) == 1 and "timeout" in lines[0] and "1" in lines[0], "one line with the limit", answer.err)
    answer = t.run("x = []\nwhile True: x.append(bytearray(1 << 20))", json_output=False,
                   options=["--memory", "64m"])
    check(answer.exit == 137 and "mem" in answer.err.decode(), "one line with the limit", answer)
