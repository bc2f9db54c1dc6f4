# SPDX-License-Identifier: Apache-2.0
"""What goes in: standard input, arguments, environment, files."""

import hashlib
import json
import os
import resource
import subprocess

from lib.case import case, check, equal

DUMP_ARGUMENTS = "import os, sys; os.write(1, b'\\0'.join(os.fsencode(a) for a in sys.argv[1:]) + b'\\0')"


@case()
def standard_input(t):
    program = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[::-1])"
    for data in (b"", b"abc", bytes(range(256)) * 10, b"\0" * 5, os.urandom(200_000)):
        answer = t.run(program, stdin_file=data, policy="output_limit: 1m\n")
        equal((answer.status, answer.stdout), ("ok", data[::-1]), f"{len(data)} bytes of standard input")


@case()
def input_that_is_not_read(t):
    """More than a pipe holds, and nobody reads it: the program's end is the end."""
    answer = t.run("print('done')", stdin_file=b"x" * (1 << 20))
    equal((answer.status, answer.text), ("ok", "done\n"), "status")
    read_one = t.run("import sys; print(sys.stdin.readline())", stdin_file=b"first\n" + b"x\n" * (1 << 20))
    equal((read_one.status, read_one.text), ("ok", "first\n\n"), "only a line is read")


@case()
def no_input(t):
    """Without anything to read there is an empty standard input, not a wait."""
    equal(t.run("import sys; print(repr(sys.stdin.read()))").text, "''\n", "standard input by default")
    answer = t.run("print('did not wait')", options=["--stdin", "/dev/null"])
    equal(answer.text, "did not wait\n", "--stdin /dev/null")
    process = t.sandbox.start(t.sandbox.command("print('ended')", json_output=False), stdin=subprocess.PIPE)
    try:
        equal(process.stdout.readline(), b"ended\n", "output while our own standard input is open")
        equal(process.wait(timeout=20), 0, "exit status while our own standard input stays open")
    finally:
        process.kill()
        process.communicate()


@case()
def a_pipe_of_the_caller(t):
    """`producer | mai-sandbox run FILE`: what comes through the pipe is the program's input; so is a plain file."""
    program = "import sys; print(len(sys.stdin.buffer.read()))"
    equal(t.run(program, stdin=b"x" * 300_000).text, "300000\n", "from a pipe")
    path = t.write("data", b"y" * 300_000)
    with open(path, "rb") as file:
        process = t.sandbox.start(t.sandbox.command(program, json_output=False), stdin=file)
        out, err = process.communicate(timeout=30)
    equal((process.returncode, out), (0, b"300000\n"), f"from a file: {err!r}")


@case()
def program_from_standard_input(t):
    answer = t.run("-", ["a"],
                   stdin=b"import sys\nprint(sys.argv, __file__)\nprint(repr(sys.stdin.read()))\n")
    equal((answer.status, answer.text.splitlines()[1]), ("ok", "''"),
          "program from standard input, which is then empty")
    check(answer.text.startswith("['") and "main.py', 'a']" in answer.text, "its name is main.py", answer)
    answer = t.run("-", stdin=b"1/0\n")
    check(b"main.py" in answer.stderr and answer.exit == 1, "its traceback names main.py", answer)
    answer = t.run("-", stdin=b"print(input())\n", stdin_file=b"from the file\n")
    equal(answer.text, "from the file\n", "program from standard input and --stdin together")


@case()
def arguments(t):
    given = [b"plain", b"with space", b"", b"--json", b"-x", b"--", b"-", "é😀".encode(), b"\xff\xfe\x80",
             b"new\nline",
             b"tab\t", b"'\"$HOME`id`\\", b"*", b"a" * 20000, b"--timeout=1", b"--help"]
    answer = t.run(DUMP_ARGUMENTS, given)
    equal(answer.stdout, b"\0".join(given) + b"\0", "arguments")
    equal(t.run(DUMP_ARGUMENTS, []).stdout, b"\0", "no arguments")
    many = [b"%d" % n for n in range(2000)]
    equal(t.run(DUMP_ARGUMENTS, many).stdout, b"\0".join(many) + b"\0", "2000 arguments")


@case()
def name_of_the_program(t):
    program = "import sys; print(repr(sys.argv[0]), repr(sys.path[0]), __name__)"
    for name in ("prog.py", "with space.py", "é.py", "no_suffix", "-dash.py", "semi;colon.py",
                 "two.dots.py"):
        answer = t.run(program, name=name)
        path, first, main = answer.text.split(" '/sandbox' ")[0], "/sandbox", "__main__"
        check(path.strip("'").endswith(name) and str(t.tmp) not in answer.text, f"sys.argv[0] of {name}",
              answer)
        check(f"'{first}' {main}" in answer.text, f"sys.path[0] of {name}", answer)


# The whole environment of a program; nothing of the caller's own comes in by itself.
NAMES = {"HOME", "PATH", "TMPDIR", "LANG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "MPLCONFIGDIR",
         "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "OMP_NUM_THREADS",
         "OPENBLAS_NUM_THREADS"}


@case()
def environment(t):
    program = "import json, os; print(json.dumps(dict(os.environ)))"
    caller = {"SECRET": "x", "LANGUAGE": "de", "LD_PRELOAD": "", "PYTHONPATH": "/nonexistent",
              "PYTHONINSPECT": "1",
              "LC_MESSAGES": "de_DE.UTF-8", "BASH_FUNC_x%%": "() { :; }", "http_proxy": "http://192.0.2.1"}
    seen = json.loads(t.run(program, env=caller).text)
    equal(set(seen), NAMES, "variables inside")
    equal(seen, json.loads(t.run(program).text),
          "the same variables whatever the caller's environment holds")
    check(all(seen.values()), "a variable without a value", seen)
    writable = t.run("import os\nfor name in ('HOME', 'TMPDIR', 'MPLCONFIGDIR', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME'):\n"
                     " d = os.environ[name]; os.makedirs(d, exist_ok=True); open(d + '/x', 'w').close()\nprint('ok')")
    equal(writable.text, "ok\n", "homes and caches can be written")


@case()
def environment_of_the_request(t):
    program = "import os; print(repr(os.environ.get('A')), repr(os.environ.get('EMPTY')), repr(os.environ.get('EQ')))"
    answer = t.run(program, options=["--env", "A=é 1", "--env", "EMPTY=", "--env", "EQ=a=b=c"])
    equal((answer.status, answer.text), ("ok", "'é 1' '' 'a=b=c'\n"), "--env")
    named = t.run(program, options=["--env", "A"], env={"A": "the caller's", "EMPTY": "not asked for"})
    equal(named.text, "\"the caller's\" None None\n", "--env with a name alone passes the caller's value")
    for bad in ("=x", "", "A B=c"):
        answer = t.sandbox.call(t.sandbox.command("print('ran')", options=["--env", bad], json_output=False))
        check(answer.exit in (2, 125) and b"ran" not in answer.out, f"--env {bad!r}", answer)


@case()
def files_in(t):
    big = os.urandom(5 << 20)
    t.write("in/plain.txt", "plain")
    t.write("in/big.bin", big)
    t.write("in/module.py", "VALUE = 42")
    options = ["--file", f"{t.tmp}/in/plain.txt", "--file", f"{t.tmp}/in/plain.txt:deep/er/renamed.txt",
               "--file", f"{t.tmp}/in/big.bin:big", "--file", f"{t.tmp}/in/module.py"]
    program = "import hashlib, module\nprint(open('plain.txt').read(), open('deep/er/renamed.txt').read(), module.VALUE)\n" \
              "print(hashlib.sha256(open('big', 'rb').read()).hexdigest())\nopen('plain.txt', 'a').write('!')\n" \
              "open('deep/er/new', 'w').close()"
    answer = t.run(program, options=options)
    equal((answer.status, answer.text), ("ok", f"plain plain 42\n{hashlib.sha256(big).hexdigest()}\n"),
          "files in")
    equal((t.tmp / "in/plain.txt").read_text(), "plain", "the caller's own file")


@case()
def destinations_that_are_refused(t):
    source = t.write("in/a", "a")
    for destination in ("/etc/passwd", "/sandbox/a", "../a", "a/../../b", "..", "a/..", "./../x"):
        answer = t.run("print('ran')", options=["--file", f"{source}:{destination}"])
        check(answer.exit in (2, 125), f"--file to {destination}", answer)
        check(b"ran" not in answer.out or answer.status == "error", "the program ran", answer)
    for bad in ("/nonexistent/file", str(t.tmp)):
        answer = t.run("print('ran')", options=["--file", bad])
        check(answer.exit in (2, 125), f"--file {bad}", answer)
        said = answer.err + answer.out
        check(bad.encode() in said, "the file is not named", answer)


@case()
def devices_as_input(t):
    """An endless file is refused by its kind or its size, before the machine's memory is full of it."""
    for words in (["--file", "/dev/zero"], ["--stdin", "/dev/zero"]):
        answer = t.run("print('ran')", options=words, policy="timeout: 5\n")
        check(answer.exit in (0, 2, 125), " ".join(words), answer)
    program = t.sandbox.call([t.program, "run", "/dev/zero"])
    check(program.exit in (2, 125) and b"/dev/zero" in program.err, "a device as program", program)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    check(peak < 300, "memory taken to find out, in MiB", peak)
