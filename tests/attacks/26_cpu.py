# SPDX-License-Identifier: Apache-2.0
"""Class 26: burning CPU in several processes against sleeping: each limit is named for what it is."""

from lib.case import case, check, equal

BURN = """
import os
for _ in range(3):
    if os.fork() == 0:
        break
while True:
    pass
"""


@case()
def burn_and_sleep(t):
    policy = "cpu_time: 1\ntimeout: 30\n"
    answer = t.run(BURN, policy=policy)
    equal((answer.status, answer.kind, answer.exit), ("limit", "cpu_time", 137), "four processes that burn")
    equal(answer.result["violation"]["limit"], 1, "the limit named")
    check(0.9 <= answer.result["violation"]["observed"] <= 2.5, "the CPU time seen",
          answer.result["violation"])
    check(answer.result["usage"]["cpu"] >= 0.9, "usage.cpu", answer.result["usage"])
    t.tried(f"four processes burn under cpu_time 1: {answer.kind}, {answer.result['violation']['observed']:.2f} s seen")
    answer = t.run("import time; time.sleep(60)", policy="cpu_time: 1\ntimeout: 2\n")
    equal((answer.kind, answer.exit), ("timeout", 124), "a sleeper")
    check(answer.result["usage"]["cpu"] < 1, "CPU time of a sleeper", answer.result["usage"])
    t.tried("a sleeper under cpu_time 1 and timeout 2: timeout")


@case()
def children_that_ended_count(t):
    """CPU time of processes that are gone is not forgotten: a chain of short-lived burners."""
    chain = """
import os, time
while True:
    pid = os.fork()
    if pid == 0:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        os._exit(0)
    os.waitpid(pid, 0)
"""
    answer = t.run(chain, policy="cpu_time: 1\ntimeout: 30\n")
    equal(answer.kind, "cpu_time", "a chain of short-lived burners")
    t.tried("a chain of children of 50 ms each: cpu_time")
