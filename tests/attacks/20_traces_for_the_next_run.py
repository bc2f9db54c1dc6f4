# SPDX-License-Identifier: Apache-2.0
"""Class 20: what one run leaves for another, at the same time or later, by every channel that has a name."""

import os
import subprocess

from lib import attack, host
from lib.case import PYTHON, case, check

# argv: "leave", "find" or "clean", the word, and "stay" to keep running once everything is there.
GUEST = r'''
import fcntl, glob, socket, time
what, token = sys.argv[1], sys.argv[2]
key = int(token, 16) & 0x7fffffff | 1
name = "mai-" + token
system_file = "/usr/lib/os-release"
home = os.path.expanduser("~")
def keep(value, kept=[]):
    kept.append(value)
    return value
def listen():
    s = keep(socket.socket(socket.AF_UNIX))
    s.bind("\0" + name)
    s.listen()
def connect():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + name)
def lock():
    fcntl.flock(keep(open(system_file)), fcntl.LOCK_EX | fcntl.LOCK_NB)
def locked():
    """Found: somebody else holds the lock."""
    try:
        lock()
    except BlockingIOError:
        return
    raise OSError(errno.ENOENT, "free")
def write(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(token)
def read(path):
    if open(path).read() != token:
        raise OSError(errno.ENOENT, "another")
class Vector(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_long), ("max", ctypes.c_long), ("size", ctypes.c_long), ("rest", ctypes.c_long * 5)]
CHANNELS = {
    "SysV shared memory": (lambda: sc(29, key, 4096, 0o1666), lambda: sc(29, key, 0, 0)),
    "SysV semaphores": (lambda: sc(64, key, 1, 0o1666), lambda: sc(64, key, 0, 0)),
    "SysV messages": (lambda: sc(68, key, 0o1666), lambda: sc(68, key, 0)),
    "POSIX message queue": (lambda: keep(sc(240, name.encode(), 0o102, 0o666, None)),
                            lambda: os.close(sc(240, name.encode(), 0, 0, None))),
    "keyring": (lambda: sc(248, b"user", name.encode(), b"x", 1, -4), lambda: sc(249, b"user", name.encode(), None, 0)),
    "abstract socket": (listen, connect),
    "lock on a system file": (lock, locked),
    "file in /dev/shm": (lambda: write(f"/dev/shm/{name}"), lambda: read(f"/dev/shm/{name}")),
    "file in /tmp": (lambda: write(f"/tmp/{name}"), lambda: read(f"/tmp/{name}")),
    "file in HOME": (lambda: write(f"{home}/{name}"), lambda: read(f"{home}/{name}")),
    "file in the working directory": (lambda: write(f"{os.getcwd()}/{name}"), lambda: read(f"{os.getcwd()}/{name}")),
    "cached .pyc": (lambda: write(f"/usr/lib/python3/dist-packages/__pycache__/{name}.cpython-311.pyc"),
                    lambda: read(f"/usr/lib/python3/dist-packages/__pycache__/{name}.cpython-311.pyc")),
}
if what in ("leave", "find"):
    for channel, (leave, find) in CHANNELS.items():
        probe(channel, leave if what == "leave" else find)
finish()
if sys.argv[3:] == ["stay"]:
    time.sleep(40)
if what == "leave" and sys.argv[3:] == ["host"]:
    # The control: a second process on the same host finds it all; then it is removed again.
    import subprocess
    out = subprocess.run([sys.executable, sys.argv[0], "find", token], stdout=subprocess.PIPE).stdout
    for path in glob.glob(f"/dev/shm/{name}") + glob.glob(f"/tmp/{name}") + [
            f"{home}/{name}", f"{os.getcwd()}/{name}", f"/usr/lib/python3/dist-packages/__pycache__/{name}.cpython-311.pyc"]:
        if os.path.exists(path):
            os.unlink(path)
    sys.stdout.write(out.decode())
'''


HALF = ["--cpus", "0.5"]  # two of them fit on any host


def nothing_found(found, when):
    seen = [channel for channel, outcome in found.items() if outcome == "done"]
    check(not seen, f"another run's trace was found {when}: {', '.join(seen)}", found)


def compare(t, found, control, when):
    nothing_found(found, when)
    proven = [channel for channel, outcome in control.items() if outcome == "done"]
    check(len(proven) >= 8, "control: on the host a second process finds the traces", control)
    t.tried(f"look for another run's traces {when}: none found of {', '.join(found)} "
            f"(on the host these are found: {', '.join(proven)})")


def control_run(t, token):
    """In namespaces of its own, so that nothing of it stays: /tmp and the like are covered by empty file systems."""
    t.need_root()
    path = t.write("control/traces.py", attack.PRELUDE + GUEST)
    covers = "mount -t tmpfs t /dev/shm; mount -t tmpfs t /usr/lib/python3/dist-packages/__pycache__; "
    done = subprocess.run([*attack.APART, "sh", "-c", covers + f'exec {PYTHON} "$@"', "sh", path, "leave",
                           token, "host"],
                          capture_output=True, timeout=50, cwd=path.parent, env=t.sandbox.environment(),
                          check=False)
    return attack.parse(done.stdout, done)


@case()
def one_after_the_other(t):
    attack.need_x86(t)
    token = f"{int.from_bytes(os.urandom(4)) | 1:08x}"
    left, _ = attack.inside(t, GUEST, ["leave", token])
    t.note(f"left: {left}")
    check(sum(outcome == "done" for outcome in left.values()) >= 4,
          "the first run could leave next to nothing", left)
    found, _ = attack.inside(t, GUEST, ["find", token])
    compare(t, found, control_run(t, token), "after it")


@case(exclusive=True)
def side_by_side(t):
    attack.need_x86(t)
    token = f"{int.from_bytes(os.urandom(4)) | 1:08x}"

    def demand(sandbox):
        process = sandbox.start(sandbox.command(attack.PRELUDE + GUEST, ["leave", token, "stay"], options=HALF,
                                                json_output=False))
        try:
            left = attack.parse(process.stdout.readline(), "the first run")
            check(left["lock on a system file"] == "done", "a file of the system could not be locked", left)
            found, _ = attack.inside(t, GUEST, ["find", token], sandbox, options=HALF)
        finally:
            process.kill()
            process.communicate()
            host.wait_until(lambda: not host.processes_with(token), what="the end of the first run")
        nothing_found(found, "while it runs")
        return found

    compare(t, demand(t.sandbox), control_run(t, token), "while it runs")
    attack.expect_noticed(t, ["overlay"], demand)
