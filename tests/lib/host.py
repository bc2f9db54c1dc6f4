# SPDX-License-Identifier: Apache-2.0
"""What a run may leave on the host: looked at before and after. Reads only; changes nothing."""

import os
import pathlib
import time

STATE = pathlib.Path("/run/mai-sandbox")
ON_DEMAND = {b"tracefs", b"debugfs", b"autofs", b"binfmt_misc"}
GUEST_UIDS = 65536  # guests run as a host uid far above any account; see native.uid_base in the policy


def read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def is_zombie(pid):
    stat = read(f"/proc/{pid}/stat")
    return not stat or stat.rsplit(b")", 1)[-1].split()[:1] == [b"Z"]


def processes_with(marker):
    """Living processes whose command line contains the marker; so a hostile program is found by an argument."""
    marker = marker.encode()
    return [pid for pid in pids() if pid != os.getpid() and marker in read(f"/proc/{pid}/cmdline")
            and not is_zombie(pid)]


def programs_with(marker, supervisor):
    """
    Those of processes_with() that are neither the supervisor of that pid nor a child that it has just made: that one has
    the supervisor's command line until it executes something.
    """
    own = read(f"/proc/{supervisor}/cmdline")
    return [pid for pid in processes_with(marker) if pid != supervisor and read(f"/proc/{pid}/cmdline") != own]


def processes_of(container):
    """Living processes in the control group of a container, by the kernel's account."""
    return [pid for pid in pids() if container.encode() in read(f"/proc/{pid}/cgroup")]


def guests():
    """Processes that belong to some container: their uid is one of the range that only containers use."""
    found = {}
    for pid in pids():
        try:
            uid = os.stat(f"/proc/{pid}").st_uid
        except OSError:
            continue
        if uid >= GUEST_UIDS and b"mai-sandbox" in read(f"/proc/{pid}/cgroup"):
            found[pid] = read(f"/proc/{pid}/cmdline")[:80]
    return found


def supervisors(program):
    """Processes that run the program under test, or a part of it."""
    found = set()
    for pid in pids():
        try:
            target = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            continue
        if target.startswith(str(program)) or "mai-" in os.path.basename(target) or "memfd:mai" in target:
            found.add(pid)
    return found


def cgroups():
    """Control groups of containers, in whatever hierarchy."""
    found = set()
    for directory, names, _ in os.walk("/sys/fs/cgroup"):
        found.update(os.path.join(directory, name) for name in names if name.startswith("mai-sandbox"))
    return found


def cgroups_of(container):
    return [path for path in cgroups() if container in path]


def mounts():
    """Mounts of the host, but for those that the kernel or an automounter makes when somebody looks there."""
    lines = read("/proc/self/mountinfo").splitlines()
    return {line for line in lines if line.split(b" - ")[1].split()[0] not in ON_DEMAND}


def namespaces(kind):
    """Inodes of the namespaces of that kind that some process is in."""
    found = set()
    for pid in pids():
        try:
            found.add(os.stat(f"/proc/{pid}/ns/{kind}").st_ino)
        except OSError:
            pass
    return found


def state_files():
    """Records of containers; the directory's own bookkeeping (locks, counters) stays and does not count."""
    if not STATE.is_dir():
        return set()
    return {str(path) for path in STATE.rglob("*") if path.is_file() and is_record(path.name)}


def is_record(name):
    return sum(character in "0123456789abcdef" for character in name) >= 32


def sysv():
    """SysV objects of the host's own IPC namespace."""
    return {kind: len(read(f"/proc/sysvipc/{kind}").splitlines()) for kind in ("shm", "sem", "msg")}


def snapshot(program):
    return {
        "guests": set(guests()),
        "supervisors": supervisors(program),
        "cgroups": cgroups(),
        "mounts": mounts(),
        "net namespaces": namespaces("net"),
        "user namespaces": namespaces("user"),
        "state records": state_files(),
        "shm": set(os.listdir("/dev/shm")),
        "sysv": {str(sysv())},
    }


def difference(before, program):
    after = snapshot(program)
    return {name: sorted(map(str, after[name] - before[name]))[:5] for name in before
            if after[name] - before[name]}


def assert_same_after(before, program, settle=5.0):
    """
    Nothing is there that was not there before. `settle`: seconds that others' runs on a busy machine may need
    to come and go; what belongs to our own finished run must be gone at the first look, which callers check by id.
    """
    deadline = time.monotonic() + settle
    while True:
        left = difference(before, program)
        if not left:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"left behind on the host: {left}")
        time.sleep(0.1)


def assert_gone(answer):
    """Of this very container nothing is left: no process, no cgroup, no record."""
    names = {answer.result["container_id"], answer.result["id"]} - {None}
    for name in names:
        left = processes_of(name) + cgroups_of(name) + [path for path in state_files() if name in path]
        assert not left, f"left behind by the container {name}: {left}"


def wait_until(condition, seconds=10.0, what="condition"):
    """Polls, since the kernel has no event for it; the bound is generous for a loaded machine."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s in vain for: {what}")
