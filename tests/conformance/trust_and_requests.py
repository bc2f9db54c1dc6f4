# SPDX-License-Identifier: Apache-2.0
"""Trust levels, and requests: they may tighten, never loosen; bad words are told from refused ones."""

from lib.case import case, check, equal

LIMITS = ("cpu_count", "mem_limit", "timeout", "pids_limit", "cpu_time", "disk_limit", "inode_limit",
          "output_limit",
          "open_files")


@case()
def levels(t):
    found = {level: t.run("print(1)", trust=level).result for level in ("unknown", "untrusted", "trusted")}
    for level, result in found.items():
        equal((result["status"], result["trust_level"]), ("ok", level), "the level in the result")
    for name in LIMITS:
        low, middle, high = (found[level]["limits"][name] for level in ("unknown", "untrusted", "trusted"))
        check(0 < low <= middle <= high, f"{name}: unknown ≤ untrusted ≤ trusted", [low, middle, high])
    equal([found["trusted"]["limits"][name] for name in ("mem_limit", "timeout")], [1 << 30, 120],
          "what trusted code gets")
    check(found["trusted"]["limits"]["cpu_count"] <= 2, "CPUs of trusted code", found["trusted"]["limits"])
    check(found["unknown"]["limits"]["mem_limit"] < found["trusted"]["limits"]["mem_limit"],
          "unknown gets less")


@case()
def without_a_level(t):
    equal(t.run("print(1)", trust=None).result["trust_level"], "unknown",
          "the level of a request without one")


@case()
def level_of_the_file(t):
    policy = "trust_levels:\n  careful:\n    timeout: 3\n    pids_limit: 9\n"
    answer = t.run("print(1)", trust="careful", policy=policy)
    equal((answer.status, answer.result["trust_level"]), ("ok", "careful"), "a level that the file adds")
    equal([answer.result["limits"][name] for name in ("timeout", "pids_limit")], [3, 9], "its limits")
    answer = t.run("print(1)", trust="untrusted", policy="timeout: 5\n")
    equal(answer.result["limits"]["timeout"], 5, "top level lowers a built-in level")


@case()
def tightening(t):
    answer = t.run("print(1)", options=["--timeout", "4", "--memory", "80m", "--pids", "7", "--cpus", "0.5"])
    equal([answer.result["limits"][name] for name in ("timeout", "mem_limit", "pids_limit", "cpu_count")],
          [4, 80 << 20, 7, 0.5], "asking for less")
    for text, size in (("67108864", 64 << 20), ("65536k", 64 << 20), ("64m", 64 << 20),
                       ("67108864b", 64 << 20)):
        answer = t.run("print(1)", options=["--memory", text])
        equal(answer.result["limits"]["mem_limit"], size, f"--memory {text}")


@case()
def every_limit_by_option(t):
    words = ["--cpu-time", "3", "--disk", "16m", "--inodes", "200", "--output-limit", "5k", "--open-files", "50"]
    answer = t.run("print(1)", options=words)
    names = ("cpu_time", "disk_limit", "inode_limit", "output_limit", "open_files")
    equal([answer.result["limits"][name] for name in names], [3, 16 << 20, 200, 5 << 10, 50], "limits by option")


@case()
def loosening_is_refused(t):
    for option, value, key in (("--timeout", "86400", "timeout"), ("--memory", "900g", "mem_limit"),
                               ("--cpus", "4000", "cpu_count"), ("--pids", "1000000", "pids_limit")):
        answer = t.run("print('ran')", options=[option, value])
        equal((answer.exit, answer.status), (125, "error"), f"{option} {value}")
        error = answer.result["error"]
        check(key in error["message"] + (error["hint"] or "") or option in error["message"],
              "the setting is named", error)
        ceiling = str(t.run("print(1)").result["limits"][key])
        check(any(c.isdigit() for c in error["message"].replace(value, "")),
              f"the ceiling ({ceiling}) is named", error)
        plain = t.sandbox.call(t.sandbox.command("print('ran')", options=[option, value], json_output=False))
        equal((plain.exit, plain.out), (125, b""), f"{option} {value} without --json")
        one_line(plain)


def one_line(answer):
    """One line that names the fault and the fix, on standard error."""
    lines = answer.err.decode().rstrip("\n").split("\n")
    check(len(lines) == 1 and len(lines[0]) > 15, "not one line on standard error", answer.err)


@case()
def words_that_make_no_sense(t):
    program = str(t.sandbox.path("a.py", "print('ran')"))
    lines = [["run", *words, program] for words in (
        ["--timeout", "abc"], ["--timeout", "-1"], ["--timeout", "0"], ["--timeout", "nan"],
        ["--timeout", "inf"],
        ["--timeout", ""], ["--timeout", "1e"], ["--timeout", " 1"], ["--memory", "12q"], ["--memory", "-5"],
        ["--memory", "0"], ["--memory", "99999999999999999999999g"], ["--memory", "1.5.2m"],
        ["--pids", "1.5"],
        ["--pids", "-2"], ["--pids", "0x10"], ["--cpus", "0"], ["--cpus", "-1"], ["--cpus", "many"],
        ["--nonsense"], ["-Z"], ["--time"], ["--trust"])]
    lines += [["run"], ["run", "--timeout"], ["exec"], ["exec", "--"], ["nonsense"], [],
              ["run", "--json", "--events", program]]
    for line in lines:
        answer = t.sandbox.call([t.program, *line])
        # `run --trust FILE` takes the file for the level and then lacks a program: as wrong as the others.
        equal((answer.exit, answer.out), (2, b""), " ".join(line))
        check(answer.err.strip(), "nothing on standard error", answer)


@case()
def one_line_each(t):
    program = str(t.sandbox.path("a.py", "print('ran')"))
    for words, names in ((["--timeout", "abc"], ["timeout", "abc"]), (["--memory", "12q"], ["memory",
                                                                                            "12q"]),
                         (["--pids", "-2"], ["pids", "-2"]), (["--nonsense"], ["--nonsense"]),
                         (["--tiemout", "1"], ["--tiemout", "--timeout"])):
        answer = t.sandbox.call([t.program, "run", *words, program])
        one_line(answer)
        for name in names:
            check(name in answer.err.decode(), f"{words}: {name} is not in the message", answer.err)


@case()
def unknown_names(t):
    for words in (["--trust", "nobody"], ["--backend", "nowhere"], ["--allow-degraded", "everything"],
                  ["--image", "no-such-image"]):
        answer = t.sandbox.call([t.program, "run", *words, str(t.sandbox.path("a.py", "print('ran')"))])
        check(answer.exit in (2, 125) and answer.out == b"", f"{words}: exit status", answer)
        check(words[1] in answer.err.decode(), f"{words}: not named", answer.err)
        one_line(answer)


@case()
def help_and_version(t):
    for words in (["--help"], ["run", "--help"], ["exec", "--help"], ["policy", "--help"]):
        answer = t.sandbox.call([t.program, *words])
        check(answer.exit == 0 and b"mai-sandbox" in answer.out and not answer.err, " ".join(words), answer)
    answer = t.sandbox.call([t.program, "version"])
    check(answer.exit == 0 and any(c.isdigit() for c in answer.out.decode()), "version", answer)
