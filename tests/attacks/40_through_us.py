# SPDX-License-Identifier: Apache-2.0
"""Class 40, what concerns a single run: policies in a hostile checkout, a killed supervisor, a broken pipe, no room."""

import os
import resource
import signal
import subprocess

from lib import attack, host
from lib.case import case, check, equal

LOOSE = "unsafe: true\nread_only: false\ntimeout: 7\n"


@case()
def policy_in_the_working_directory(t):
    checkout = t.tmp / "checkout"
    for name in ("sandbox.yaml", "config/sandbox.yaml", ".mai-sandbox.yaml", "mai-sandbox/sandbox.yaml",
                 ".config/mai-sandbox/sandbox.yaml", "etc/mai-sandbox/sandbox.yaml", "mai-sandbox.yaml"):
        t.write(f"checkout/{name}", LOOSE)
    elsewhere = t.run("print(1)")
    there = t.run("print(1)", cwd=checkout)
    for answer in (there, elsewhere):
        equal(answer.result["security"]["unsafe"], [], "weakenings")
    equal(there.result["security"]["policy_sha256"], elsewhere.result["security"]["policy_sha256"],
          "the policy used")
    program = t.write("checkout/main.py", "print(1)")
    beside = t.run(program, cwd=checkout)
    equal(beside.result["security"]["policy_sha256"], elsewhere.result["security"]["policy_sha256"],
          "the policy used")
    relative = t.run(program, cwd=checkout, env={"HOME": "."})
    equal(relative.result["security"]["policy_sha256"] if relative.status == "ok" else None,
          elsewhere.result["security"]["policy_sha256"] if relative.status == "ok" else None, "with HOME=.")
    control = t.run("print(1)", policy="timeout: 7\n")
    check(control.result["security"]["policy_sha256"] != elsewhere.result["security"]["policy_sha256"],
          "control: another policy shows in the result", control)
    t.tried("sandbox.yaml in seven places of the working directory: never read (named by --policy it is)")


@case()
def killed_supervisor(t):
    """SIGKILL in the middle of a run: the program dies with its supervisor, and the next start clears up."""
    marker = attack.unique(t, "killed")
    process = t.sandbox.start(t.sandbox.command("import time; print('up', flush=True); time.sleep(60)",
                                                [marker],
                                                json_output=False))
    equal(process.stdout.readline(), b"up\n", "the program's first line")
    check(len(host.processes_with(marker)) >= 2, "the program is seen on the host")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    host.wait_until(lambda: not host.processes_with(marker), what="the death of the program")
    answer = t.sandbox.call([t.program, "prune"])
    equal(answer.exit, 0, "prune")
    t.tried("SIGKILL of the supervisor: the program dies too")


@case()
def broken_pipe(t):
    """Whoever reads our output goes away: the run ends, and nothing stays."""
    marker = attack.unique(t, "pipe")
    command = t.sandbox.command("while True: print('x' * 1000)", [marker], json_output=False)
    process = t.sandbox.start(command, stderr=subprocess.DEVNULL)
    process.stdout.read(100)
    process.stdout.close()
    status = process.wait(timeout=40)
    check(status != 0, "exit status after a broken pipe", status)
    host.wait_until(lambda: not host.processes_with(marker), what="the end of the program")
    t.tried(f"the reader of our output goes away: exit status {status}, nothing left")


@case()
def no_descriptors(t):
    """With too few descriptors the run is refused with a reason, and user code does not start."""
    command = t.sandbox.command("print('ran')")
    for number in (4, 6, 8, 12, 16):
        done = subprocess.run(command, capture_output=True, timeout=40, env=t.sandbox.environment(),
                              check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                    (number, number)))
        ran = b'"status":"ok"' in done.stdout.replace(b" ", b"")
        check(done.returncode == 125 or (ran and done.returncode == 0)
              or (done.returncode in (1, 2, 127) and done.stderr),
              f"with {number} descriptors", done)
        check(ran or b"ran\\n" not in done.stdout, "user code ran without a good result", done)
    t.tried("run with 4 to 16 descriptors: refused with a reason or done properly")


@case()
def hostile_policy_files(t):
    texts = {"a bomb of aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
             "a tag": "timeout: !!python/object:os.x 1\n",
             "a gigabyte number": "timeout: " + "9" * 5000 + "\n", "deep nesting": "a: " + "[" * 20000
             + "]" * 20000 + "\n",
             "two megabytes": "# " + "x" * (2 << 20) + "\n", "a NUL": "timeout: 1\0\n",
             "bad UTF-8": b"timeout: \xff\n"}
    for what, text in texts.items():
        answer = t.run("print('ran')", policy=text)
        equal(answer.exit, 125, f"a policy with {what}")
        check(answer.result["error"]["message"], "no reason", answer)
    fifo = t.tmp / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, "/dev/zero", t.tmp, "/proc/self/mem"):
        answer = t.run("print('ran')", options=["--policy", str(path)], patience=20)
        equal(answer.exit, 125, f"{path} as policy")
    t.tried(f"policies with {', '.join(texts)}, a FIFO, a device, a directory: refused with 125")
