# SPDX-License-Identifier: Apache-2.0
"""The result: every member that the contract names, with its type and a value that makes sense."""

import datetime
import json
import os
import platform

from lib.case import case, check, equal

NUMBER, TEXT, COUNT, LIST, OBJECT, TRUTH = (int, float), str, int, list, dict, bool
NOTHING = type(None)

CONTRACT = {
    "schema_version": COUNT, "id": TEXT, "container_id": TEXT, "session_id": NOTHING, "node": TEXT,
    "started_at": TEXT,
    "status": TEXT, "ended_by": NOTHING, "exit_code": COUNT, "signal": NOTHING, "stdout": TEXT,
    "stderr": TEXT,
    "stdout_truncated": TRUTH, "stderr_truncated": TRUTH, "stdout_encoding": TEXT, "stderr_encoding": TEXT,
    "violation": NOTHING, "events": LIST, "trust_level": TEXT, "backend": TEXT, "runtime": OBJECT,
    "image": OBJECT,
    "limits": OBJECT, "usage": OBJECT, "samples": LIST, "files": LIST, "security": OBJECT, "timing": OBJECT,
    "cleanup": OBJECT, "error": NOTHING,
    "runtime.name": TEXT, "runtime.version": TEXT, "image.name": TEXT, "image.digest": (str, NOTHING),
    "limits.cpu_count": NUMBER, "limits.mem_limit": COUNT, "limits.timeout": NUMBER,
    "limits.pids_limit": COUNT,
    "limits.cpu_time": NUMBER, "limits.disk_limit": COUNT, "limits.inode_limit": COUNT,
    "limits.output_limit": COUNT,
    "limits.open_files": COUNT,
    "usage.wall": NUMBER, "usage.cpu": NUMBER, "usage.cpu_user": (int, float, NOTHING),
    "usage.cpu_system": (int, float, NOTHING), "usage.memory_peak": COUNT, "usage.pids_peak": COUNT,
    "usage.disk": COUNT,
    "usage.io_read": (int, NOTHING), "usage.io_write": (int, NOTHING), "usage.net_rx": (int, NOTHING),
    "usage.net_tx": (int, NOTHING),
    "security.uid": COUNT, "security.gid": COUNT, "security.host_uid": COUNT, "security.groups": LIST,
    "security.capabilities": OBJECT, "security.no_new_privs": TRUTH, "security.seccomp": OBJECT,
    "security.landlock_abi": (int, NOTHING), "security.namespaces": OBJECT, "security.read_only_root": TRUTH,
    "security.writable": LIST, "security.network": TEXT, "security.cgroup": OBJECT,
    "security.policy_sha256": TEXT,
    "security.degraded": LIST, "security.unsafe": LIST, "security.evidence": OBJECT,
    "security.capabilities.effective": LIST, "security.capabilities.permitted": LIST,
    "security.capabilities.inheritable": LIST, "security.capabilities.bounding": LIST,
    "security.capabilities.ambient": LIST, "security.seccomp.mode": TEXT, "security.seccomp.filters": COUNT,
    "security.seccomp.profile": TEXT, "security.seccomp.sha256": TEXT, "security.cgroup.version": COUNT,
    "security.evidence.kernel": LIST, "security.evidence.engine": LIST, "security.evidence.guest": LIST,
    "timing.queue": NUMBER, "timing.create": NUMBER, "timing.start": NUMBER, "timing.run": NUMBER,
    "timing.collect": NUMBER, "timing.destroy": NUMBER,
    "cleanup.complete": TRUTH, "cleanup.processes_killed": COUNT, "cleanup.leftovers": LIST,
}


def member(result, path):
    for name in path.split("."):
        result = result[name]
    return result


@case()
def every_member(t):
    answer = t.run("print('x')")
    wrong = []
    for path, kind in CONTRACT.items():
        try:
            value = member(answer.result, path)
        except (KeyError, TypeError):
            wrong.append(f"{path} is missing")
            continue
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wrong.append(f"{path} is {value!r}")
    equal(wrong, [], "members of the result")
    unknown = set(answer.result) - {path.split(".")[0] for path in CONTRACT}
    equal(unknown, set(), "members that the contract does not name")


@case()
def document_alone(t):
    answer = t.run("import sys; print('out'); print('err', file=sys.stderr)")
    equal(answer.err, b"", "standard error of `--json`")
    equal((answer.text, answer.stderr), ("out\n", b"err\n"), "the streams in the document")
    document, end = json.JSONDecoder().raw_decode(answer.out.decode())
    equal(answer.out.decode()[end:].strip(), "", "what follows the document")
    equal(document["schema_version"], 1, "schema_version")


@case()
def who_when_where(t):
    before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=2)
    first, second = t.run("print(1)"), t.run("print(1)")
    check(first.result["id"] != second.result["id"], "two runs have one id", first.result["id"])
    check(first.result["container_id"] != second.result["container_id"], "two containers have one id")
    started = datetime.datetime.fromisoformat(first.result["started_at"].replace("Z", "+00:00"))
    now = datetime.datetime.now(datetime.timezone.utc)
    check(before <= started <= now, "started_at is not now, or has no time zone", first.result["started_at"])
    equal(first.result["node"], platform.node(), "node")
    equal((first.result["backend"], first.result["trust_level"]), (t.backend, "untrusted"),
          "backend and trust level")


@case()
def security_is_what_the_program_sees(t):
    """The evidence in the result against what the program itself reads: two witnesses."""
    program = r'''
import json, os
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
names = {name: os.stat(f"/proc/self/ns/{name}").st_ino for name in os.listdir("/proc/self/ns")}
print(json.dumps({"uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(), "namespaces": names,
                  "filters": int(status["Seccomp_filters"]), "nnp": status["NoNewPrivs"].strip(),
                  "host_uid": int(open("/proc/self/uid_map").read().split()[1])}))
'''
    answer = t.run(program)
    seen, told = json.loads(answer.text), answer.result["security"]
    equal((told["uid"], told["gid"], told["groups"]), (seen["uid"], seen["gid"], seen["groups"]), "ids")
    check(told["uid"] != 0 and told["gid"] != 0 and told["host_uid"] != 0, "root", told)
    equal(told["no_new_privs"], True, "no_new_privs")
    equal([told["capabilities"][kind] for kind in ("effective", "permitted", "inheritable", "bounding",
                                                   "ambient")],
          [[], [], [], [], []], "capabilities")
    equal((told["seccomp"]["mode"], told["seccomp"]["filters"]), ("filter", seen["filters"]), "seccomp")
    equal(len(told["seccomp"]["sha256"]), 64, "digest of the filter")
    for kind, inode in told["namespaces"].items():
        equal(seen["namespaces"].get(kind), inode, f"inode of the {kind} namespace")
        own = os.stat(f"/proc/self/ns/{kind}").st_ino
        if kind != "user" or t.holds("user_namespace"):
            check(own != inode, f"the {kind} namespace is the host's own", inode)
    check({"user", "mnt", "pid", "net", "ipc", "uts"} <= set(told["namespaces"]), "namespaces",
          told["namespaces"])
    equal((told["read_only_root"], told["network"]), (True, "none"), "root and network")
    equal(sorted(told["writable"]), ["/dev/shm", "/sandbox", "/tmp"], "writable")
    equal((told["degraded"], told["unsafe"]), ([], []), "degraded and unsafe")
    check(told["cgroup"]["version"] in (1, 2), "cgroup version", told["cgroup"])
    equal(len(told["policy_sha256"]), 64, "digest of the policy")
    check(told["evidence"]["kernel"], "nothing was read back from the kernel", told["evidence"])


@case()
def what_is_writable(t):
    """`writable` is the whole truth: every directory is tried."""
    program = r'''
import os
found = set()
for directory, names, _ in os.walk("/"):
    names[:] = [name for name in names if not (directory == "/" and name == "proc")]
    try:
        path = os.path.join(directory, ".try")
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.unlink(path)
        found.add(directory)
    except OSError:
        pass
print(sorted(found))
'''
    answer = t.run(program, patience=50)
    roots = [path for path in eval(answer.text)]  # a list of texts, printed by our own program
    below = [p for p in roots if not any(p == w or p.startswith(w + "/")
                                         for w in answer.result["security"]["writable"])]
    equal(below, [], "directories that can be written but are not listed")
    for path in ("/sandbox", "/tmp", "/dev/shm"):
        check(path in roots, f"{path} can't be written", roots)


@case()
def figures(t):
    program = "import time\nx = bytearray(30 << 20)\nopen('f', 'wb').write(bytes(3 << 20))\nend = time.process_time() + 0.5\n" \
              "while time.process_time() < end: pass\ntime.sleep(0.5)"
    answer = t.run(program)
    usage = answer.result["usage"]
    check(1.0 <= usage["wall"] <= answer.active + 0.05, "wall time", usage)
    check(0.5 <= usage["cpu"] <= 3, "CPU time", usage)
    check(33 << 20 <= usage["memory_peak"] <= 200 << 20, "memory_peak", usage)
    check(3 << 20 <= usage["disk"] <= 8 << 20, "disk", usage)
    check(1 <= usage["pids_peak"] <= 2, "pids_peak", usage)
    if usage["cpu_user"] is not None:
        check(usage["cpu_user"] + usage["cpu_system"] <= usage["cpu"] * 1.2 + 0.1, "user and system", usage)
    timing = answer.result["timing"]
    check(all(value >= 0 for value in timing.values()), "negative times", timing)
    check(abs(timing["run"] - usage["wall"]) < 0.2, "timing.run and usage.wall", [timing, usage])
    check(sum(timing.values()) <= answer.active + timing["queue"] + 0.05, "more time than there was",
          [timing, answer.active])


@case()
def samples(t):
    answer = t.run("import time\nend = time.time() + 2\nwhile time.time() < end: pass", trust="trusted")
    taken = answer.result["samples"]
    check(8 <= len(taken) <= 40, "ten samples a second, fewer on a busy machine", len(taken))
    times, cpu = [sample["t"] for sample in taken], [sample["cpu"] for sample in taken]
    equal((times, cpu), (sorted(times), sorted(cpu)), "samples in order, CPU time cumulative")
    check(cpu[-1] > 0.5 and all(sample["memory"] > 0 and sample["pids"] >= 1 for sample in taken), "figures",
          taken[-1])
    check(-0.5 <= times[0] and times[-1] <= answer.result["usage"]["wall"] + 0.2,
          "times count from the start", times)


@case()
def a_run_that_never_was(t):
    """`error`: one form of answer, also when nothing ran."""
    answer = t.run("print('ran')", options=["--timeout", "100000"])
    equal((answer.status, answer.exit, answer.result["exit_code"]), ("error", 125, None), "status")
    check(answer.result["error"]["code"] and answer.result["error"]["message"], "code and message",
          answer.result["error"])
    missing = set(name for name in CONTRACT if "." not in name) - set(answer.result)
    equal(missing, set(), "members that are missing from a result of status error")
    equal(set(answer.result["error"]), {"code", "message", "hint"}, "members of error")
