# SPDX-License-Identifier: Apache-2.0
"""Each limit: the word for it, the limit and the value seen, and what the program had done until then."""

import json
import os

from lib import host
from lib.case import case, check, equal


@case()
def timeout(t):
    for seconds in (0.5, 1):
        answer = t.run("import time; print('before', flush=True); time.sleep(60); print('after')",
                       options=["--timeout", str(seconds)])
        equal((answer.status, answer.kind, answer.exit, answer.text), ("limit", "timeout", 124, "before\n"),
              "status")
        violation, wall = answer.result["violation"], answer.result["usage"]["wall"]
        equal(violation["limit"], seconds, "the limit named")
        check(violation["observed"] >= seconds and violation["message"], "the value seen", violation)
        # usage.wall is the supervisor's own clock from the program's start to the kill: no retry is needed, since
        # the time that a busy machine takes to start and to answer lies outside of it.
        check(seconds <= wall < seconds + 0.1, "ended within 100 ms of the limit", answer.result["usage"])
        check(answer.active < seconds + 10, "time seen from outside", answer.active)
        equal((answer.result["exit_code"], answer.result["limits"]["timeout"]), (None, seconds),
              "exit code and limit")


@case()
def timeout_of_a_busy_program(t):
    answer = t.run("while True: pass", options=["--timeout", "1"], policy="cpu_time: 60\n")
    equal((answer.kind, answer.exit), ("timeout", 124), "a busy loop")
    answer = t.run("import threading\nfor n in range(4): threading.Thread(target=lambda: [None for _ in iter(int, 1)])"
                   ".start()", options=["--timeout", "1"], policy="cpu_time: 60\n")
    equal((answer.kind, answer.exit), ("timeout", 124), "four busy threads")
    check(answer.result["usage"]["wall"] - 1 < 0.1, "on time", answer.result["usage"])


@case()
def just_in_time(t):
    answer = t.run("import time; time.sleep(1.0); print('made it')", options=["--timeout", "10"])
    equal((answer.status, answer.text), ("ok", "made it\n"), "a program that ends before its limit")


@case()
def cpu_time(t):
    answer = t.run("print('before', flush=True)\nwhile True: pass", policy="cpu_time: 1\ntimeout: 40\n")
    equal((answer.status, answer.kind, answer.exit, answer.text), ("limit", "cpu_time", 137, "before\n"),
          "status")
    violation = answer.result["violation"]
    equal(violation["limit"], 1, "the limit named")
    check(1 <= violation["observed"] < 2, "the value seen", violation)


@case()
def memory(t):
    answer = t.run("print('before', flush=True)\nx = []\nwhile True: x.append(bytearray(1 << 20))",
                   options=["--memory", "64m", "--timeout", "30"])
    equal((answer.status, answer.kind, answer.exit, answer.text), ("limit", "memory", 137, "before\n"),
          "status")
    violation = answer.result["violation"]
    equal((violation["limit"], answer.result["limits"]["mem_limit"]), (64 << 20, 64 << 20),
          "the limit named")
    check(60 << 20 <= violation["observed"] <= 66 << 20, "the value seen", violation)


@case()
def memory_of_a_child(t):
    """A child that is killed for want of memory ends the run as `memory`, though the program itself would go on."""
    program = "import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', 'x = []\\nwhile True: " \
              "x.append(bytearray(1 << 20))'])\nprint('went on')\n"
    answer = t.run(program, options=["--memory", "64m", "--timeout", "30"])
    equal((answer.status, answer.kind, answer.exit), ("limit", "memory", 137), "status")


@case()
def no_swap(t):
    answer = t.run("x = bytearray(40 << 20); print(len(x))", options=["--memory", "96m"])
    equal((answer.status, answer.text), ("ok", f"{40 << 20}\n"), "below the limit")
    cgroup = json.dumps(answer.result["security"]["cgroup"])
    check("memory" in cgroup, "the cgroup's figures are in the result", cgroup)


@case()
def processes(t):
    program = """
import os, signal
made, refused = [], 0
for _ in range(40):
    try:
        pid = os.fork()
    except BlockingIOError:
        refused += 1
        continue
    if pid == 0:
        signal.pause()
    made.append(pid)
for pid in made:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
print(len(made), refused)
"""
    answer = t.run(program, options=["--pids", "8"])
    equal((answer.status, answer.text), ("ok", "7 33\n"), "the program and seven more fit into 8")
    event = answer.events("pids_refused")
    equal(len(event), 1, "events of that kind: equal ones are counted in one")
    check(event[0]["count"] >= 1 and event[0]["seq"] >= 1 and event[0]["t"] >= 0, "the event", event)
    equal((answer.result["usage"]["pids_peak"], answer.result["violation"]), (8, None),
          "pids_peak, and no violation")


@case()
def threads(t):
    program = "import threading, time\nn = 0\ntry:\n while True:\n  threading.Thread(target=time.sleep, args=(3,), " \
              "daemon=True).start(); n += 1\nexcept RuntimeError as e: print(n, e)"
    answer = t.run(program, options=["--pids", "12"])
    equal((answer.status, answer.text.split()[0]), ("ok", "11"), "threads count like processes")


@case()
def disk_bytes(t):
    program = """
import errno
for path in ("/sandbox/f", "/tmp/f", "/dev/shm/f"):
    n = 0
    try:
        with open(path, "wb", buffering=0) as f:
            while n < 64:
                f.write(bytes(1 << 20)); n += 1
    except OSError as e:
        print(path, n, errno.errorcode[e.errno])
print("went on")
"""
    answer = t.run(program, policy="disk_limit: 8m\n")
    check(answer.status == "ok" and "went on" in answer.text, "a full disk does not end the run", answer)
    lines = answer.text.splitlines()
    check(lines[0].startswith("/sandbox/f") and lines[0].endswith("ENOSPC"), "the first file", lines)
    total = sum(int(line.split()[1]) for line in lines if "ENOSPC" in line)
    if t.holds("one_disk"):
        check(6 <= total <= 8, "/sandbox, /tmp and /dev/shm share the one limit (MiB written in all)", lines)
    else:
        check(all("ENOSPC" in line and int(line.split()[1]) <= 8 for line in lines[:-1]), "each has the limit", lines)
    check(answer.events("disk_full"), "the event", answer.result["events"])
    equal(answer.result["limits"]["disk_limit"], 8 << 20, "the limit in the result")


@case()
def disk_inodes(t):
    program = "n = 0\ntry:\n while n < 5000:\n  open(f'/tmp/{n}', 'w').close(); n += 1\nexcept OSError as e:\n" \
              " print(n, e.strerror)"
    answer = t.run(program, policy="inode_limit: 100\n")
    equal(answer.status, "ok", "full inodes do not end the run")
    check(80 <= int(answer.text.split()[0]) <= 100, "files that fitted", answer.text)
    check(answer.events("disk_full"), "the event", answer.result["events"])


@case()
def output(t):
    limit = 10_000
    for fd, name in ((1, "stdout"), (2, "stderr")):
        answer = t.run(f"import os, time\nos.write({fd}, b'x' * {limit + 1})\ntime.sleep(60)",
                       policy=f"output_limit: {limit}\n", options=["--timeout", "20"])
        equal((answer.status, answer.kind, answer.exit), ("limit", "output", 137),
              f"one byte too many on {name}")
        equal((answer.result["violation"]["limit"], answer.result[name]), (limit, "x" * limit),
              "limit and prefix")
        check(answer.result["violation"]["observed"] > limit, "the value seen", answer.result["violation"])
        check(name in json.dumps(answer.result["violation"]["detail"]), "which stream",
              answer.result["violation"])
        equal(answer.result[f"{name}_truncated"], True, "truncated")
    answer = t.run(f"import sys\nsys.stdout.write('x' * {limit}); sys.stderr.write('y' * {limit})",
                   policy=f"output_limit: {limit}\n")
    equal((answer.status, answer.text, answer.stderr), ("ok", "x" * limit, b"y" * limit),
          "exactly the limit on each stream")
    equal((answer.result["stdout_truncated"], answer.result["stderr_truncated"]), (False, False),
          "truncated")


@case()
def open_files(t):
    program = "import os, resource\nn = 3\ntry:\n while True: os.dup(0); n += 1\nexcept OSError as e: print(n, e.strerror)\n" \
              "print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    answer = t.run(program, policy="open_files: 40\n")
    equal((answer.status, answer.text), ("ok", "40 Too many open files\n(40, 40)\n"), "descriptors")


@case()
def cpus(t):
    program = "import os; print(len(os.sched_getaffinity(0)), os.cpu_count())"
    have = len(os.sched_getaffinity(0))
    for asked, seen in (("1", 1), ("0.5", 1), ("2", 2)):
        if seen > have:
            t.note(f"--cpus {asked} not tried: the host has {have}")
            continue
        answer = t.run(program, options=["--cpus", asked], policy="cpu_count: 2\n", trust="trusted")
        equal(answer.text, f"{seen} {seen}\n", f"sched_getaffinity and cpu_count under --cpus {asked}")
    widen = "import os\ntry:\n os.sched_setaffinity(0, range(64))\nexcept OSError: pass\nprint(len(os.sched_getaffinity(0)))"
    equal(t.run(widen, options=["--cpus", "1"]).text, "1\n", "the affinity can't be widened")


@case()
def cpu_bandwidth(t):
    """Half a CPU is half a CPU however many threads: bounds are wide, since the figure is a ratio over a second."""
    program = "import os, time\nif os.fork() == 0: pass\nend = time.time() + 1.5\nwhile time.time() < end: pass\n" \
              "os.wait() if False else None\ntime.sleep(0.1)"
    answer = t.run(program, options=["--cpus", "0.5"])
    equal(answer.status, "ok", "the run")
    ratio = answer.result["usage"]["cpu"] / answer.result["usage"]["wall"]
    check(ratio < 0.75, "CPU time per wall time under --cpus 0.5", answer.result["usage"])


@case()
def core_dumps(t):
    answer = t.run("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))")
    equal(answer.text, "(1, 1)\n", "RLIMIT_CORE")


@case()
def no_limit_of_address_space(t):
    """Memory is the cgroup's business: address space is free, or numpy and threads would fail."""
    answer = t.run("import mmap, resource\nm = mmap.mmap(-1, 4 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | "
                   "0x4000)\nm[0] = 1\nprint(resource.getrlimit(resource.RLIMIT_AS)[0] == "
                   "resource.RLIM_INFINITY)", options=["--memory", "64m"])
    equal((answer.status, answer.text), ("ok", "True\n"), "4 GiB of address space under 64 MiB of memory")


@case(limit=90)
def syscalls_that_only_fail(t):
    """A denied call is an event, counted; a flood of them ends the run as `syscall`, or is bounded in the events."""
    program = "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\nfor _ in range(%d):\n" \
              " r = l.mount(b'none', b'/tmp', b'tmpfs', 0, None)\nprint(r, ctypes.get_errno())"
    answer = t.run(program % 3)
    equal((answer.status, answer.text), ("ok", "-1 1\n"), "a denied mount fails with EPERM")
    event = answer.events("syscall_denied")
    if t.holds("counted"):
        check(event and event[0]["syscall"] == "mount" and event[0]["count"] == 3, "the event",
              answer.result["events"])
    flood = t.run(program % 1_000_000, options=["--timeout", "30"], patience=80)
    check(flood.kind in ("syscall", "timeout", "cpu_time") or flood.status == "ok",
          "a flood of denied calls", flood)
    check(len(flood.result["events"]) <= 256, "events are bounded", len(flood.result["events"]))
    host.assert_gone(flood)
