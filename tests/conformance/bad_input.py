# SPDX-License-Identifier: Apache-2.0
"""Programs that are odd or not there: what `python3 FILE` would say, or a clear error of our own."""

import os
import subprocess

from lib import host
from lib.case import PYTHON, case, check, equal


def like_python(t, source, name="odd.py"):
    """The same program here and by the host's own interpreter: same status, same output, same last line of error."""
    path = t.sandbox.path(name, source)
    plain = subprocess.run([PYTHON, path], capture_output=True, stdin=subprocess.DEVNULL, check=False,
                           env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
    answer = t.run(path)
    equal((answer.exit, answer.stdout), (plain.returncode, plain.stdout),
          "exit status and output, as of python3")
    last, expected = answer.stderr.splitlines()[-1:], plain.stderr.splitlines()[-1:]
    equal(last, [line.replace(os.fsencode(path), os.fsencode(f"/sandbox/{name}")) for line in expected],
          "last line")
    return answer


@case()
def not_there(t):
    for path, what in ((t.tmp / "absent.py", "a missing file"), (t.tmp, "a directory"),
                       ("/dev/zero", "a device"),
                       (t.tmp / "x" / "y.py", "a missing directory")):
        answer = t.sandbox.call([t.program, "run", str(path)], patience=20)
        check(answer.exit in (2, 125) and answer.out == b"", what, answer)
        lines = answer.err.decode().rstrip("\n").split("\n")
        check(len(lines) == 1 and str(path) in lines[0], f"{what}: not one line that names it", answer.err)
    answer = t.run(t.tmp / "absent.py")
    equal((answer.exit, answer.status), (125, "error"), "a missing file with --json")
    check("absent.py" in answer.result["error"]["message"], "the file is not named", answer.result["error"])


@case()
def fifo(t):
    """As a shell's <(command) makes one: read like any other file, or refused with a reason."""
    path = t.tmp / "fifo.py"
    os.mkfifo(path)
    process = t.sandbox.start([t.program, "run", str(path)])
    try:
        # Opening for both ways never waits for the other side.
        with open(path, "r+b", buffering=0) as pipe:
            pipe.write(b"print('from a pipe')\n")
            host.wait_until(lambda: process.poll() is not None or not waiting(pipe), what="the pipe to be read")
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    check((process.returncode, out) == (0, b"from a pipe\n") or (process.returncode in (2, 125) and b"fifo.py" in err),
          "a program that comes through a FIFO", process.returncode, out, err)


def waiting(pipe):
    """Whether bytes are still in the pipe (FIONREAD)."""
    import fcntl
    import struct
    return struct.unpack("i", fcntl.ioctl(pipe, 0x541B, b"\0" * 4))[0]


@case()
def unreadable(t):
    if os.geteuid() == 0:
        t.skip("needs an ordinary user: root can read every file")
    path = t.write("closed.py", "print(1)", 0)
    answer = t.sandbox.call([t.program, "run", str(path)])
    check(answer.exit in (2, 125) and b"closed.py" in answer.err, "an unreadable file", answer)


@case()
def empty(t):
    equal(like_python(t, "").status, "ok", "an empty file")
    equal(like_python(t, "\n\n# nothing\n").status, "ok", "only a comment")
    equal(t.run("-", stdin=b"").status, "ok", "an empty program from standard input")


@case()
def one_megabyte(t):
    answer = t.run("x = 0\n" + "x += 1  # a line of some length\n" * 34000 + "print(x)\n")
    equal((answer.status, answer.text), ("ok", "34000\n"), "a program of a megabyte")
    answer = t.run("data = '" + "x" * (1 << 20) + "'\nprint(len(data))\n")
    equal(answer.text, f"{1 << 20}\n", "a line of a megabyte")


@case()
def encodings(t):
    like_python(t, b"\xef\xbb\xbfprint('bom \xc3\xa9')\n")
    like_python(t, b"# -*- coding: latin-1 -*-\nprint('caf\xe9')\n")
    like_python(t, b"# coding: cp1252\nprint('\x80')\n")
    like_python(t, b"print('windows')\r\nprint('lines')\r\n")
    like_python(t, b"print('old mac')\rprint('lines')\r")
    like_python(t, b"print('no newline at the end')")
    like_python(t, b"print('caf\xe9')\n")
    like_python(t, b"# coding: no-such-encoding\nprint(1)\n")
    like_python(t, b"#!/usr/bin/env python3\nprint('shebang')\n")


@case()
def nul_byte(t):
    like_python(t, b"print('before')\nprint('a\0b')\n")
    like_python(t, b"\0\0\0\0")


@case()
def binary(t):
    answer = t.run(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 4)
    equal((answer.status, answer.exit), ("failed", 1), "a binary as program")


@case()
def syntax_error(t):
    for source in ("print('unclosed\n", "def f(:\n pass\n", "  indented = 1\n x = 2\n",
                   "if True:\nprint(1)\n", "\tx\n y\n"):
        answer = like_python(t, source, "mistake.py")
        check(b"mistake.py" in answer.stderr, "the user's file name is in the traceback", answer)
        check(str(t.tmp).encode() not in answer.stderr, "the caller's path is in the traceback", answer)


@case()
def traceback(t):
    answer = t.run("def inner():\n    raise ValueError('why')\ninner()\n", name="deep.py")
    text = answer.stderr.decode()
    equal(answer.exit, 1, "exit status")
    check("deep.py\", line 3" in text and "deep.py\", line 2" in text and "raise ValueError('why')" in text,
          "a traceback with names, lines and source", text)
    check(str(t.tmp) not in text, "the caller's path is in the traceback", text)
