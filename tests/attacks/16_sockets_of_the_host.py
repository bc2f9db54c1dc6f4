# SPDX-License-Identifier: Apache-2.0
"""Class 16: the host's sockets: files such as docker.sock, and abstract names, which no mount hides."""

import os
import socket

from lib import attack
from lib.case import case, check, equal

GUEST = r'''
import socket, stat
def connect(address):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(3)
        s.connect(address)
probe("path", connect, sys.argv[1])
probe("abstract", connect, "\0" + sys.argv[2])
def find():
    for directory, _, names in os.walk("/"):
        if directory.startswith("/proc"):
            continue
        for name in names:
            path = os.path.join(directory, name)
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                return path
    os.stat("/nonexistent")
if sys.argv[3] == "walk":
    probe("walk", find)
else:
    probe("walk", lambda: stat.S_ISSOCK(os.lstat(sys.argv[1]).st_mode))
finish()
'''


@case()
def unix_sockets(t):
    """The canaries are listeners that anybody may connect to. On the host the walk is spared: it is one stat there."""
    name = attack.unique(t, "abstract")
    path = t.tmp / "canary.sock"
    t.tmp.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as by_path, socket.socket(socket.AF_UNIX) as by_name:
        by_path.bind(str(path))
        os.chmod(path, 0o777)
        by_name.bind("\0" + name)
        for listener in (by_path, by_name):
            listener.listen(8)
        attack.attack(t, GUEST, {"path": "connect to a socket file of the host",
                                 "abstract": "connect to an abstract name",
                                 "walk": "find any socket file"}, args=[str(path), name, "walk"],
                      host_args=[str(path), name, "stat"], refused={"": {"ENOENT", "ECONNREFUSED", "EPERM",
                                                                         "EACCES"}})


@case()
def socket_as_input_file(t):
    path = t.tmp / "canary.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        answer = t.run("print('ran')", options=["--file", f"{path}:s.sock"])
        t.tried(f"--file with a socket: exit {answer.exit}")
        check(answer.exit in (2, 125), "a socket was taken as an input file", answer)
        equal(answer.result["status"] if answer.result else "error", "error", "status")
