# SPDX-License-Identifier: Apache-2.0
"""What the cases of the Docker client share: runs over a mock engine, and what must hold of each answer."""

import ctypes
import json
import os
import re
import subprocess
import time

from lib.case import ROOT, check
from lib.netns import CLONE_NEWNS, MS_PRIVATE, MS_REC
from lib.sandbox import CALLER_ENVIRONMENT, validator

# Small, so that many runs have their share of any host at once; and with little patience.
POLICY = """\
backend: docker
image: mai-python
cpu_count: 0.02
mem_limit: 4m
disk_limit: 1m
max_concurrent: 64
timeout: 20
docker:
  call_timeout: 2
  host: "{host}"
"""

def prepare(t):
    """A state directory of the case's own, and a skip where there is no Docker backend."""
    if not (ROOT / "build").exists() and not os.path.exists(t.program):
        t.skip("needs a build")
    if not os.path.exists(os.path.join(os.path.dirname(t.program), "libmai-docker.so")):
        t.skip("needs a build with the Docker backend (libcurl)")
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) < 0 or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) < 0 \
                or libc.mount(b"none", b"/run", b"tmpfs", 0, b"mode=0755") < 0:
            t.skip("needs a mount namespace of its own")


def known_codes():
    """The words of the table in docs/RESULT.md."""
    text = (ROOT / "docs" / "RESULT.md").read_text()
    table = text[text.index("### Error codes"):].split("\n\n")[1]
    return set(re.findall(r"^\| `([a-z_]+)`", table, re.M)) - {"error.code"}


def environment(t, more=None):
    runtime = t.tmp / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return {**CALLER_ENVIRONMENT, "HOME": str(t.tmp), "XDG_RUNTIME_DIR": str(runtime),
            **{name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}, **(more or {})}


def policy(t, host, text=POLICY):
    path = t.write(f"policy-{time.monotonic_ns()}.yaml", text.format(host=host))
    return str(path)


def as_somebody(t, user, *files):
    """The words for subprocess.run that make it another user's, who can read the files."""
    if user is None:
        return {}
    for path in (*files, t.tmp / "runtime"):
        os.chown(path, user, user)
    return {"user": user, "group": user, "extra_groups": []}


def run(t, engine, *options, policy_text=POLICY, env=None, patience=60, host=None, as_user=None):
    """Runs a program over the engine; the result, with what is true of every one checked, and `seconds` beside it."""
    where = policy(t, host if host is not None else engine.host, policy_text)
    command = [t.program, "run", "--json", "--policy", where, *options, "-"]
    begin = time.monotonic()
    done = subprocess.run(command, input=b"print(1)", capture_output=True, timeout=patience, env=environment(t, env),
                          check=False, **as_somebody(t, as_user, where))
    seconds = time.monotonic() - begin
    text = done.stdout.decode()
    check(text.count("\n") == 1, "one document on standard output", done.returncode, text, done.stderr)
    result = json.loads(text)
    faults = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in validator(ROOT).iter_errors(result)] \
        if validator(ROOT) else []
    check(not faults, "the result breaks docs/result.schema.json", faults[:5], text)
    check(b"Sanitizer" not in done.stderr and done.returncode >= 0, "a sanitizer complained, or it crashed",
          done.returncode, done.stderr.decode(errors="replace"))
    return {**result, "seconds": seconds, "exit": done.returncode, "complaint": done.stderr}


def call(t, words, env=None, patience=60):
    """Any other command line."""
    return subprocess.run([t.program, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=patience,
                          env=environment(t, env), check=False)


def check_error(result, what, codes=("backend_unavailable",)):
    """A clear error: a word of the table, words without control characters, a hint."""
    error = result["error"]
    check(result["status"] == "error" and error, f"{what}: an error", result["status"], error, result["cleanup"])
    check(error["code"] in codes and error["code"] in known_codes(), f"{what}: error.code", error)
    check(error["message"] and len(error["message"]) < 1500, f"{what}: the message's length", error)
    check(not re.search(r"[\x00-\x1f\x7f]", error["message"]), f"{what}: control characters in the message", error)
    check(error["hint"], f"{what}: a hint", error)
    check(result["stdout"] == "" or result["usage"], f"{what}: output of a program that did not run", result)


def check_leftovers(result, engine, what):
    """What the engine still has is named."""
    left = list(engine.containers)
    cleanup = result["cleanup"]
    for name in left:
        check(cleanup and not cleanup["complete"] and any(name in word for word in cleanup["leftovers"]),
              f"{what}: the engine has {name}, which the result does not name", cleanup, result["error"])
