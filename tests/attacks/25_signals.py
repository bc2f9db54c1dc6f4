# SPDX-License-Identifier: Apache-2.0
"""Class 25: signals to everybody, stops, blocked and ignored signals: neither the supervisor nor the clock cares."""

from lib import attack, host
from lib.case import case, check, equal


@case()
def kill_everybody(t):
    """kill(-1) spares its caller and PID 1; the program goes on and its status is its own."""
    guest = """
import os, signal
for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
    for target in (-1, 1, os.getppid()):
        try:
            os.kill(target, number)
        except OSError as error:
            print(target, number.name, error.strerror)
print("still here")
raise SystemExit(5)
"""
    answer = t.run(guest)
    equal((answer.status, answer.exit), ("failed", 5), "status after signals to everybody")
    check("still here" in answer.text, "the program did not go on", answer)
    t.tried("SIGTERM, SIGKILL and SIGSTOP to -1, 1 and the parent: the program's own exit status 5 is reported")


@case()
def stops_and_deaf_ears(t):
    programs = {
        "SIGSTOP to itself": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        "SIGSTOP to its group": "import os, signal; os.kill(0, signal.SIGSTOP)",
        "all signals blocked": "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(60)",
        "SIGTERM and SIGINT ignored": "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
                                      "time.sleep(60)",
        "stopped by a child, which waits": "import os, signal, time\nif os.fork() == 0:\n os.kill(os.getppid(), "
                                           "signal.SIGSTOP)\ntime.sleep(60)",
        "vfork child that does not exec": "import ctypes, time\nctypes.CDLL(None).syscall(58) or time.sleep(60)",
    }
    for what, program in programs.items():
        answer = t.run(program, options=["--timeout", "0.7"])
        equal((answer.status, answer.kind, answer.exit), ("limit", "timeout", 124), what)
        over = answer.result["usage"]["wall"] - 0.7
        check(over < 0.1, f"{what}: {over:.3f} s over the limit", answer.result["usage"])
        host.assert_gone(answer)
        t.tried(f"{what}: ended {over * 1000:.0f} ms after the limit")


@case()
def death_of_the_program_by_signal(t):
    for name, number in (("SIGKILL", 9), ("SIGTERM", 15), ("SIGABRT", 6), ("SIGSEGV", 11), ("SIGUSR1", 10)):
        answer = t.run(f"import os; os.kill(os.getpid(), {number})")
        equal((answer.status, answer.result["signal"], answer.exit), ("failed", name, 128 + number),
              f"own {name}")
    t.tried("the program kills itself by signal: reported as its own failure, not as a limit")
