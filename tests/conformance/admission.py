# SPDX-License-Identifier: Apache-2.0
"""Admission: separate processes share one account of the host; what does not fit waits in a bounded queue, or is refused."""

import json

from lib.case import case, check, equal


def start_many(t, count, program, policy, options=()):
    commands = [t.sandbox.command(program, policy=policy, options=options, trust="trusted")
                for _ in range(count)]
    return [t.sandbox.start(command) for command in commands]


def finish_all(processes, seconds=80):
    results = []
    for process in processes:
        out, err = process.communicate(timeout=seconds)
        results.append((process.returncode, json.loads(out) if out else err))
    return results


def intervals_at_once(results):
    """The most runs at the same instant, by the programs' own clocks."""
    marks = []
    for _, result in results:
        start, end = (float(word) for word in result["stdout"].split())
        marks += [(start, 1), (end, -1)]
    most = now = 0
    for _, change in sorted(marks):
        now += change
        most = max(most, now)
    return most


SPAN = "import time\na = time.time(); time.sleep(0.4); print(a, time.time())"


@case(limit=120, exclusive=True)
def ten_at_once(t):
    """More than a small host holds: they queue, none fails, and the waiting is told."""
    results = finish_all(start_many(t, 10, SPAN, None))
    equal([status for status, _ in results], [0] * 10,
          f"exit statuses of ten at once: {[r for s, r in results if s][:1]}")
    uids = {result["security"]["host_uid"] for _, result in results}
    check(len(uids) >= 1 and 0 not in uids, "host uids", uids)
    t.note(f"at most {intervals_at_once(results)} at once, waited {[round(r['timing']['queue'], 2) for _, r in results]}")


@case(limit=120, exclusive=True)
def a_level_of_one(t):
    policy = "trust_levels:\n  trusted:\n    max_concurrent: 1\n"
    probe = t.run("print(1)", policy=policy, trust="trusted")
    check(probe.status == "ok", "a level with max_concurrent 1", probe)
    results = finish_all(start_many(t, 4, SPAN, policy))
    equal([status for status, _ in results], [0] * 4, "exit statuses")
    equal(intervals_at_once(results), 1, "runs of the level at once")
    check(max(result["timing"]["queue"] for _, result in results) > 0.8, "timing.queue of the last",
          [result["timing"]["queue"] for _, result in results])


@case(limit=120, exclusive=True)
def reject_when_full(t):
    policy = "allocation:\n  when_full: reject\ntrust_levels:\n  trusted:\n    max_concurrent: 1\n"
    first = t.run("print(1)", policy=policy, trust="trusted")
    check(first.status == "ok", "the first alone", first)
    results = finish_all(start_many(t, 3, SPAN, policy))
    statuses = sorted(status for status, _ in results)
    equal(statuses, [0, 125, 125], "one runs, two are refused")
    refused = [result for status, result in results if status == 125][0]
    check(refused["error"]["code"] and "max_concurrent" in json.dumps(refused["error"]),
          "the error names what was full",
          refused["error"])
