#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Shows what Mai Sandbox does: ordinary programs run in containers with live figures, then hostile ones are stopped, each
for a named reason. Every act says what it expects, and the exit status is 0 only if all of it happened.

The acts stand in one table below; their programs are in examples/.
"""
import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
OUTPUT_LINES = 8
HARD_STOP = 120  # seconds; no act should come near it


def ended(status):
    """Expects this status of the run."""
    def check(result):
        if result["status"] != status:
            return f"status is {result['status']}, not {status}: {reason(result)}"
        return None
    return check


def stopped_by(*kinds):
    """Expects that a limit ended the run, under one of these names."""
    def check(result):
        kind = (result.get("violation") or {}).get("kind")
        return None if kind in kinds else f"expected it to be stopped by {' or '.join(kinds)}, got: {reason(result)}"
    return check


def noticed(kind):
    """Expects an event of this kind: a refusal that need not end the run."""
    def check(result):
        kinds = [event["kind"] for event in result["events"]]
        return None if kind in kinds else f"no event {kind}; events: {kinds or 'none'}"
    return check


def left_file(suffix):
    def check(result):
        names = [entry["path"] for entry in result["files"] if entry["size"] > 0]
        return None if any(name.endswith(suffix) for name in names) else f"left no {suffix} file: {names or 'none'}"
    return check


def cut_off(result):
    """Expects no way out: no network of the host's, and not a word about success from the program."""
    if result["security"]["network"] != "none":
        return f"security.network is {result['security']['network']}, not none"
    if result["security"]["namespaces"]["net"] == os.stat("/proc/self/ns/net").st_ino:
        return "it shares the network namespace of the host"
    # network.py says REACHED for a way that is open, and then exits with 1.
    if "REACHED" in result["stdout"] or result["exit_code"] != 0:
        return f"it reached the network, or ended too early to tell: {reason(result)}"
    return None


# Title, program, options of `run`, what is to be expected (all of them).
FRIENDLY = [
    ("A first program", "hello.py", [], [ended("ok")]),
    ("A computation on several processes", "primes.py", [], [ended("ok")]),
    ("A plot, brought out as a file", "plot.py", ["--trust", "untrusted"], [ended("ok"), left_file(".png")]),
    ("A database in its private disk space", "word_count.py", ["--stdin", "README.md"], [ended("ok"), left_file(".db")]),
]
HOSTILE = [
    ("It wants all of the memory", "memory_hog.py", ["--memory", "128m"], [stopped_by("memory")]),
    ("It sleeps for ever", "sleeper.py", ["--timeout", "2"], [stopped_by("timeout")]),
    ("A fork bomb", "fork_bomb.py", ["--pids", "20", "--timeout", "3"], [noticed("pids_refused")]),
    ("It calls home", "network.py", ["--timeout", "10"], [cut_off]),
]


class Screen:
    """What is written; one line is rewritten in place on a terminal, and left out elsewhere."""

    def __init__(self):
        self.terminal = sys.stdout.isatty()

    def style(self, code, text):
        return f"\033[{code}m{text}\033[0m" if self.terminal else text

    def line(self, text=""):
        if self.terminal:
            sys.stdout.write("\r\033[K")
        print(text, flush=True)

    def live(self, text):
        if self.terminal:
            sys.stdout.write(f"\r\033[K  {self.style(2, text)}")
            sys.stdout.flush()


def reason(result):
    for key in ("violation", "error"):
        if result.get(key):
            return f"{result[key].get('kind') or result[key].get('code')}: {result[key]['message']}"
    return f"exit code {result['exit_code']}" + (f", {result['stderr'].strip()[-300:]}" if result["stderr"] else "")


def mebibytes(count):
    return "?" if count is None else f"{count / (1 << 20):.1f} MiB"


def figures(sample):
    return (f"{sample['t']:5.1f} s   CPU {sample['cpu']:.2f} s   memory {mebibytes(sample['memory'])}"
            f"   processes {sample['pids']}")


def printable(text):
    """Output of a program that we do not trust: control characters are shown, not obeyed."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def output_text(event):
    if event.get("data_encoding", event.get("encoding")) == "base64":
        return base64.b64decode(event["data"]).decode("utf-8", "replace")
    return event["data"]


def run(screen, sandbox, program, options):
    """Runs one program and shows it as it goes. Returns (result, samples seen)."""
    command = [sandbox, "run", "--events", *options, str(program)]
    samples = 0
    printed = 0
    result = None
    pending = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, cwd=ROOT) as process:
        for line in process.stdout:
            event = json.loads(line)
            if event["kind"] == "sample":
                samples += 1
                screen.live(figures(event))
            elif event["kind"] == "output" and event["stream"] == "stdout":
                pending += output_text(event)
                while "\n" in pending:
                    first, pending = pending.split("\n", 1)
                    printed += 1
                    if printed <= OUTPUT_LINES:
                        screen.line(f"  | {printable(first)}")
                    elif printed == OUTPUT_LINES + 1:
                        screen.line("  | ...")
            elif event["kind"] == "result":
                result = event["result"]
        process.wait(timeout=HARD_STOP)
    return result, samples


def act(screen, sandbox, title, name, options, expectations):
    program = EXAMPLES / name
    screen.line()
    screen.line(screen.style(1, title))
    wants_files = any(check.__qualname__.startswith("left_file") for check in expectations)
    shown = [*options, *(["--output-dir", "DIR"] if wants_files else []), f"examples/{name}"]
    screen.line(f"  $ mai-sandbox run {' '.join(shown)}")
    with tempfile.TemporaryDirectory(prefix="mai-demo-") as output:
        extra = ["--output-dir", output] if wants_files else []
        result, samples = run(screen, sandbox, program, [*options, *extra])
    if result is None:
        return None, ["it ended without a result"]
    usage = result["usage"]
    screen.line(screen.style(2, f"  {usage['wall'] or 0:.2f} s, CPU {usage['cpu'] or 0:.2f} s, peak memory "
                                f"{mebibytes(usage['memory_peak'])}, peak processes {usage['pids_peak'] or '?'}, "
                                f"{samples} live samples"))
    for entry in result["files"]:
        screen.line(f"  left {printable(entry['path'])}, {entry['size']} bytes, {entry['media_type'] or 'of unknown type'}")
    for event in result["events"]:
        screen.line(f"  noticed: {event['kind']}, {event['count']} times")
    if result["violation"]:
        screen.line(screen.style(33, f"  stopped: {result['violation']['kind']}: {result['violation']['message']}"))
    faults = [fault for fault in (check(result) for check in expectations) if fault]
    if not result["cleanup"]["complete"]:
        faults.append(f"something was left behind: {result['cleanup']['leftovers']}")
    for fault in faults:
        screen.line(screen.style(31, f"  NOT AS IT SHOULD BE: {fault}"))
    return result, faults


def show_result(screen, result):
    screen.line()
    screen.line(screen.style(1, "What a caller gets, with --json (the `security` part is read back from the kernel)"))
    short = dict(result)
    short["samples"] = result["samples"][:2] + (["..."] if len(result["samples"]) > 2 else [])
    for line in json.dumps(short, indent=2, ensure_ascii=True).splitlines():
        screen.line("  " + line)


def main():
    parser = argparse.ArgumentParser(description="Runs the examples and shows what the sandbox makes of them.")
    parser.add_argument("--sandbox", default=str(ROOT / "build" / "mai-sandbox"))
    options = parser.parse_args()
    sandbox = os.path.abspath(options.sandbox)
    absent = [name for _, name, _, _ in FRIENDLY + HOSTILE if not (EXAMPLES / name).exists()]
    if absent or not os.access(sandbox, os.X_OK):
        sys.exit(f"demo: missing: {', '.join(absent) or sandbox}")

    screen = Screen()
    failures = 0
    last = None
    for heading, acts in (("Programs that mean well", FRIENDLY), ("Programs that do not", HOSTILE)):
        screen.line()
        screen.line(screen.style("1;4", heading))
        for title, name, arguments, expectations in acts:
            result, faults = act(screen, sandbox, title, name, arguments, expectations)
            failures += bool(faults)
            if acts is FRIENDLY and name == "hello.py":
                last = result
    if last:
        show_result(screen, last)
    count = len(FRIENDLY) + len(HOSTILE)
    screen.line()
    if failures:
        screen.line(screen.style(31, f"{failures} of {count} programs did not do what they should."))
        return 1
    screen.line(screen.style(32, f"All {count} programs did what they should, and nothing of them is left."))
    screen.line("Next: write a program of your own, and `build/mai-sandbox run FILE`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
