# SPDX-License-Identifier: Apache-2.0
"""Class 29: floods on both streams, and output one byte at a time."""

import os

from lib.case import case, check, equal


@case(limit=90)
def flood(t):
    program = """
import os, threading
def pour(fd, letter):
    while True:
        os.write(fd, letter * 65536)
threading.Thread(target=pour, args=(2, b"e")).start()
pour(1, b"o")
"""
    command = t.sandbox.command(program, policy="output_limit: 100k\n")
    process = t.sandbox.start(command)
    out, err = [], []
    with process.stdout, process.stderr:
        while data := process.stdout.read(1 << 16):
            out.append(data)
        err.append(process.stderr.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    import json
    result = json.loads(b"".join(out))
    equal((result["status"], result["violation"]["kind"]), ("limit", "output"), "a flood on both streams")
    equal(process.returncode, 137, "exit status")
    equal(result["violation"]["limit"], 100 << 10, "the limit named")
    longest = max(len(result["stdout"]), len(result["stderr"]))
    equal(longest, 100 << 10, "what is kept of the stream that hit the limit")
    check(set(result["stdout"]) <= {"o"} and set(result["stderr"]) <= {"e"}, "the streams were mixed")
    check(usage.ru_maxrss < 64 << 10, "the supervisor grew", f"{usage.ru_maxrss} KiB")
    t.tried(f"endless output on both streams: `output`, {longest} bytes kept, supervisor at {usage.ru_maxrss >> 10} MiB")


@case()
def flood_of_a_stream_without_json(t):
    """Streaming: the caller gets the prefix and a line that says why; the bound holds as well."""
    answer = t.run("while True: print('x' * 999)", json_output=False, policy="output_limit: 50k\n")
    equal(answer.exit, 137, "exit status")
    check(49 << 10 <= len(answer.out) <= 50 << 10, "bytes that came through", len(answer.out))
    check(b"output" in answer.err, "no word of the reason on standard error", answer.err)
    t.tried(f"endless output, streamed: {len(answer.out)} bytes came through, then stopped with the reason")


@case()
def drip(t):
    answer = t.run("import os, time\nfor n in range(300):\n os.write(1, b'%d' % (n % 10)); time.sleep(0.001)")
    equal((answer.status, answer.text), ("ok", "0123456789" * 30), "300 bytes, one at a time")
    t.tried("300 bytes one at a time: all there")
