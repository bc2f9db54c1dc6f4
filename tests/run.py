#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs the black-box suites over the real program:

    tests/run.py [--backend NAME] [--runtime NAME] [--image NAME] [-j N] [-v] [--list] [FILTER...]

MAI_SANDBOX names the program (default: build/mai-sandbox). A FILTER is a part of a name, or a pattern with * and ?; a
name is suite/file:case. One line a case; the last line is the count. Exit status 1 if anything failed.
"""

import argparse
import fnmatch
import importlib.util
import json
import os
import pathlib
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback

TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS))
sys.dont_write_bytecode = True

from lib import sandbox as driver  # noqa: E402
from lib.case import ROOT, Context, Failure, Skipped, shorten  # noqa: E402
from lib.exceptions import exceptions_for  # noqa: E402

# Time limits of cases are for the native backend; an engine takes a hundred times as long to make a container.
PATIENCE = {"native": 1, "docker": 5}
SUITES = ("conformance", "attacks", "docker_client", "gateway", "torture")


class Case:
    def __init__(self, name, function):
        self.name = name
        self.function = function
        self.limit = function.case["limit"]
        self.exclusive = function.case["exclusive"]


class Running:
    """One case in its own process and session, its outcome in a file."""

    def __init__(self, case, options):
        self.case = case
        self.limit = case.limit * PATIENCE.get(options.backend, 1)
        self.start = time.monotonic()
        self.directory = tempfile.mkdtemp(prefix="mai-test-")
        os.chmod(self.directory, 0o755)
        self.outcome_path = os.path.join(self.directory, ".outcome")
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            run_here(case, options, self.directory, self.outcome_path)
        self.pidfd = os.pidfd_open(self.pid)

    def overdue(self, now):
        return now - self.start > self.limit

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def finish(self, killed):
        _, wait_status = os.waitpid(self.pid, 0)
        self.kill()  # what the case started in its group and forgot
        os.close(self.pidfd)
        outcome = {"status": "failed", "tries": [], "notes": [],
                   "text": f"the case died, wait status {wait_status}"}
        if killed:
            outcome["text"] = f"over its time limit of {self.limit} s"
        elif os.path.exists(self.outcome_path):
            with open(self.outcome_path, encoding="utf-8") as file:
                outcome = json.load(file)
        outcome["seconds"] = time.monotonic() - self.start
        shutil.rmtree(self.directory, ignore_errors=True)
        return outcome


def run_here(case, options, directory, outcome_path):
    """In the case's own process: runs it, writes the outcome, never returns."""
    work = os.path.join(directory, "work")
    os.mkdir(work)
    os.chdir(work)
    os.umask(0o022)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    context = Context(options.program, options.backend, work, case.name)
    status, text = "passed", ""
    try:
        case.function(context)
    except Skipped as skipped:
        status, text = "skipped", str(skipped)
    except Failure as failure:
        where = traceback.extract_tb(failure.__traceback__)[0 if len(
            traceback.extract_tb(failure.__traceback__)) < 2 else 1]
        status, text = "failed", f"{failure}\n      at {os.path.relpath(where.filename, ROOT)}:{where.lineno}"
    except BaseException as error:  # pylint: disable=broad-except
        status, text = "failed", shorten(f"{error}",
                                         3000) + "\n" + "".join(traceback.format_tb(error.__traceback__)[1:])
    with open(outcome_path + ".new", "w", encoding="utf-8", errors="backslashreplace") as file:
        json.dump({"status": status, "text": text, "tries": context.tries, "notes": context.notes}, file)
    os.rename(outcome_path + ".new", outcome_path)
    os._exit(0)


def discover():
    """All cases, in order of suite, file and position in it."""
    cases = []
    for suite in SUITES:
        for path in sorted((TESTS / suite).glob("*.py")):
            spec = importlib.util.spec_from_file_location(f"{suite}_{path.stem}", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            for name, function in vars(module).items():
                if hasattr(function, "case") and function.__module__ == module.__name__:
                    cases.append(Case(f"{suite}/{path.stem}:{name}", function))
    return cases


def wanted(name, filters):
    return not filters or any(part in name or fnmatch.fnmatch(name, part) for part in filters)


def report(case, outcome, verbose):
    print(f"{outcome['status']:8}{case.name} ({outcome['seconds']:.1f} s)", end="")
    if outcome["status"] == "skipped":
        print(f": {outcome['text']}", end="")
    if outcome["tries"]:
        print("  tried: " + "; ".join(outcome["tries"]), end="")
    print()
    if outcome["status"] == "failed":
        print("    " + outcome["text"].rstrip().replace("\n", "\n    "))
    if verbose or outcome["status"] == "failed":
        for note in outcome["notes"]:
            print("    note: " + note)
    sys.stdout.flush()


def run_all(cases, options, counts):
    """Those that share the machine first, `jobs` at a time, then the exclusive ones alone."""
    shared = [case for case in cases if not case.exclusive]
    alone = [case for case in cases if case.exclusive]
    for queue, jobs in ((shared, options.jobs), (alone, 1)):
        queue, running = list(queue), {}
        try:
            run_queue(queue, running, jobs, options, counts)
        finally:
            for one in running.values():  # we are being stopped ourselves
                one.kill()
                one.finish(True)


def run_queue(queue, running, jobs, options, counts):
    """Runs the cases of the queue, `jobs` at a time; `running` is what is under way, by descriptor."""
    with selectors.DefaultSelector() as selector:
        while queue or running:
            while queue and len(running) < jobs:
                case = queue.pop(0)
                reason = exceptions_for(options.backend, options.runtime).get(case.name)
                if reason:
                    counts["skipped"] += 1
                    outcome = {"status": "skipped", "text": reason, "seconds": 0, "tries": [],
                               "notes": []}
                    report(case, outcome, options.verbose)
                    continue
                one = Running(case, options)
                running[one.pidfd] = one
                selector.register(one.pidfd, selectors.EVENT_READ)
            ended = [key.fd for key, _ in selector.select(0.2)] if running else []
            late = [fd for fd, one in running.items() if fd not in ended
                    and one.overdue(time.monotonic())]
            for fd in late:
                running[fd].kill()
            for fd in ended + late:
                one = running.pop(fd)
                selector.unregister(fd)
                outcome = one.finish(fd in late)
                counts[outcome["status"]] += 1
                report(one.case, outcome, options.verbose)


def unknown_exceptions(names):
    """Those that name no case, or a part that the case's file does not ask for."""
    known = {case.name: case.function.__globals__["__file__"] for case in discover()}
    parts = [name.partition("#")[::2] for name in names]
    return [f"{name}#{part}" if part else name for name, part in parts if name not in known
            or part and f't.holds("{part}")' not in pathlib.Path(known[name]).read_text(encoding="utf-8")]


def main():
    parser = argparse.ArgumentParser(description="Runs the black-box suites.")
    parser.add_argument("filters", nargs="*", metavar="FILTER")
    parser.add_argument("--backend", default="native")
    parser.add_argument("--image", help="run in this image of the backend, and not in the host's own tree")
    parser.add_argument("--runtime", default="", help="OCI runtime of the engine, such as runsc")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("-j", dest="jobs", type=int, default=min(4, len(os.sched_getaffinity(0))))
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    cases = [case for case in discover() if wanted(case.name, options.filters)]
    os.environ["MAI_SANDBOX_TEST_RUNTIME"] = options.runtime
    unknown = unknown_exceptions(exceptions_for(options.backend, options.runtime))
    if unknown:
        sys.exit(f"tests/lib/exceptions.py names cases that do not exist: {', '.join(sorted(unknown))}")
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    if options.image:
        os.environ["MAI_SANDBOX_TEST_IMAGE"] = options.image
        os.environ["MAI_SANDBOX_TEST_DATA"] = os.environ.get("XDG_DATA_HOME",
                                                             os.path.expanduser("~/.local/share"))
    options.program = os.path.abspath(os.environ.get("MAI_SANDBOX", ROOT / "build" / "mai-sandbox"))
    if not os.access(options.program, os.X_OK):
        sys.exit(f"{options.program} is not a program: build first, or set MAI_SANDBOX")
    driver.validator(ROOT)  # loaded once, before the cases fork
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    run_all(cases, options, counts)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
