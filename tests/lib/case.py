# SPDX-License-Identifier: Apache-2.0
"""
A case is a function with one argument, the Context, marked with @case. It passes by returning, fails by raising, and
is skipped by calling `t.skip()` with the ability that the host lacks. Each runs in a process of its own.
"""

import os
import pathlib
import shutil

from lib.exceptions import exceptions_for
from lib.sandbox import Sandbox

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"


class Failure(AssertionError):
    """The program under test did something else than it must."""


class Skipped(Exception):
    """The host lacks a named ability that the case needs."""


def case(limit=60, exclusive=False):
    """Marks a test case. `limit`: most seconds it may take. `exclusive`: it runs while no other case does."""

    def mark(function):
        function.case = {"limit": limit, "exclusive": exclusive}
        return function

    return mark


def shorten(value, size=600):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= size else f"{text[:size // 2]} […] {text[-size // 2:]}"


def check(condition, what, *seen):
    if not condition:
        raise Failure(what + "".join(f"\n      seen: {shorten(item, 2000)}" for item in seen))


def equal(seen, expected, what):
    if seen != expected:
        raise Failure(f"{what}\n      expected: {shorten(expected)}\n      seen:     {shorten(seen)}")


class Context:
    """What a case works with: the program under test, a temporary directory, and a voice."""

    def __init__(self, program, backend, directory, name=""):
        self.name = name
        self.program = program
        self.backend = backend
        self.tmp = pathlib.Path(directory)
        self.sandbox = Sandbox(program, backend, self.tmp, ROOT)
        self.run = self.sandbox.run
        self.exec = self.sandbox.exec
        self.tries = []
        self.notes = []

    def tried(self, text):
        """What an attack tried and what came of it; the runner prints it beside the case."""
        self.tries.append(" ".join(str(text).split()))

    def holds(self, part):
        """
        Whether the named part of this case is demanded of the backend: false where lib/exceptions.py has it, as
        "suite/file:case#part". The reason is noted, and the rest of the case holds.
        """
        reason = exceptions_for(self.backend, os.environ.get("MAI_SANDBOX_TEST_RUNTIME", "")).get(f"{self.name}#{part}")
        if reason:
            self.note(f"{part} is left out: {reason}")
        return reason is None

    @property
    def slack(self):
        """How many times as long as the native engine the backend may take for what is not the program's own time."""
        return 5 if self.backend == "docker" else 1

    def note(self, text):
        """Shown with --verbose, and when the case fails."""
        self.notes.append(str(text))

    def skip(self, ability):
        raise Skipped(ability)

    def need_root(self):
        if os.geteuid() != 0:
            self.skip("needs root")

    def need_program(self, name):
        path = shutil.which(name, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        if path is None:
            self.skip(f"needs the program {name}")
        return path

    def write(self, name, content, mode=0o644):
        """Makes a file in the temporary directory and returns its path."""
        path = self.tmp / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return path
