# SPDX-License-Identifier: Apache-2.0
"""Exit statuses: the program's own, whatever it is, and those of a shell."""

from lib.case import case, check, equal


@case()
def own_status(t):
    for status in (0, 1, 2, 3, 7, 42, 64, 77, 99, 120, 124, 125, 126, 127, 128, 130, 137, 139, 143, 200, 254,
                   255):
        answer = t.run(f"import os; os._exit({status})")
        equal((answer.exit, answer.status, answer.result["exit_code"]),
              (status, "failed" if status else "ok", status),
              f"status {status}")


@case()
def python_ends(t):
    for program, status, words in (("raise SystemExit", 0, b""), ("raise SystemExit('why')", 1, b"why\n"),
                                   ("1 / 0", 1, b"ZeroDivisionError"), ("exit()", 0, b""),
                                   ("quit(300)", 44, b""),
                                   ("raise KeyboardInterrupt", 130, b"KeyboardInterrupt"),
                                   ("import sys; sys.exit(-1)", 255, b""),
                                   ("def f(): f()\nf()", 1, b"RecursionError")):
        answer = t.run(program)
        equal(answer.exit, status, program)
        check(words in answer.stderr, f"{program}: standard error", answer)


@case()
def own_signals(t):
    for name, number in (("SIGTERM", 15), ("SIGKILL", 9), ("SIGSEGV", 11), ("SIGABRT", 6), ("SIGHUP", 1),
                         ("SIGPIPE", 13),
                         ("SIGINT", 2)):
        answer = t.run(f"import os, signal; signal.signal({number}, signal.SIG_DFL) if {number} != 9 else 0; "
                       f"os.kill(os.getpid(), {number})")
        equal((answer.status, answer.result["signal"], answer.result["exit_code"], answer.exit),
              ("failed", name, None, 128 + number), name)


@case()
def without_json(t):
    for status in (0, 1, 124, 125, 255):
        equal(t.run(f"raise SystemExit({status})", json_output=False).exit, status, f"status {status}")
    equal(t.run("import os; os.kill(os.getpid(), 15)", json_output=False).exit, 143, "SIGTERM")


@case()
def as_in_a_shell(t):
    t.write("data", "no program", 0o644)
    data = str(t.tmp / "data")
    equal(t.exec(["no-such-command-anywhere"]).exit, 127, "a command that is not there")
    equal(t.exec(["/no/such/path"]).exit, 127, "a path that is not there")
    equal(t.exec(["./data"], options=["--file", data]).exit, 126, "a file that is not executable")
    equal(t.exec(["/usr"]).exit, 126, "a directory")
    equal(t.exec(["false"]).exit, 1, "false")
    equal(t.exec(["sh", "-c", "exit 9"]).exit, 9, "exit 9 of a shell")
    equal(t.exec(["sh", "-c", "kill -9 $$"]).exit, 137, "kill -9 of a shell")
    answer = t.exec(["no-such-command-anywhere"])
    equal(answer.status, "error", "status")
    check("no-such-command-anywhere" in answer.result["error"]["message"], "the command is not named",
          answer)


@case()
def exec_runs_any_command(t):
    answer = t.exec(["sh", "-c", "echo $0 $1; echo err >&2; pwd", "a", "b c"])
    equal((answer.status, answer.text, answer.stderr), ("ok", "a b c\n/sandbox\n", b"err\n"), "a shell")
    answer = t.exec(["python3", "-c", "import sys; print(sys.argv, sys.flags.isolated)", "--json", "--"])
    equal(answer.text, "['-c', '--json', '--'] 0\n", "python3 with arguments that look like ours")
    answer = t.exec(["cat"], stdin_file=b"through\0 exec")
    equal(answer.stdout, b"through\0 exec", "standard input of exec")
