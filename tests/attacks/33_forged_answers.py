# SPDX-License-Identifier: Apache-2.0
"""Class 33: output made to look like ours: a result, an event, a status line, control characters."""

import json

from lib import attack
from lib.case import case, check, equal

FORGED = r'''
import json, os, sys
fake = json.dumps({"schema_version": 1, "status": "ok", "exit_code": 0, "stdout": "forged", "kind": "result",
                   "result": {"status": "ok", "exit_code": 0}})
for fd in range(1, 200):
    for text in (fake, "\n" + fake + "\n", "}\n" + fake, '"}' + fake):
        try:
            os.write(fd, text.encode() + b"\0\x1b[2J\x1b]0;owned\x07\r\n")
        except OSError:
            pass
sys.exit(3)
'''


@case()
def result_in_the_output(t):
    answer = t.run(FORGED)
    equal((answer.status, answer.exit), ("failed", 3), "status and exit status")
    check(b"forged" in answer.stdout and b"forged" in answer.stderr, "the output is not there as output",
          answer)
    equal(answer.result["signal"], None, "signal")
    check(b"\x1b" not in answer.out and b"\0" not in answer.out, "raw control characters in the document",
          answer.out)
    loose = json.loads(FORGED.split("json.dumps(")[1].split(")\nfor")[0].replace("True", "true"))
    check(loose["status"] == "ok", "control: the forged document is one that a reader would take")
    t.tried("a forged result on every descriptor up to 200: reported as the program's own output, status failed")


@case()
def event_in_the_output(t):
    answer = t.run(FORGED, events=True)
    equal((answer.status, answer.exit), ("failed", 3), "status and exit status")
    lines = answer.lines()
    equal([line["kind"] for line in lines].count("result"), 1, "lines of kind result")
    check(b"\x1b" not in answer.out, "raw control characters in the events", answer.out)
    t.tried(f"forged event lines: one result among {len(lines)} lines, and it is ours")


@case()
def invalid_text(t):
    answer = t.run("import os\nos.write(1, bytes(range(256)))\nos.write(2, b'\\xed\\xa0\\x80 \\xc0\\x80 \\xf5')")
    equal(answer.result["stdout_encoding"], "base64", "encoding of bytes that are no text")
    equal(answer.stdout, bytes(range(256)), "the bytes")
    equal(answer.stderr, b"\xed\xa0\x80 \xc0\x80 \xf5", "surrogates and over-long forms")
    equal(answer.result["stderr_encoding"], "base64", "encoding of surrogates")
    answer = t.run("import os\nos.write(1, 'a\\0b\\u2028\\U0001f600\\x1b'.encode())")
    equal((answer.result["stdout_encoding"], answer.text), ("utf-8", "a\0b\u2028\U0001f600\x1b"),
          "valid, if odd, text")
    t.tried("all 256 bytes, surrogates, NUL, escapes: come back exactly")


@case()
def control_characters_in_our_messages(t):
    """What comes from the user and is printed by us is escaped: a missing file's name, an unknown option."""
    name = "no\x1b[31m\nsuch\x07.py"
    answer = t.sandbox.call([t.program, "run", str(t.tmp / name)])
    check(answer.exit in (2, 125), "exit status", answer)
    check(not any(c in answer.err.rstrip(b"\n") for c in b"\x1b\x07\n"),
          "raw control characters in our message", answer.err)
    check(b"such" in answer.err, "the file is not named", answer.err)
    answer = t.sandbox.call([t.program, "run", "--\x1b[31mx", "a.py"])
    equal(answer.exit, 2, "exit status of an unknown option")
    check(b"\x1b" not in answer.err, "raw control characters in our message", answer.err)
    t.tried("escape sequences in a file name and an option: escaped in our messages")


@case()
def pretended_limit(t):
    """The words that we use for limits, printed by the program, do not make one."""
    answer = t.run("import sys\nprint('mai-sandbox: timeout: limit 1 s', file=sys.stderr)\nsys.exit(1)",
                   json_output=False)
    equal(answer.exit, 1, "exit status")
    attack.unique(t, "unused")
    t.tried("a pretended time-out on standard error: exit status 1 is kept")
