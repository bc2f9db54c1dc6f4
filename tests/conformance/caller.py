# SPDX-License-Identifier: Apache-2.0
"""What the caller has (limits, ignored signals, files in the way) is not felt inside, or is a clear error."""

import os
import resource
import signal
import subprocess

from lib.case import case, check, equal


def call(t, arguments, prepare):
    return subprocess.run([t.program, "run", *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=50,
                          check=False, preexec_fn=prepare)


def reserves_addresses(t):
    """A program built with AddressSanitizer maps terabytes, so it can't be started under a limit on them."""
    with open(t.program, "rb") as file:
        return b"__asan_init" in file.read()


@case()
def few_descriptors(t):
    program = t.sandbox.path("ok.py", "print('up')")
    for number in (8, 16, 24, 32, 63):
        done = call(t, [program], lambda n=number: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        equal(done.returncode, 125, f"{number} descriptors: status")
        check(b"ulimit -n" in done.stderr and done.stderr.count(b"\n") == 1, f"{number} descriptors", done.stderr)
    done = call(t, [program], lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    equal((done.returncode, done.stdout), (0, b"up\n"), "64 descriptors are enough")


@case()
def resource_limits(t):
    """Soft limits of the caller that are lower than what the policy gives."""
    program = t.sandbox.path("limits.py", "import resource as r\n"
                             "for n in (r.RLIMIT_AS, r.RLIMIT_DATA, r.RLIMIT_CPU, r.RLIMIT_FSIZE): "
                             "print(r.getrlimit(n)[0])\nopen('f', 'w').write('x' * 10000)\n")
    low = {resource.RLIMIT_AS: 64 << 20, resource.RLIMIT_DATA: 32 << 20, resource.RLIMIT_CPU: 5,
           resource.RLIMIT_NPROC: 1, resource.RLIMIT_STACK: 256 << 10}

    if reserves_addresses(t):
        del low[resource.RLIMIT_AS], low[resource.RLIMIT_DATA]

    def lower():
        for which, value in low.items():
            resource.setrlimit(which, (value, resource.getrlimit(which)[1]))

    done = call(t, [program], lower)
    expected = [str(resource.getrlimit(which)[1]) for which in (
        resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)]
    equal((done.returncode, done.stdout.decode().split()), (0, expected), f"limits inside: {done.stderr!r}")


@case()
def file_size_limit(t):
    """Not a silent death by SIGXFSZ."""
    program = t.sandbox.path("ok.py", "print('up')")
    done = call(t, [program], lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    check(done.returncode in (0, 125), "exit status", done)
    check(done.returncode == 0 or b"ulimit -f" in done.stderr, "an error without the reason", done.stderr)


@case()
def ignored_signals(t):
    numbers = [n for n in signal.valid_signals() if n not in (signal.SIGKILL, signal.SIGSTOP)]
    program = t.sandbox.path("ignored.py", "print([l for l in open('/proc/self/status') if l[:6] in "
                             "('SigIgn', 'SigBlk')])")

    def ignore():
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)

    plain = call(t, [program], None)
    done = call(t, [program], ignore)
    equal((done.returncode, done.stdout), (0, plain.stdout), "signals ignored and blocked inside")


@case()
def output_in_the_way(t):
    """A file that can't be written is said, in every form of answer."""
    target = t.tmp / "out"
    (target / "a.txt").mkdir(parents=True)
    program = t.sandbox.path("out.py", "open('a.txt', 'w').write('x')")
    done = call(t, ["--output-dir", str(target), program], None)
    equal(done.returncode, 125, "exit status")
    check(b"a.txt" in done.stderr, "the file is not named", done.stderr)


@case()
def input_files_in_the_way(t):
    program = t.sandbox.path("ok.py", "print('up')")
    other = t.sandbox.path("other.txt", "x")
    done = call(t, ["--file", f"{other}:x", "--file", f"{other}:x/y", program], None)
    equal(done.returncode, 125, "one destination is a folder of the other")
    check(b"x/y" in done.stderr and b"disk_limit" not in done.stderr, "the reason", done.stderr)
    huge = t.tmp / "huge"
    with open(huge, "wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    limit = resource.RLIM_INFINITY if reserves_addresses(t) else 1 << 30
    done = call(t, ["--file", str(huge), program], lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    equal(done.returncode, 125, "a terabyte of holes")
    check(b"larger than" in done.stderr, "the reason", done.stderr)
