# SPDX-License-Identifier: Apache-2.0
"""
Drives the real `mai-sandbox` program, as a user would, and reads its answers. Every result that passes through here is
checked against docs/result.schema.json (where it exists) and against what holds for all results.
"""

import base64
import json
import os
import pathlib
import signal
import subprocess
import time

from lib.exceptions import DEGRADED

# The caller's environment as the suites give it: a little, so that what leaks into a sandbox is known.
CALLER_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8"}
VALIDATORS = {}


def validator(root):
    """The schema's validator, or None where the schema or the jsonschema module is not there."""
    if root not in VALIDATORS:
        VALIDATORS[root] = None
        path = pathlib.Path(root) / "docs" / "result.schema.json"
        if path.exists():
            try:
                import jsonschema
            except ImportError:
                return None
            schema = json.loads(path.read_text())
            VALIDATORS[root] = jsonschema.validators.validator_for(schema)(schema)
    return VALIDATORS[root]


class Answer:
    """What one call of the program gave back."""

    def __init__(self, command, exit_status, out, err, seconds):
        self.command = command
        self.exit = exit_status
        self.out = out
        self.err = err
        self.seconds = seconds  # as measured from outside, the program's start and end included
        self.result = None

    def _stream(self, name):
        text = self.result[name]
        if self.result[f"{name}_encoding"] == "base64":
            return base64.b64decode(text)
        return text.encode()

    @property
    def stdout(self):
        """Standard output of the program inside, as bytes."""
        return self._stream("stdout") if self.result else self.out

    @property
    def stderr(self):
        return self._stream("stderr") if self.result else self.err

    @property
    def text(self):
        return self.stdout.decode()

    @property
    def active(self):
        """Seconds as seen from outside, without the wait for a share of a host that others use too."""
        return self.seconds - (self.result["timing"]["queue"] if self.result and self.result["timing"] else 0)

    @property
    def status(self):
        return self.result["status"]

    @property
    def kind(self):
        violation = self.result["violation"]
        return violation["kind"] if violation else None

    def events(self, kind):
        return [event for event in self.result["events"] if event["kind"] == kind]

    def lines(self):
        """The JSON lines of `--events`."""
        return [json.loads(line) for line in self.out.decode().splitlines()]

    def __repr__(self):
        shown = self.result if self.result is not None else self.out[-2000:]
        return f"exit {self.exit}, {self.seconds:.2f} s, stderr {self.err[-1500:]!r}, answer {shown!r}"


def assert_result(answer, root):
    """What must hold for every result, whatever the run was."""
    result = answer.result
    check = validator(root)
    if check is not None:
        faults = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in check.iter_errors(result)]
        assert not faults, f"the result breaks docs/result.schema.json: {faults[:5]}"
    status = result["status"]
    assert status in ("ok", "failed", "limit", "cancelled", "error"), f"status {status!r}"
    assert (result["violation"] is not None) == (status == "limit"), f"violation and status disagree: {answer!r}"
    error = result["error"]
    # A program that ran well, but whose files could not be written out, keeps its status beside the error.
    unwritten = error is not None and error["code"].startswith("output") and status != "error"
    assert (error is not None) == (status == "error") or unwritten, f"error and status disagree: {answer!r}"
    if status == "ok":
        expected = {0}
        assert result["exit_code"] == 0 and result["signal"] is None, f"ok, but: {answer!r}"
    elif status == "failed":
        if result["signal"] is not None:
            expected = {128 + getattr(signal.Signals, result["signal"]).value}
        else:
            expected = {result["exit_code"]}
            assert result["exit_code"] != 0, f"failed with exit code 0: {answer!r}"
    elif status == "limit":
        expected = {124} if result["violation"]["kind"] == "timeout" else {137}
    elif status == "cancelled":
        expected = {129, 130, 137, 141, 143}
    else:
        expected = {125, 126, 127}
    if unwritten and status == "ok":
        expected = {125}
    assert answer.exit in expected, f"status {status} with exit status {answer.exit}: {answer!r}"
    if status in ("ok", "failed", "limit"):
        cleanup = result["cleanup"]
        assert cleanup and cleanup["complete"] is True and cleanup["leftovers"] == [], f"not cleaned up: {answer!r}"


class Sandbox:
    def __init__(self, program, backend, directory, root):
        self.program = str(program)
        self.backend = backend
        self.runtime = os.environ.get("MAI_SANDBOX_TEST_RUNTIME", "")  # of an engine; "": its own choice
        self.tmp = pathlib.Path(directory)
        self.root = root
        self.count = 0

    def environment(self, extra=None):
        """HOME is the case's own directory, so that no policy of the user who runs the tests is found."""
        environment = {**CALLER_ENVIRONMENT, "HOME": str(self.tmp)}
        if self.backend == "docker":
            environment["DOCKER_HOST"] = os.environ.get("DOCKER_HOST", "")
            # Where a case brings no policy of its own; the shipped one knows no image of an engine.
            default = self.tmp / "docker-policy.yaml"
            if not default.exists():
                default.write_text(self.adapted(""))
                default.chmod(0o644)
            environment["MAI_SANDBOX_POLICY"] = str(default)
        elif os.environ.get("MAI_SANDBOX_TEST_IMAGE"):
            if os.geteuid() != 0:
                environment["XDG_DATA_HOME"] = os.environ["MAI_SANDBOX_TEST_DATA"]
            environment["MAI_SANDBOX_POLICY"] = str(self.image_policy())
        environment.update(extra or {})
        return {name: value for name, value in environment.items() if value is not None}  # None: not set

    def adapted(self, policy):
        """
        The text of a policy with what the backend needs beside it, at its end, so that lines keep their numbers.
        """
        if not isinstance(policy, str) or policy.startswith("{"):
            return policy
        if self.backend != "docker":
            image = os.environ.get("MAI_SANDBOX_TEST_IMAGE")
            return f"{policy}\nimage: {image}\n" if image and "image:" not in policy else policy
        image = os.environ.get("MAI_SANDBOX_TEST_IMAGE", "mai-python")
        runtime = f"runtime: {self.runtime}\n" if self.runtime else ""
        return f"{policy}\nbackend: docker\nimage: {image}\n{runtime}"

    def image_policy(self):
        """The shipped policy, but for the image."""
        path = self.tmp / "image-policy.yaml"
        if not path.exists():
            path.write_text(self.adapted(""))
            path.chmod(0o644)
        return path

    def path(self, name, content, mode=0o644):
        self.count += 1
        directory = self.tmp / f"in{self.count}"
        directory.mkdir()
        path = directory / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return path

    def options(self, subcommand, options, trust, policy, json_output, events, stdin_file):
        """The command line up to what is to be run."""
        command = [self.program, subcommand]
        if self.backend != "native":
            command += ["--backend", self.backend]
        for part in DEGRADED.get(self.runtime, ()):
            command += ["--allow-degraded", part]
        if trust:
            command += ["--trust", trust]
        if policy is not None:
            command += ["--policy", str(self.path("policy.yaml", self.adapted(policy)))]
        if json_output:
            command.append("--json")
        if events:
            command.append("--events")
        if stdin_file is not None:
            command += ["--stdin", str(self.path("stdin", stdin_file))]
        return command + list(options)

    def command(self, program, args=(), options=(), trust="untrusted", policy=None, json_output=True,
                events=False,
                stdin_file=None, name="main.py"):
        """
        The command line of `run`. `program` is source text or bytes, a Path, or "-"; `policy` the text of a policy file.
        """
        command = self.options("run", options, trust, policy, json_output and not events, events, stdin_file)
        if isinstance(program, (str, bytes)) and program != "-":
            program = self.path(name, program)
        return command + [str(program), *args]

    def run(self, program, args=(), *, env=None, cwd=None, stdin=None, patience=50, **how):
        command = self.command(program, args, **how)
        parse = how.get("json_output", True) and not how.get("events")
        return self.call(command, parse=parse, events=how.get("events"), env=env, cwd=cwd, stdin=stdin,
                         patience=patience)

    def exec(self, argv, *, options=(), trust="untrusted", policy=None, json_output=True, stdin_file=None,
             env=None,
             cwd=None, patience=50):
        command = self.options("exec", options, trust, policy, json_output, False, stdin_file)
        return self.call([*command, "--", *argv], parse=json_output, env=env, cwd=cwd, patience=patience)

    def call(self, command, *, parse=False, events=False, env=None, cwd=None, stdin=None, patience=50):
        """Runs a command line. `patience`: seconds after which the program under test counts as hung."""
        start = time.monotonic()
        given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(command, capture_output=True, timeout=patience, env=self.environment(env),
                              cwd=cwd or self.tmp, check=False, **given)
        status = done.returncode if done.returncode >= 0 else f"killed by signal {-done.returncode}"
        answer = Answer(command, status, done.stdout, done.stderr, time.monotonic() - start)
        if parse and not (answer.exit == 2 and not answer.out):
            text = answer.out.decode()
            answer.result = json.loads(text) if text.strip() else None
            assert answer.result is not None, f"--json, but no document on standard output: {answer!r}"
            assert text.count("\n") <= 1 or text.strip().startswith("{"), f"more than a document: {answer!r}"
            assert_result(answer, self.root)
        if events and answer.exit != 2:
            lines = answer.lines()
            assert lines and lines[-1]["kind"] == "result", f"the last event is not the result: {answer!r}"
            answer.result = lines[-1]["result"]
            assert_result(answer, self.root)
        return answer

    def start(self, command, env=None, **how):
        """Starts a command line without waiting; the caller waits or kills."""
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        how.setdefault("cwd", self.tmp)
        return subprocess.Popen(command, env=self.environment(env), **how)

    def without(self, defence):
        """The same program built with one defence left out, or None where nobody built it."""
        directory = os.environ.get("MAI_SANDBOX_DEFENCE_OFF_DIR")
        if not directory:
            return None
        program = pathlib.Path(directory) / defence / "mai-sandbox"
        if not program.exists():
            return None
        return Sandbox(program, self.backend, self.tmp_for(defence), self.root)

    def tmp_for(self, name):
        directory = self.tmp / f"without-{name}"
        directory.mkdir(exist_ok=True)
        return directory
