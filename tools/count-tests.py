#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the cases of a Meson test run, from its testlog.json; ends with "N passed, N failed, N skipped".

A test program that speaks TAP (cmocka with CMOCKA_MESSAGE_OUTPUT=TAP) counts case by case; any other counts as one.
A program that crashed after some good cases adds one failure, so a crash can never be counted away.
"""
import json
import re
import sys

CASE = re.compile(r"^(not )?ok\b(.*)$", re.MULTILINE)
MESON_SKIP = 77
STATUS_GOOD = {"OK", "EXPECTEDFAIL", "SKIP"}


def count_one(test):
    passed = failed = skipped = 0
    output = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
    for refused, rest in CASE.findall(output):
        if "# SKIP" in rest.upper():
            skipped += 1
        elif refused:
            failed += 1
        else:
            passed += 1
    good = test.get("result") in STATUS_GOOD
    if passed + failed + skipped == 0:
        if test.get("result") == "SKIP" or test.get("returncode") == MESON_SKIP:
            return 0, 0, 1
        return (1, 0, 0) if good else (0, 1, 0)
    if not good and failed == 0:
        failed += 1
    return passed, failed, skipped


def main(path):
    try:
        with open(path, encoding="utf-8") as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except OSError as error:
        print(f"count-tests: {error}")
        tests = []
    totals = [0, 0, 0]
    for test in tests:
        counts = count_one(test)
        totals = [total + count for total, count in zip(totals, counts)]
        word = "FAILED" if counts[1] else "ok"
        print(f"{word:8}{test['name']}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped")
        if counts[1]:
            print(test.get("stdout") or "", test.get("stderr") or "", sep="\n")
    if not tests:
        print("FAILED  no test ran")
        totals[1] += 1
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 1 if totals[1] else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: count-tests.py TESTLOG.JSON")
    sys.exit(main(sys.argv[1]))
