# SPDX-License-Identifier: Apache-2.0
"""What an agent does with a program that a model wrote: runs it in a sandbox, and turns the answer into a few lines for
the model. Unlike the other examples this one runs outside, with plain python3:

    python3 examples/agent.py

It needs nothing but mai-sandbox: build/mai-sandbox, or what MAI_SANDBOX names.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import threading

SANDBOX = os.environ.get("MAI_SANDBOX") or str(pathlib.Path(__file__).resolve().parent.parent / "build/mai-sandbox")
TAIL = 500  # characters of output that are worth a model's attention; the end says most


class SandboxBroken(Exception):
    """The sandbox could not do its work. That is for the operator to mend; the model can't help it."""


def run(source, *options, cancel_after=None):
    """Runs `source`, returns the result document. What it may use is up to the policy; `options` can only tighten."""
    # The program goes in on standard input, so there is no temporary file to forget. No timeout here: the sandbox keeps
    # its own, and a run may also wait for its turn (allocation.queue_timeout).
    with subprocess.Popen([SANDBOX, "run", "--json", *options, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        if cancel_after is not None:  # what an agent does whose user pressed "stop"
            # SIGTERM, not SIGKILL: after that one it could not answer, nor clean up before its next start.
            threading.Timer(cancel_after, process.terminate).start()
        document, words = process.communicate(source.encode())
    if not document:  # exit status 2: our own command line is wrong, so there is no result
        raise SandboxBroken(words.decode(errors="replace").strip() or f"no answer, exit status {process.returncode}")
    return json.loads(document)


def text(result, stream):
    """What the program wrote, however odd its bytes are."""
    if result[f"{stream}_encoding"] == "base64":
        said = base64.b64decode(result[stream]).decode("utf-8", "backslashreplace")
    else:
        said = result[stream]
    cut = len(said) > TAIL or result[f"{stream}_truncated"]
    return ("(only a part) " if cut else "") + said[-TAIL:].rstrip()


def when_ok(result):
    return text(result, "stdout") or "It ended without any output."


def when_failed(result):
    how = f"signal {result['signal']}" if result["signal"] else f"exit status {result['exit_code']}"
    return f"It failed ({how}):\n{text(result, 'stderr')}"


def when_limit(result):
    violation = result["violation"]
    advice = {
        "timeout": "Do less, or do it faster.",
        "cpu_time": "Do less, or do it faster.",
        "memory": "Hold less in memory at a time, files included.",
        "output": "Print less.",
        "syscall": "Do without that system call: it is not allowed here.",
    }.get(violation["kind"], "")  # kinds may be added
    return f"It was stopped ({violation['kind']}): {violation['message']}. {advice}\n{text(result, 'stdout')}".rstrip()


def when_cancelled(_):
    return "It was cancelled; nothing is known about what it would have said."


def when_error(result):
    error = result["error"]
    words = f"{error['code']}: {error['message']}" + (f"; {error['hint']}" if error["hint"] else "")
    if error["code"] == "busy":
        return f"It did not run, the machine is full; later it may. {words}"
    raise SandboxBroken(words)  # refused by the policy, host not able: the same program would get the same answer


ANSWERS = {"ok": when_ok, "failed": when_failed, "limit": when_limit, "cancelled": when_cancelled, "error": when_error}


def for_the_model(result):
    # Statuses may be added too; one that we do not know is not a success.
    answer = ANSWERS.get(result["status"])
    if answer is None:
        raise SandboxBroken(f"unknown status {result['status']}")
    return answer(result)


# Source, options, when to cancel.
PROGRAMS = [
    ("print(sum(n * n for n in range(10)))", [], None),
    ("print(undefined)", [], None),
    ("import os; os.kill(os.getpid(), 11)", [], None),
    ("print('thinking', flush=True)\nwhile True: pass", ["--timeout", "1"], None),
    ("x = b'x' * (1 << 30)", ["--memory", "64m"], None),
    ("while True: print('la', end=' ')", ["--output-limit", "64k"], None),
    ("import sys; sys.stdout.buffer.write(b'caf\\xe9')", [], None),
    ("import time; time.sleep(60)", [], 0.5),
    ("print('more, please')", ["--memory", "1t"], None),
]


def main():
    for source, options, cancel_after in PROGRAMS:
        print(f">>> {' '.join([*options, source])!r}")
        try:
            print(for_the_model(run(source, *options, cancel_after=cancel_after)))
        except SandboxBroken as broken:
            print(f"For the operator: {broken}")
        print()


if __name__ == "__main__":
    sys.exit(main())
