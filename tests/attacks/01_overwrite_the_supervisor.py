# SPDX-License-Identifier: Apache-2.0
"""Class 1: writing into the program that set the sandbox up, through /proc/PID/exe (CVE-2019-5736)."""

import hashlib
import pathlib
import shutil
import subprocess

from lib import attack
from lib.case import case, equal

# argv: the process to attack, and "kill" where it must end first because a running file is busy.
GUEST = r'''
import time
pid = int(sys.argv[1])
path = f"/proc/{pid}/exe"
def reopen():
    fd = os.open(path, os.O_RDONLY)
    if sys.argv[2:] == ["kill"]:
        os.kill(pid, signal.SIGKILL)
    for _ in range(200):
        try:
            return os.open(f"/proc/self/fd/{fd}", os.O_WRONLY)
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise
            time.sleep(0.01)
    raise OSError(errno.EACCES, "busy")
probe("link", os.readlink, path)
probe("reopen", reopen)
finish()
'''


def digests(t):
    """Every file that the program under test consists of, as far as they lie beside it."""
    directory = pathlib.Path(t.program).parent
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.glob("mai-*")
            if path.is_file()}


@case()
def exe_of_init(t):
    before = digests(t)
    victim = t.tmp / "victim"
    shutil.copy("/bin/sleep", victim)
    with subprocess.Popen([victim, "30"]) as process:
        try:
            attack.attack(t, GUEST, {"link": "readlink /proc/1/exe",
                                     "reopen": "reopen /proc/1/exe for writing"},
                          args=["1"], host_args=[str(process.pid), "kill"],
                          refused={"": attack.REFUSED | {"ENOENT"}})
        finally:
            process.kill()
    equal(digests(t), before, "the program under test changed on disk")


@case()
def exe_of_self(t):
    """The interpreter's own file belongs to a read-only tree; a process of its own can't change it either."""
    guest = r'''
target = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else "/proc/self/exe")
probe("write", os.open, target, os.O_WRONLY)
probe("unlink", os.unlink, target)
probe("create", os.mkdir, os.path.dirname(target) + "/mai-new")
finish()
'''
    copy = t.write("copy/python3", b"")
    attack.attack(t, guest, {"write": "open the interpreter for writing", "unlink": "remove the interpreter",
                             "create": "make a directory beside it"},
                  refused={"": {"EROFS", "EACCES", "ETXTBSY", "EPERM"}}, host_args=[str(copy)],
                  defences=["read-only"])
