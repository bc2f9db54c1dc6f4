# SPDX-License-Identifier: Apache-2.0
"""
What the attack cases share. An attack is a hostile guest program made of named probes; each probe reports "done" or the
word of the error that met it. attack() runs the program inside, where every probe must be refused, and then where the
defence is missing (a build without it, or the bare host), where every probe must get through: a probe that is
refused everywhere would prove nothing.
"""

import json
import os
import platform
import subprocess

from lib.case import PYTHON, Failure, check

# Put before every guest program.
PRELUDE = r'''
import ctypes, errno, json, os, signal, sys
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
report = {}

def sc(number, *args):
    """The raw system call; raises OSError as the kernel answered."""
    ctypes.set_errno(0)
    words = [a if isinstance(a, (bytes, ctypes.Array, ctypes.Structure)) or a is None else ctypes.c_ulong(a & (2**64 - 1))
             for a in args]
    words = [ctypes.byref(a) if isinstance(a, (ctypes.Array, ctypes.Structure)) else a for a in words]
    value = _libc.syscall(ctypes.c_long(number), *words)
    if value < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return value

def word(error):
    if isinstance(error, OSError) and error.errno:
        return errno.errorcode.get(error.errno, str(error.errno))
    return type(error).__name__

def probe(name, function, *args):
    """Tries it here; the value, or None."""
    try:
        value = function(*args)
    except BaseException as error:
        report[name] = word(error)
        return None
    report[name] = "done"
    return value

def child_probe(name, function, *args):
    """Tries it in a child, for what changes or ends the process that does it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            function(*args)
            answer = "done"
        except BaseException as error:
            answer = word(error)
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 200).decode()
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    report[name] = answer or "killed by " + signal.Signals(os.WTERMSIG(status)).name

def finish():
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()

def read_some(path, size=4096):
    with open(path, "rb") as file:
        data = file.read(size)
    if not data.strip(b"\0\n "):
        raise OSError(errno.ENODATA, "empty")
    return data
'''

# Refusals by policy. Whatever else comes back shows that the call reached the code behind the defence.
REFUSED = {"EPERM", "EACCES", "ENOSYS"}
# A control that fails with these says that this kernel has no such thing.
LACKING = {"ENOSYS", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "ENODEV", "ENOENT", "EOPNOTSUPP",
           "ENODATA", "ENXIO", "EINVAL"}

# A world of its own for controls that change something: what they do is gone with them.
APART = ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


class NotRun(Failure):
    """The sandbox refused to run the program at all."""


def need_x86(t):
    if platform.machine() != "x86_64":
        t.skip("needs an x86-64 machine: the attack is written in its system call numbers")


def parse(out, context):
    lines = out.decode(errors="replace").splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, ValueError) as error:
        raise Failure(f"the guest program did not report: {context!r}") from error


def inside(t, guest, args=(), sandbox=None, **how):
    """Runs the program in the sandbox; its report. A run that did not end by itself is a failure of the case."""
    answer = (sandbox or t.sandbox).run(PRELUDE + guest, args, **how)
    if answer.status == "error":
        raise NotRun(f"the attack program was not run: {answer.result['error']}")
    check(answer.status in ("ok", "failed"), "the attack run did not end by itself", answer)
    report = parse(answer.stdout, answer)
    return report, answer


def on_host(t, guest, args=(), wrap=(), env=None, cwd=None, **how):
    """Runs the same program on the bare host, where nothing stops it. Only for what is harmless there."""
    path = t.write("control/main.py", PRELUDE + guest)
    done = subprocess.run([*wrap, PYTHON, str(path), *args], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=50,
                          cwd=cwd or path.parent, env=t.sandbox.environment(env), check=False, **how)
    return parse(done.stdout, done)


def attack(t, guest, tries, *, refused=None, args=(), host_args=None, wrap=(), defences=(), host=True,
           how=None,
           lacking=()):
    """
    The whole attack. `tries`: probe -> what it tries, for the reader. `refused`: probe -> set of words that count as
    a refusal (None: REFUSED, or "*" for any word but "done"). `defences`: builds without one defence that let it
    through. `host`: whether it may run on the bare host. `lacking`: words that, on the bare host, say that the kernel has
    no such thing, beside LACKING. Returns the report and the answer of the run inside.
    """
    refused = refused or {}

    def is_refused(name, seen):
        words = refused.get(name, refused.get("", REFUSED))
        return seen != "done" if words == "*" else seen in words

    report, answer = inside(t, guest, args, **(how or {}))
    through = {name: report.get(name, "not reported") for name in tries
               if not is_refused(name, report.get(name, ""))}
    t.note(f"inside: {report}")
    check(not through, "attacks got through: " + "; ".join(f"{tries[n]}: {seen}" for n,
                                                           seen in through.items()))

    shown, seen_elsewhere = {}, {}
    for defence in defences:
        weak = t.sandbox.without(defence)
        if weak is not None:
            try:
                control, _ = inside(t, guest, args, weak, **(how or {}))
            except NotRun as refusal:
                t.note(f"without {defence}: {refusal}")  # the read-back found it missing before the attack could
                continue
            t.note(f"without {defence}: {control}")
            for name in tries:
                if not is_refused(name, control.get(name, "EPERM")):
                    shown.setdefault(name, f"without {defence}")
    if host and set(tries) - set(shown):
        control = on_host(t, guest, host_args if host_args is not None else args, wrap)
        t.note(f"on the host: {control}")
        for name in tries:
            seen_elsewhere[name] = control.get(name, "not reported")
            if not is_refused(name, seen_elsewhere[name]):
                shown.setdefault(name, "on the host")
    missing = set(tries) - set(shown)
    unprovable = {name for name in missing if seen_elsewhere.get(name) in LACKING | set(lacking)}
    for name, text in tries.items():
        control = f"gets through {shown[name]}" if name in shown else f"not provable here ({seen_elsewhere.get(name)})"
        t.tried(f"{text}: {report[name]} ({control})")
    check(missing <= unprovable, "refused everywhere, so the case would notice nothing: "
          + "; ".join(f"{tries[name]}: {seen_elsewhere.get(name)}" for name in sorted(missing - unprovable)))
    if not shown:
        t.skip("needs a kernel that has what is attacked: " + ", ".join(tries))
    return report, answer


def expect_noticed(t, defences, demand):
    """
    For attacks that are a list of demands rather than probes: `demand(sandbox)` must fail over each build that lacks one
    of the defences, where such builds are at hand.
    """
    for defence in defences:
        weak = t.sandbox.without(defence)
        if weak is None:
            continue
        try:
            demand(weak)
        except NotRun as refusal:
            t.note(f"without {defence}: {refusal}")
        except AssertionError as noticed:
            t.tried(f"noticed in a build without {defence}: {str(noticed).splitlines()[0]}")
        else:
            raise Failure(f"the case notices nothing in a build without {defence}")


def unique(t, name):
    """A word that no other run uses, to find canaries and processes by."""
    return f"mai-{name}-{os.getpid()}-{os.urandom(4).hex()}"
