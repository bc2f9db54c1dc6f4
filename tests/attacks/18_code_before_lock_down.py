# SPDX-License-Identifier: Apache-2.0
"""
Class 18: code of the user's that the interpreter or the loader starts by itself, before the program proper:
sitecustomize, .pth files, PYTHONSTARTUP, LD_PRELOAD. It may run, but only when every defence already holds.
"""

import json
import subprocess

from lib import attack
from lib.case import PYTHON, case, check

HOOK = r'''
import json, os
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
os.write(2, (json.dumps({"hook": __name__, "pid": os.getpid(), "seccomp": status["Seccomp"].strip(),
         "caps": status["CapBnd"].strip(), "nnp": status["NoNewPrivs"].strip(), "uid": os.getuid()}) + "\n").encode())
'''

PRELOAD = r'''
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void hook(void)
{
        char line[256], seccomp[16] = "?", caps[32] = "?", privileges[16] = "?";
        FILE *file = fopen("/proc/self/status", "r");
        while (file && fgets(line, sizeof(line), file)) {
                sscanf(line, "Seccomp: %15s", seccomp);
                sscanf(line, "CapBnd: %31s", caps);
                sscanf(line, "NoNewPrivs: %15s", privileges);
        }
        dprintf(2, "{\"hook\": \"preload\", \"pid\": %d, \"seccomp\": \"%s\", \"caps\": \"%s\", \"nnp\": \"%s\", "
                   "\"uid\": %d}\n", (int)getpid(), seccomp, caps, privileges, (int)getuid());
}
'''


def hooks(err):
    return [json.loads(line) for line in err.decode(errors="replace").splitlines()
            if line.startswith('{"hook"')]


def locked(hook):
    return (hook["seccomp"], int(hook["caps"], 16), hook["nnp"]) == ("2", 0,
                                                                     "1") and hook["uid"] != 0 and hook["pid"] != 1


@case()
def start_up_files(t):
    hook = t.write("hook.py", HOOK)
    pth = t.write("hook.pth", "import hook_pth\n")
    site = ".local/lib/python3.11/site-packages"
    options = []
    for destination in ("sitecustomize.py", "usercustomize.py", "hook_pth.py", f"{site}/usercustomize.py",
                        f"{site}/hook_pth.py", f"{site}/sitecustomize.py", "encodings_hook.py"):
        options += ["--file", f"{hook}:{destination}"]
    options += ["--file", f"{pth}:{site}/hook.pth", "--file", f"{pth}:hook.pth"]
    options += ["--env", "PYTHONSTARTUP=/sandbox/sitecustomize.py", "--env", "PYTHONPATH=/sandbox",
                "--env", "PYTHONUSERBASE=/sandbox/.local"]
    answer = t.run("print('ran')", options=options)
    if answer.status == "error":
        # Refusing such variables is as good: then once more without them.
        t.note(f"refused: {answer.result['error']}")
        answer = t.run("print('ran')", options=options[:-6])
    check(answer.status == "ok", "the run failed", answer)
    seen = hooks(answer.stderr)
    early = [hook for hook in seen if not locked(hook)]
    check(not early, "code ran before the lock-down", early)
    control = subprocess.run([PYTHON, "-c", "pass"], env={"PYTHONPATH": str(hook.parent)},
                             capture_output=True, check=True)
    hook.rename(hook.parent / "sitecustomize.py")
    control = subprocess.run([PYTHON, "-c", "pass"], env={"PYTHONPATH": str(hook.parent)},
                             capture_output=True, check=True)
    check(hooks(control.stderr) and not locked(hooks(control.stderr)[0]), "control: the hook runs and tells",
          control)
    t.tried(f"sitecustomize, usercustomize, .pth, PYTHONSTARTUP: {len(seen)} hooks ran, all of them locked down "
            "(on the host the hook reports no lock)")


@case()
def preloaded_library(t):
    compiler = t.need_program("cc")
    source = t.write("hook.c", PRELOAD)
    library = t.tmp / "hook.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    answer = t.run("print('ran')", options=["--file", f"{library}:hook.so", "--env",
                                            "LD_PRELOAD=/sandbox/hook.so"])
    seen = hooks(answer.stderr) if answer.status != "error" else []
    if answer.status == "error":
        t.tried(f"LD_PRELOAD by --env: refused ({answer.result['error']['message']})")
    else:
        check(answer.status == "ok", "the run failed", answer)
        check(all(locked(hook) for hook in seen), "a library was loaded before the lock-down", seen)
        t.tried(f"LD_PRELOAD by --env: the constructor ran {len(seen)} times, locked down each time")
    control = subprocess.run(["/bin/true"], env={"LD_PRELOAD": str(library)}, capture_output=True,
                             check=True)
    check(hooks(control.stderr) and not locked(hooks(control.stderr)[0]),
          "control: the constructor runs and tells", control)
    # The same in the caller's own environment: neither we nor anything inside may load it.
    answer = t.run("print('ran')", env={"PYTHONPATH": "/nonexistent", "LD_AUDIT": str(library)})
    check(not any(hook["pid"] == 1 for hook in hooks(answer.stderr)), "loaded into PID 1", answer)
    check(not hooks(answer.stderr), "the caller's LD_AUDIT reached the program inside", answer)
