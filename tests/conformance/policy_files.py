# SPDX-License-Identifier: Apache-2.0
"""The policy on the command line: checks with place and hint, what a level resolves to, where the file is looked for."""

import os
import re

from lib.case import ROOT, case, check, equal

GOOD = {
    "partial": "timeout: 9\n",
    "comments": "# a policy\ntimeout: 9   # seconds\n",
    "sizes": 'mem_limit: "512m"\ndisk_limit: 64m\n',
    "share of the host": 'mem_limit: "10%"\n',
    "levels": "trust_levels:\n  trusted:\n    timeout: 60\n  extra:\n    timeout: 5\n",
    "fraction": "cpu_count: 1.5\n",
}

# name -> (text, what the message must contain)
BAD = {
    "unknown key": ("timeot: 9\n", ["1:1", "timeot", "timeout"]),
    "unknown key in a level": ("trust_levels:\n  untrusted:\n    mem_limt: 1m\n",
                               ["3:5", "mem_limt", "mem_limit"]),
    "wrong type": ("timeout: soon\n", ["1:10", "timeout", "soon"]),
    "list for a number": ("timeout: [1]\n", ["1:10", "timeout"]),
    "text for a list": ("cap_drop: ALL\n", ["1:11", "cap_drop"]),
    "duplicate key": ("timeout: 1\ntimeout: 2\n", ["2:1", "timeout"]),
    "zero": ("timeout: 0\n", ["1:10", "timeout"]),
    "negative": ("pids_limit: -1\n", ["1:13", "pids_limit"]),
    "bad size": ("mem_limit: 12q\n", ["1:12", "12q"]),
    "anchor": ("timeout: &a 9\n", ["1:10"]),
    "alias": ("timeout: 9\ncpu_time: *a\n", ["2:11"]),
    "merge key": ("trust_levels:\n  untrusted:\n    <<: {timeout: 1}\n", ["3:5"]),
    "tag": ("timeout: !!int 9\n", ["1:10"]),
    "second document": ("timeout: 9\n---\ntimeout: 8\n", ["2:1"]),
    "empty": ("", []),
    "only a comment": ("# nothing\n", []),
    "not a mapping": ("- timeout\n", ["1:1"]),
    "control character": ("timeout: 9 # \x01\n", []),
    "broken YAML": ("timeout: [1\n", []),
    "tabs": ("trust_levels:\n\tuntrusted:\n", ["2:"]),
    "over 100 percent": ('mem_limit: "120%"\n', ["1:12"]),
    "weakening without unsafe": ("read_only: false\n", ["1:", "unsafe"]),
    "added capability without unsafe": ("cap_add: [SYS_ADMIN]\n", ["1:", "unsafe"]),
    "unconfined without unsafe": ('security_opt: ["seccomp=unconfined"]\n', ["1:", "unsafe"]),
    "disk above memory": ("trust_levels:\n  trusted:\n    mem_limit: 64m\n    disk_limit: 128m\n",
                          ["disk_limit"]),
    "untrusted above trusted": ("trust_levels:\n  trusted:\n    timeout: 5\n  untrusted:\n    timeout: 50\n",
                                ["5:", "timeout"]),
    "bad network mode": ("network_mode: host\n", ["1:15", "host"]),
}


def check_file(t, text, name="policy.yaml"):
    path = t.sandbox.path(name, text)
    return path, t.sandbox.call([t.program, "policy", "check", "--policy", str(path)])


@case()
def good_files(t):
    for name, text in GOOD.items():
        _, answer = check_file(t, text)
        equal(answer.exit, 0, f"policy check of: {name} ({answer.err.decode()})")
    shipped = ROOT / "config" / "sandbox.yaml"
    if shipped.exists():
        _, answer = check_file(t, shipped.read_text())
        equal(answer.exit, 0, f"policy check of the shipped file ({answer.err.decode()})")
    equal(t.sandbox.call([t.program, "policy", "check"]).exit, 0, "policy check of what is found")


@case()
def bad_files(t):
    wrong = []
    for name, (text, words) in BAD.items():
        path, answer = check_file(t, text)
        message = answer.err.decode()
        if answer.exit != 125:
            wrong.append(f"{name}: exit status {answer.exit}, {message!r}")
            continue
        missing = [word for word in [str(path), *words] if word not in message]
        if missing:
            wrong.append(f"{name}: {missing} not in {message!r}")
        if name not in ("empty", "only a comment") and not re.search(re.escape(str(path)) + r":\d+:\d+: ",
                                                                     message):
            wrong.append(f"{name}: no file:line:column in {message!r}")
    equal(wrong, [], "bad policy files")


@case()
def bad_file_of_a_run(t):
    answer = t.run("print('ran')", policy="timeot: 9\n")
    equal((answer.exit, answer.status), (125, "error"), "a run under a bad policy")
    check("timeot" in answer.result["error"]["message"], "the reason", answer.result["error"])
    answer = t.run("print('ran')", options=["--policy", "/nonexistent/policy.yaml"])
    equal((answer.exit, answer.status), (125, "error"), "a policy that is not there")


@case()
def files_that_are_not_ours(t):
    loose = t.write("loose.yaml", "timeout: 9\n", 0o666)
    group = t.write("group.yaml", "timeout: 9\n", 0o664)
    foreign = t.write("foreign.yaml", "timeout: 9\n")
    paths = [loose, group, t.tmp]
    if os.geteuid() == 0:
        os.chown(foreign, 12345, 12345)
        paths.append(foreign)
    for path in paths:
        answer = t.sandbox.call([t.program, "policy", "check", "--policy", str(path)])
        equal(answer.exit, 125, f"{path.name} as policy: {answer.err.decode()}")
        check(str(path) in answer.err.decode(), "not named", answer.err)


@case()
def shown(t):
    answer = t.sandbox.call([t.program, "policy", "show", "--trust", "trusted"])
    equal(answer.exit, 0, "policy show")
    text = answer.out.decode()
    for key in ("cpu_count", "mem_limit", "timeout", "pids_limit", "cpu_time", "disk_limit", "inode_limit",
                "output_limit",
                "security_opt", "cap_drop", "read_only", "network_mode"):
        check(re.search(rf"^\s*{key}:", text, re.M), f"{key} is not shown", text)
    check(re.search(r"^\s*timeout: 120\b", text, re.M), "timeout: 120", text)
    path = t.sandbox.path("policy.yaml", "timeout: 3\n")
    answer = t.sandbox.call([t.program, "policy", "show", "--trust", "untrusted", "--policy", str(path)])
    check(re.search(r"^\s*timeout: 3\b", answer.out.decode(), re.M), "the file's value", answer.out)
    answer = t.sandbox.call([t.program, "policy", "show", "--trust", "nobody"])
    check(answer.exit in (2, 125) and b"nobody" in answer.err, "an unknown level", answer)


@case()
def search_order(t):
    def timeout_of(**how):
        answer = t.run("print(1)", trust="trusted", **how)
        equal(answer.status, "ok", "the run")
        return answer.result["limits"]["timeout"]

    variable = t.write("variable.yaml", t.sandbox.adapted("timeout: 11\n"))
    home = t.tmp / "home"
    t.write("home/.config/mai-sandbox/sandbox.yaml", t.sandbox.adapted("timeout: 12\n"))
    option = t.write("option.yaml", t.sandbox.adapted("timeout: 13\n"))
    unset = {"MAI_SANDBOX_POLICY": None}
    environment = {"HOME": str(home), "MAI_SANDBOX_POLICY": str(variable)}
    equal(timeout_of(env=environment, options=["--policy", str(option)]), 13, "--policy comes first")
    equal(timeout_of(env=environment), 11, "then $MAI_SANDBOX_POLICY")
    equal(timeout_of(env={"HOME": str(home), **unset}), 12, "then the user's own file")
    if not os.path.exists("/etc/mai-sandbox/sandbox.yaml") and t.holds("built_in"):
        equal(timeout_of(env=unset), 120, "then the built-in one")
    bad = t.write("bad.yaml", "timeot: 1\n")
    answer = t.run("print('ran')", env={"HOME": str(home), "MAI_SANDBOX_POLICY": str(bad)})
    equal(answer.exit, 125, "a bad file is an error, not passed over for the next")


@case()
def a_weakening_is_repeated(t):
    answer = t.run("open('/usr/x', 'w')", policy="trust_levels:\n  untrusted:\n    unsafe: true\n    read_only: false\n")
    if answer.status == "error":
        t.skip(f"a writable root is not offered by this backend: {answer.result['error']['message']}")
    check(any("read_only" in item for item in answer.result["security"]["unsafe"]), "security.unsafe",
          answer)
    equal(answer.result["security"]["read_only_root"], False, "read_only_root")
