# SPDX-License-Identifier: Apache-2.0
"""What comes out: streams while they are written, events, collected files."""

import hashlib
import json
import os
import subprocess
import time

from lib import host
from lib.case import case, check, equal


@case()
def streams_untouched(t):
    answer = t.run("import os\nos.write(1, bytes(range(256)))\nos.write(2, bytes(range(255, -1, -1)))",
                   json_output=False)
    equal((answer.exit, answer.out, answer.err), (0, bytes(range(256)), bytes(range(255, -1, -1))),
          "raw bytes")
    answer = t.run("import os\nfor n in range(200): os.write(1, b'o' * 9999); os.write(2, b'e' * 9999)",
                   json_output=False,
                   policy="output_limit: 4m\n", trust="trusted")
    equal((len(answer.out), len(answer.err)), (1999800, 1999800), "two megabytes on each stream")


def arrives_early(t, read):
    """The program prints, then waits for long: what it printed must be here well before its end."""
    start = time.monotonic()
    process, line = read()
    took = time.monotonic() - start
    alive = process.poll() is None
    process.terminate()
    process.communicate(timeout=30)
    check(b"first" in line and alive and took < 15, "the first line did not come while the program ran",
          line, took)


@case()
def streaming(t):
    def read():
        process = t.sandbox.start(t.sandbox.command("import time\nprint('first')\ntime.sleep(30)",
                                                    json_output=False))
        return process, process.stdout.readline()

    arrives_early(t, read)


@case()
def events_arrive_early(t):
    def read():
        process = t.sandbox.start(t.sandbox.command("import time\nprint('first')\ntime.sleep(30)",
                                                    events=True))
        line = process.stdout.readline()
        while line and json.loads(line)["kind"] != "output":
            line = process.stdout.readline()
        return process, line

    arrives_early(t, read)


@case()
def events(t):
    program = "import sys, time\nfor n in range(5):\n print('o', n); print('e', n, file=sys.stderr); time.sleep(0.15)"
    answer = t.run(program, events=True)
    lines = answer.lines()
    kinds = [line["kind"] for line in lines]
    equal((kinds.count("result"), kinds[-1]), (1, "result"), "the result is the last line")
    for stream, text in (("stdout", "o"), ("stderr", "e")):
        data = "".join(line["data"] for line in lines if line["kind"] == "output"
                       and line["stream"] == stream)
        equal(data, "".join(f"{text} {n}\n" for n in range(5)), f"{stream} in events")
    check("sample" in kinds, "no samples among the events", sorted(set(kinds)))
    outputs = [line["t"] for line in lines if line["kind"] == "output" and "t" in line]
    equal(outputs, sorted(outputs), "times of output")
    numbers = [line["seq"] for line in lines if "seq" in line]
    equal(numbers, sorted(set(numbers)), "sequence numbers")
    check(all(line.get("data") is None or isinstance(line["data"], str) for line in lines), "data is text")
    equal(answer.err, b"", "standard error of --events")


@case()
def events_with_bytes(t):
    answer = t.run("import os\nos.write(1, b'\\xff\\x00')", events=True)
    out = [line for line in answer.lines() if line["kind"] == "output"]
    check(out and any(line.get("encoding") == "base64" or "base64" in line.values() for line in out),
          "invalid text is marked as base64", out)
    equal(answer.stdout, b"\xff\x00", "the bytes in the result")


@case()
def events_and_json_exclude_each_other(t):
    answer = t.sandbox.call(t.sandbox.command("print(1)", options=["--events"]))
    equal((answer.exit, answer.out), (2, b""), "--json and --events together")


@case()
def collected_files(t):
    program = """
import os
os.makedirs("a/b/c")
for path, data in (("one.txt", b"1"), ("a/two.json", b"{}"), ("a/b/c/three.csv", b"x,y"), ("empty", b""),
                   ("big.bin", os.urandom(1) * (3 << 20)), ("unicode-\\u00e9.txt", b"e")):
    with open(path, "wb") as file:
        file.write(data)
os.chmod("one.txt", 0o600)
os.mkdir("hollow")
"""
    out = t.tmp / "not" / "yet" / "there"
    answer = t.run(program, options=["--output-dir", str(out)])
    equal(answer.status, "ok", "the run")
    found = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    names = {"one.txt", "a/two.json", "a/b/c/three.csv", "empty", "big.bin", "unicode-é.txt"}
    equal(found, names, "files in the output directory (the program itself is left out)")
    listed = {entry["path"]: entry for entry in answer.result["files"]}
    equal(set(listed), names, "files in the result")
    for name, entry in listed.items():
        data = (out / name).read_bytes()
        equal((entry["size"], entry["sha256"], entry["path_encoding"]),
              (len(data), hashlib.sha256(data).hexdigest(), "utf-8"), f"entry of {name}")
    check(listed["a/two.json"]["media_type"] == "application/json"
          and listed["one.txt"]["media_type"] == "text/plain",
          "media types", listed)
    equal(os.stat(out / "one.txt").st_uid, os.getuid(), "owner of what came out")


@case()
def collected_after_a_limit(t):
    """What was written before the limit comes out too; a program that changed itself is listed."""
    out = t.tmp / "out"
    answer = t.run("import time\nopen('part', 'w').write('half')\ntime.sleep(60)",
                   options=["--output-dir", str(out), "--timeout", "1"])
    equal((answer.kind, (out / "part").read_text()), ("timeout", "half"), "files after a time-out")
    answer = t.run("open('main.py', 'a').write('# changed')", options=["--output-dir", str(t.tmp / "self")])
    equal([entry["path"] for entry in answer.result["files"]], ["main.py"], "a program that changed itself")


@case()
def existing_files_are_replaced(t):
    out = t.tmp / "out"
    out.mkdir()
    (out / "result.txt").write_text("a much longer text from before")
    (out / "other.txt").write_text("other")
    answer = t.run("open('result.txt', 'w').write('new')", options=["--output-dir", str(out)])
    equal((answer.status, (out / "result.txt").read_text(), (out / "other.txt").read_text()),
          ("ok", "new", "other"),
          "a file that was there before")


@case()
def output_directory_that_can_not_be(t):
    plain = t.write("plain", "x")
    answer = t.run("print('ran')", options=["--output-dir", str(plain)])
    check(answer.exit == 125 and answer.status == "error", "a file as output directory", answer)
    check(str(plain) in answer.result["error"]["message"], "the path is not named", answer.result["error"])


@case()
def terminated_by_the_caller(t):
    """SIGTERM, SIGINT and SIGHUP to the program: the run is cancelled, all is cleaned up, and the answer still comes."""
    import signal

    from lib import attack
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Under nohup, or behind a shell's `&`, it would be inherited as ignored, and then it is right that nothing happens.
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
        marker = attack.unique(t, "cancel")
        process = t.sandbox.start(t.sandbox.command("import time; time.sleep(60)", [marker]))
        host.wait_until(lambda: host.programs_with(marker, process.pid),
                        what="the program")
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
        result = json.loads(out)
        equal(result["status"], "cancelled", f"status after {number.name}")
        check(result["ended_by"], "ended_by", result["ended_by"])
        equal(process.returncode, 128 + number, "exit status")
        equal(host.processes_with(marker), [], "processes left")


@case()
def nobody_reads(t):
    """A full pipe to a reader that is asleep must not stop the clock of the time limit."""
    from lib import attack
    marker = attack.unique(t, "unread")
    process = t.sandbox.start(t.sandbox.command("while True: print('x' * 1000)", [marker], json_output=False,
                                                options=["--timeout", "2"]), stderr=subprocess.DEVNULL)
    try:
        host.wait_until(lambda: host.programs_with(marker, process.pid),
                        what="the program")
        host.wait_until(lambda: not host.programs_with(marker, process.pid), seconds=25,
                        what="the program's end at its limits while nobody reads")
    finally:
        process.kill()
        process.communicate()
