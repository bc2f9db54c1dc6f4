# SPDX-License-Identifier: Apache-2.0
"""Class 22: fork and thread bombs. The bomb is bounded on the host, where a hundred processes show that it goes off."""

import threading

from lib import attack, host
from lib.case import case, check, equal

COUNT = r'''
import threading, time
children, threads, stop = [], [], threading.Event()
def fork():
    for _ in range(int(sys.argv[1])):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
def thread():
    for _ in range(int(sys.argv[1])):
        one = threading.Thread(target=stop.wait)
        one.start()
        threads.append(one)
probe("fork", fork)
report["children"] = len(children)
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
probe("thread", thread)
report["threads"] = len(threads)
stop.set()
finish()
'''


@case()
def counted(t):
    report, answer = attack.attack(t, COUNT, {"fork": "100 processes at once under --pids 20",
                                              "thread": "100 threads"},
                                   args=["100"], refused={"fork": {"EAGAIN"}, "thread": {"RuntimeError"}},
                                   defences=["cgroup-pids"], how={"options": ["--pids", "20"]})
    equal(answer.result["limits"]["pids_limit"], 20, "the limit in the result")
    for kind in ("children", "threads"):
        check(17 <= report[kind] <= 20, f"{kind} under a limit of 20, the program itself included", report)
    events = answer.events("pids_refused")
    check(len(events) >= 1 and events[0]["count"] >= 1, "no event tells of the refused forks",
          answer.result["events"])
    check(15 <= answer.result["usage"]["pids_peak"] <= 20, "pids_peak", answer.result["usage"])


@case(limit=90)
def fork_bomb(t):
    """Every process forks for ever. The host sees no more than the limit; the time limit ends it, all of it."""
    bomb = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    most, done = [0], threading.Event()
    marker = attack.unique(t, "bomb")

    def watch():
        while not done.wait(0.05):
            most[0] = max(most[0], len(host.processes_with(marker)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        answer = t.run(bomb, [marker], options=["--pids", "30", "--timeout", "2", "--cpus", "1"],
                       patience=80)
    finally:
        done.set()
        watcher.join()
    check(answer.kind in ("timeout", "cpu_time"), "what ended the bomb", answer)
    check(most[0] <= 30 + 4, "processes seen on the host", most)  # and ours: supervisor, launcher
    check(answer.events("pids_refused"), "no event", answer.result["events"])
    host.assert_gone(answer)
    equal(host.processes_with(marker), [], "processes left")
    t.tried(f"while True: fork(): at most {most[0]} processes on the host, ended as {answer.kind}, none left")
