# SPDX-License-Identifier: Apache-2.0
"""
The native engine without root: what it refuses by name, what stands in when that is allowed, and what holds all the
same. Root runs these as uid 1000 in a mount namespace whose tables of subordinate ids are known; an ordinary user runs
those that need no such preparation.
"""

import json
import os
import signal
import subprocess
import time

from lib import attack, host
from lib.case import case, check, equal
from lib.sandbox import Sandbox

UID = 1000
RANGE = f"{UID}:200000:65536\n"
BOTH = ["--allow-degraded", "cgroup", "--allow-degraded", "uid"]

# Argument 1 is the table of subordinate ids; the rest is what setpriv gets.
ENTER = """
set -e
mount --bind "$1" /etc/subuid
mount --bind "$1" /etc/subgid
shift
exec setpriv "$@"
"""


class AsUser(Sandbox):
    """The program run as an ordinary user, by root."""

    def __init__(self, t, table="", groups="", before=""):
        super().__init__(t.program, t.backend, t.tmp, t.sandbox.root)
        runtime = t.tmp / "runtime"
        if not runtime.exists():
            runtime.mkdir(mode=0o700)
            os.chown(runtime, UID, UID)
        self.runtime = runtime
        self.prefix = ["unshare", "--mount", "sh", "-c", before + ENTER, "sh", str(t.write("subids", table)),
                       f"--reuid={UID}", f"--regid={UID}", f"--groups={groups}" if groups else "--clear-groups", "--"]

    def environment(self, extra=None):
        return super().environment({"XDG_RUNTIME_DIR": str(self.runtime), **(extra or {})})

    def call(self, command, **how):
        return super().call([*self.prefix, *command], **how)

    def start(self, command, env=None, **how):
        return super().start([*self.prefix, *command], env, **how)


def need_native_root(t):
    if t.backend != "native":
        t.skip("needs the native engine")
    t.need_root()
    for name in ("/etc/subuid", "/etc/subgid"):
        if not os.path.exists(name):
            t.skip(f"needs the file {name}")


def need_range_helpers(t):
    t.need_program("newuidmap")
    t.need_program("newgidmap")


@case()
def refused_by_name(t):
    """No cgroup and no range: one error that names all of it and the words that would waive it."""
    need_native_root(t)
    answer = AsUser(t).run("print('ran')")
    equal((answer.status, answer.exit, answer.result["stdout"]), ("error", 125, ""), "status")
    error = answer.result["error"]
    equal(error["code"], "not_enforceable", "error.code")
    for word in ("mem_limit", "pids_limit", "cpu_count", "uid"):
        check(word in error["message"], f"the message names {word}", error)
    for word in ("--allow-degraded cgroup", "--allow-degraded uid", "Delegate=yes", "/etc/subuid"):
        check(word in error["hint"], f"the hint names {word}", error)


@case()
def each_word_waives_its_own_part(t):
    need_native_root(t)
    user = AsUser(t)
    for given, missing in (("cgroup", "uid"), ("uid", "cgroup")):
        answer = user.run("print('ran')", options=["--allow-degraded", given])
        equal((answer.status, answer.result["error"]["code"]), ("error", "not_enforceable"), f"only {given} allowed")
        check(f"--allow-degraded {missing}" in answer.result["error"]["hint"], "the other one is named", answer)


@case()
def allowed_and_told(t):
    need_native_root(t)
    answer = AsUser(t).run("import os; print(os.getuid()); open('x', 'w').write('y')", options=BOTH)
    equal(answer.status, "ok", "status")
    security = answer.result["security"]
    equal(sorted(security["degraded"]), ["cgroup", "swap", "uid"], "security.degraded")
    equal((security["host_uid"], security["cgroup"], security["groups"]), (UID, None, []), "host uid, cgroup, groups")
    equal((security["no_new_privs"], security["seccomp"]["mode"], security["read_only_root"]), (True, "filter", True),
          "the rest holds")
    check({"namespaces", "read_only_root", "capabilities"} <= set(security["evidence"]["kernel"]),
          "the kernel itself was asked", security["evidence"])
    for name in ("memory_peak", "pids_peak", "cpu"):
        check(answer.result["usage"][name], f"usage.{name} is measured", answer.result["usage"])


@case()
def a_range_of_ids(t):
    """With a range nothing of the caller's identity is left: another uid, and no supplementary groups."""
    need_native_root(t)
    need_range_helpers(t)
    answer = AsUser(t, RANGE, groups=f"{UID},27").run("import os; print(os.getgroups())",
                                                      options=["--allow-degraded", "cgroup"])
    equal((answer.status, answer.text), ("ok", "[]\n"), "status and groups seen inside")
    security = answer.result["security"]
    check(200000 <= security["host_uid"] < 265536, "the uid is one of the range", security["host_uid"])
    equal((security["groups"], sorted(security["degraded"])), ([], ["cgroup", "swap"]), "groups and security.degraded")


@case()
def groups_that_stay(t):
    need_native_root(t)
    user = AsUser(t, groups=f"{UID},27")
    answer = user.run("print(1)", options=BOTH)
    equal((answer.status, answer.result["error"]["code"]), ("error", "not_enforceable"), "a group that can't be dropped")
    check("--allow-degraded groups" in answer.result["error"]["hint"], "the hint", answer.result["error"])
    answer = user.run("print(1)", options=[*BOTH, "--allow-degraded", "groups"])
    equal(answer.status, "ok", "allowed by name")
    check("groups" in answer.result["security"]["degraded"], "told", answer.result["security"])


@case()
def two_at_once_differ(t):
    need_native_root(t)
    need_range_helpers(t)
    user = AsUser(t, RANGE)
    options = ["--allow-degraded", "cgroup"]
    process = user.start(user.command("import time; time.sleep(3)", options=options))
    other = user.run("import time; time.sleep(1)", options=options)
    out, _ = process.communicate(timeout=60)
    first = json.loads(out)["security"]["host_uid"]
    check(first != other.result["security"]["host_uid"], "each has a host uid of its own", first)


# ---- What stands in for the cgroup ----

@case()
def processes_are_limited(t):
    need_native_root(t)
    program = """
import os, time
n = 0
try:
    while n < 200:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
except BlockingIOError:
    print(n)
"""
    user = AsUser(t)
    for _ in range(2):  # the kernel counts per container, so that the second has as many
        answer = user.run(program, options=[*BOTH, "--pids", "20"])
        equal((answer.status, answer.text), ("ok", "19\n"), "forks before one is refused")
    t.tried("a fork bomb under pids_limit 20: the twentieth child is refused")


@case()
def memory_is_limited(t):
    need_native_root(t)
    user = AsUser(t)
    answer = user.run("bytearray(1 << 30)", options=[*BOTH, "--memory", "100m"])
    equal(answer.status, "failed", "one process that asks for more than all")
    check("MemoryError" in answer.result["stderr"], "it is the program's own MemoryError", answer)
    program = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        block = bytearray(40 << 20)
        block[::4096] = b'x' * len(block[::4096])
        time.sleep(60)
        os._exit(0)
time.sleep(60)
"""
    answer = user.run(program, options=[*BOTH, "--memory", "100m", "--timeout", "20"])
    equal((answer.status, answer.kind), ("limit", "memory"), "several that need more together")
    t.tried("six children of 40 MiB each under mem_limit 100 MiB: ended as memory")


@case()
def memory_that_is_shared_counts_once(t):
    """Pages that a fork still shares are no reason to end a run."""
    need_native_root(t)
    program = """
import os, time
block = bytearray(40 << 20)
block[::4096] = b'x' * len(block[::4096])
children = [os.fork() for _ in range(1)]
if 0 in children:
    time.sleep(1.5)
    os._exit(0)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(1.5)
        os._exit(0)
time.sleep(1.5)
print('fine')
"""
    answer = AsUser(t).run(program, options=[*BOTH, "--memory", "100m"])
    equal((answer.status, answer.text), ("ok", "fine\n"), "five processes that share 40 MiB")


@case()
def cpu_time_is_limited(t):
    need_native_root(t)
    program = "import os\nfor _ in range(3):\n    if os.fork() == 0: break\nwhile True: pass\n"
    answer = AsUser(t).run(program, options=[*BOTH, "--cpu-time", "1", "--timeout", "20"])
    equal((answer.status, answer.kind), ("limit", "cpu_time"), "four that burn")


# ---- The end of a run ----

@case()
def files_come_out(t):
    need_native_root(t)
    out = t.tmp / "out"
    out.mkdir()
    os.chown(out, UID, UID)
    program = "import os\nfd = os.open('closed', os.O_CREAT | os.O_WRONLY, 0o600)\nos.write(fd, b'content')\n"
    answer = AsUser(t).run(program, options=[*BOTH, "--output-dir", str(out)])
    equal((answer.status, (out / "closed").read_bytes()), ("ok", b"content"), "a file that only its owner may read")


@case(exclusive=True)
def nothing_survives(t):
    need_native_root(t)
    marker = attack.unique(t, "user")
    user = AsUser(t)
    program = ("import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
               "for _ in range(3):\n    if os.fork() == 0: break\nprint('up', flush=True)\ntime.sleep(60)")
    command = user.command(program, [marker], options=BOTH, json_output=False)
    process = user.start(command, start_new_session=True)
    process.stdout.readline()
    supervisors = [pid for pid in host.processes_with(marker) if host.read(f"/proc/{pid}/comm") == b"mai-sandbox\n"]
    check(supervisors, "the supervisor is there")
    for pid in supervisors:
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=30)
    host.wait_until(lambda: not host.processes_with(marker), what="the death of all that it started")
    equal(user.call([t.program, "prune"]).exit, 0, "prune")
    records = [name for _, _, names in os.walk(user.runtime) for name in names if host.is_record(name)]
    equal(records, [], "records left")


@case()
def timeout_is_prompt(t):
    need_native_root(t)
    answer = AsUser(t).run("import time; time.sleep(60)", options=[*BOTH, "--timeout", "1"])
    equal((answer.kind, answer.exit), ("timeout", 124), "a sleeper")


# ---- What the doctor says, and hosts that give less ----

@case()
def doctor(t):
    need_native_root(t)
    user = AsUser(t)
    answer = user.call([t.program, "doctor", "--json"])
    equal(answer.exit, 1, "the default policy can't be enforced")
    report = json.loads(answer.out)
    equal(report["enforced"], False, "enforced")
    native = report["backends"][0]
    states = {item["name"]: item for item in native["requirements"]}
    equal({name for name, item in states.items() if item["state"] == "missing"}, {"cgroup", "swap", "uid"}, "missing")
    for name in ("cgroup", "uid"):
        check(states[name]["reason"] and f"--allow-degraded {name}" in states[name]["fix"], f"{name}: reason and fix",
              states[name])
    equal(states["seccomp"]["state"], "enforced", "what holds is told too")
    text = user.call([t.program, "doctor"])
    check(text.exit == 1 and b"MISSING" in text.out and b"fix:" in text.out, "for people", text)


@case()
def doctor_as_root(t):
    t.need_root()
    if t.backend != "native":
        t.skip("needs the native engine")
    answer = t.sandbox.call([t.program, "doctor", "--json"])
    report = json.loads(answer.out)
    equal((answer.exit, report["enforced"]), (0, True), "the default policy is enforced")
    check(all(item["state"] == "enforced" and item["evidence"] for item in report["backends"][0]["requirements"]),
          "each with its evidence", report)


@case()
def proc_in_part(t):
    """In a container /proc is covered in places, and then the kernel gives nobody a new one."""
    need_native_root(t)
    user = AsUser(t, before="mount -t tmpfs none /proc/sys/kernel\n")
    answer = user.run("print('ran')", options=BOTH)
    equal((answer.status, answer.result["error"]["code"]), ("error", "not_enforceable"), "a covered /proc")
    check("/proc" in answer.result["error"]["message"] and "visible" in answer.result["error"]["hint"],
          "the reason and the fix", answer.result["error"])


# Enters a user namespace in which ids from 0 on are those from argument 1 on, as many as argument 2 says.
MAPPED = ["/usr/bin/python3", "-c", r"""
import ctypes, os, sys
first, count, *command = sys.argv[1:]
ready, go = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    if ctypes.CDLL(None).unshare(0x10000000) < 0:
        os._exit(99)
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    for fd in (*ready, *go):
        os.close(fd)
    os.execvp(command[0], command)
os.read(ready[0], 1)
for name in ("uid_map", "gid_map"):
    with open(f"/proc/{pid}/{name}", "w") as file:
        file.write(f"0 {first} {count}")
os.write(go[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""]


@case()
def no_user_namespaces(t):
    need_native_root(t)
    user = AsUser(t, before="echo 0 >/proc/sys/user/max_user_namespaces\n")
    user.prefix[:0] = [*MAPPED, "0", "70000"]
    answer = user.run("print('ran')", options=BOTH)
    equal((answer.status, answer.result["error"]["code"]), ("error", "not_enforceable"), "no user namespaces")
    check("user namespace" in answer.result["error"]["message"] and
          "max_user_namespaces" in answer.result["error"]["hint"], "the reason and the fix", answer.result["error"])
    text = user.call([t.program, "doctor"])
    check(text.exit == 1 and b"not usable" in text.out and b"max_user_namespaces" in text.out, "the doctor", text)


@case()
def root_of_an_unprivileged_container(t):
    """Root of a user namespace with a range: containers get ids of that range, never its root."""
    need_native_root(t)
    inner = Sandbox(t.program, t.backend, t.tmp, t.sandbox.root)
    prefix = [*MAPPED, "300000", "65536", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
              "sh", "-c",
              'mount -t tmpfs none /run; unset XDG_RUNTIME_DIR; exec "$@"', "sh"]
    original = inner.call
    inner.call = lambda command, **how: original([*prefix, *command], **how)
    answer = inner.run("print('ran')")
    equal(answer.status, "error", "no cgroup can be written there")
    check("--allow-degraded cgroup" in answer.result["error"]["hint"], "the fix", answer.result["error"])
    answer = inner.run("print('ran')", options=["--allow-degraded", "cgroup"])
    equal((answer.status, answer.text), ("ok", "ran\n"), "allowed")
    security = answer.result["security"]
    equal(sorted(security["degraded"]), ["cgroup", "swap"], "security.degraded")
    equal(security["host_uid"], 65535, "the last id of the range, as that root sees it")


@case()
def delegated_subtree(t):
    """Where the user may make groups, nothing is degraded. As the user himself, since a group is given at login."""
    if os.geteuid() == 0 or t.backend != "native":
        t.skip("needs an ordinary user with a delegated cgroup")
    if subprocess.run([t.program, "doctor"], capture_output=True, check=False,
                      env={**os.environ, "HOME": str(t.tmp)}).returncode != 0:
        t.skip("needs an ordinary user with a delegated cgroup and a range of ids")
    env = {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}
    answer = t.run("print('ran')", env=env)
    equal((answer.status, answer.result["security"]["degraded"]), ("ok", []), "nothing is missing")
    equal(answer.result["security"]["cgroup"]["version"], 2, "cgroup v2")
    start = time.monotonic()
    answer = t.run("b = []\nwhile True: b.append(bytearray(8 << 20))", env=env, options=["--memory", "64m"])
    equal(answer.kind, "memory", f"after {time.monotonic() - start:.1f} s")
    host.assert_gone(answer)
