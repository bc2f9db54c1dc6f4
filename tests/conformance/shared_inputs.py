# SPDX-License-Identifier: Apache-2.0
"""Small inputs on which sandboxes in the field have failed (conformance/cases), each with what is right."""

import hashlib
import pathlib

from lib import host
from lib.case import case, check, equal

CASES = pathlib.Path(__file__).resolve().parent / "cases"


@case()
def print_300k(t):
    answer = t.run(CASES / "print_300k.py")
    equal((answer.status, answer.text, answer.stderr), ("ok", "x" * 300_000, b"y" * 300_000),
          "complete output")
    equal((answer.result["stdout_truncated"], answer.result["stderr_truncated"]), (False, False),
          "truncated")


@case()
def prefix_at_timeout(t):
    answer = t.run(CASES / "prefix_at_timeout.py", options=["--timeout", "1"])
    equal((answer.status, answer.kind, answer.exit), ("limit", "timeout", 124), "status")
    check(answer.text.startswith("a"), "what was printed before the limit is there", answer)


@case()
def output_flood(t):
    answer = t.run(CASES / "output_flood.py", policy="output_limit: 10001\n")
    equal((answer.status, answer.kind, answer.exit), ("limit", "output", 137), "status")
    equal(answer.result["stdout_encoding"], "utf-8", "the text is cut on a code point")
    whole = ("é" * 1000 + "\n") * 20
    check(whole.startswith(answer.text) and 9990 <= len(answer.stdout) <= 10001, "the prefix is kept",
          answer)
    equal(answer.result["stdout_truncated"], True, "stdout_truncated")


@case()
def split_utf8(t):
    answer = t.run(CASES / "split_utf8.py")
    equal((answer.status, answer.result["stdout_encoding"], answer.text), ("ok", "utf-8", "café\n"),
          "a split character")
    equal((answer.result["stderr_encoding"], answer.stderr), ("base64", b"ok\xff\n"), "invalid text")


@case()
def big_alloc_page_by_page(t):
    answer = t.run(CASES / "big_alloc.py", ["touch"], options=["--memory", "128m", "--timeout", "30"])
    equal((answer.status, answer.kind, answer.exit), ("limit", "memory", 137), "status")
    equal(answer.result["violation"]["limit"], 128 << 20, "the limit")
    check(100 << 20 <= answer.result["usage"]["memory_peak"] <= 130 << 20, "the peak",
          answer.result["usage"])


@case()
def big_alloc_at_once(t):
    answer = t.run(CASES / "big_alloc.py", options=["--memory", "128m", "--timeout", "30"])
    refused = answer.status == "failed" and answer.exit == 1 and b"MemoryError" in answer.stderr
    check(answer.kind == "memory" or refused, "neither `memory` nor a MemoryError", answer)


@case()
def numpy_threads(t):
    need_modules(t, "numpy")
    answer = t.run(CASES / "numpy_threads.py", options=["--memory", "256m"])
    equal((answer.status, answer.text), ("ok", "300\ndone\n"), "numpy with 8 threads in 256 MiB")
    count = t.run("import numpy as np, os\na = np.ones((300, 300)); a @ a\n"
                  "print(len(os.listdir('/proc/self/task')), len(os.sched_getaffinity(0)))",
                  options=["--memory", "256m", "--cpus", "1"])
    equal(count.text, "1 1\n", "threads of the linear algebra library follow cpu_count")


@case()
def pool(t):
    answer = t.run(CASES / "pool.py")
    equal((answer.status, answer.text), ("ok", "[2, 4, 6]\n[2, 4, 6]\n1\n"), "pools and managers")


@case()
def child_holds_pipe(t):
    answer = t.run(CASES / "child_holds_pipe.py")
    equal((answer.status, answer.text), ("ok", "early\n"), "status and output")
    timing = answer.result["timing"]
    # Within half a second of the program's end: what came after `run` is ours. From outside only a generous bound.
    check(timing["collect"] + timing["destroy"] < 0.5 * t.slack and answer.active < 6 * t.slack, "the answer was held up",
          answer)
    host.assert_gone(answer)


@case()
def tree_survives(t):
    answer = t.exec(["sh", "tree_survives.sh"], options=["--timeout", "1", "--file",
                                                         str(CASES / "tree_survives.sh")])
    equal((answer.status, answer.kind, answer.exit), ("limit", "timeout", 124), "status")
    over = answer.result["usage"]["wall"] - 1
    check(over < 0.1, f"{over:.3f} s over the limit", answer.result["usage"])
    host.assert_gone(answer)


@case()
def stop_group(t):
    answer = t.run(CASES / "stop_group.py", options=["--timeout", "1"])
    equal((answer.status, answer.kind, answer.exit), ("limit", "timeout", 124), "status")
    check(answer.result["usage"]["wall"] - 1 < 0.1, "not on time", answer.result["usage"])


@case()
def orphans(t):
    answer = t.run(CASES / "orphans.py", options=["--pids", "8"])
    equal((answer.status, answer.exit, answer.result["exit_code"]), ("failed", 7, 7),
          "the program's own status")
    equal(answer.result["events"], [], "no fork was refused: orphans are reaped")


@case()
def mplcache(t):
    need_modules(t, "matplotlib")
    answer = t.run(CASES / "mplcache.py", options=["--output-dir", str(t.tmp / "out")])
    equal((answer.status, answer.text, answer.stderr), ("ok", "saved\n", b""), "no warning")
    check((t.tmp / "out/plot.png").read_bytes().startswith(b"\x89PNG"), "a PNG in the output directory")
    equal([(f["path"], f["media_type"]) for f in answer.result["files"]], [("plot.png", "image/png")],
          "files")


@case()
def cwd_file(t):
    answer = t.run(CASES / "cwd_file.py", options=["--output-dir", str(t.tmp / "out")])
    digest = hashlib.sha256(b"hello\n").hexdigest()
    equal((answer.status, answer.text), ("ok", digest + "\n"), "status and output")
    equal((t.tmp / "out/out.txt").read_bytes(), b"hello\n", "the file that came out")
    entry = answer.result["files"][0]
    equal((entry["path"], entry["size"], entry["sha256"]), ("out.txt", 6, digest), "its entry in the result")


def need_modules(t, *names):
    """Skips where the host's own interpreter, which `image: host` shows, lacks a library."""
    import subprocess

    from lib.case import PYTHON
    for name in names:
        if subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True, check=False).returncode:
            t.skip(f"needs python3-{name} on the host")
