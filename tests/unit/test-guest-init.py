#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the stand-alone init as PID 1 of a container made by hand, and speaks the guest protocol to it over pipes:

    test-guest-init.py INIT [unittest arguments]

Needs root (or else is skipped, exit status 77): the container has its own pid, mount, network, ipc and uts namespaces, a
read-only root, and tmpfs directories of the user that the init runs as.
"""
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PUT_FILE, PUT_DATA, SPEC_DATA, SPEC_END, GO, KILL_ALL, COLLECT, CONFIGURE, INPUT, INPUT_END, DISCARD = range(1, 12)
(READY, AT_GATE, STARTED, EXEC_FAILED, EXITED, FILE, FILE_DATA, FILE_SKIPPED, COLLECTED, SETUP_FAILED, SAMPLE, COUNTS,
 EVIDENCE, OUTPUT, OUTPUT_END, INPUT_TAKEN) = range(64, 80)
NAMES = {value: name for name, value in globals().items() if name.isupper() and isinstance(value, int)}

UID = 4321
WINDOW = 256 << 10
NOT_MEASURED = 2**64 - 1
LOAD_FILTER, LANDLOCK_OPTIONAL, GROUPS_OPTIONAL, CPUS_OPTIONAL = 1, 2, 4, 8
WRITABLE = ("/sandbox", "/tmp", "/dev/shm", "/dev/null")
INIT = None

# What an engine does: everything but what the init does itself.
SETUP = r"""
set -e
root=$1 init=$2 uid=$3 exec=$4
mount -t tmpfs -o mode=755 none "$root"
cd "$root"
mkdir usr proc dev sandbox tmp
mount --bind /usr usr
for name in bin lib lib64; do ln -s usr/$name $name; done
mount -t proc proc proc
mkdir dev/shm
for name in null zero full urandom; do : > dev/$name; mount --bind /dev/$name dev/$name; done
for name in sandbox tmp dev/shm; do
    mount -t tmpfs -o nosuid,nodev,size=32m,nr_inodes=1000,mode=700,uid=$uid,gid=$uid none $name
done
cp "$init" init
chmod 755 init
mount -o remount,ro "$root"
prlimit --core=1:1 --pid $$
exec chroot . /usr/bin/setpriv --reuid=$uid --regid=$uid --clear-groups --inh-caps=-all --bounding-set=-all $exec /init
"""


class Ended(Exception):
    """The init closed its stream."""


class Container:
    def __init__(self, uid=UID, wrapper=""):
        self.root = tempfile.mkdtemp(prefix="mai-init-")
        self.process = subprocess.Popen(
            ["unshare", "--kill-child", "-pfmniu", "sh", "-c", SETUP, "sh", self.root, INIT, str(uid), wrapper],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.input = b""
        self.output = {0: bytearray(), 1: bytearray()}
        self.ended = []
        self.taken = 0
        self.log = []

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.process.stdin.close()  # the end of the supervisor is the end of the container
        try:
            self.process.wait(5)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()
            os.rmdir(self.root)

    def send(self, kind, payload=b""):
        data = struct.pack("<IHH", len(payload), kind, 0) + payload
        while data:
            data = data[os.write(self.process.stdin.fileno(), data):]

    def receive(self, timeout=10.0):
        """The next frame but OUTPUT and INPUT_TAKEN, which are counted here."""
        deadline = time.monotonic() + timeout
        while True:
            while len(self.input) < 8 or len(self.input) < 8 + struct.unpack_from("<I", self.input)[0]:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                    raise AssertionError(f"no frame in time; so far: {self.log}")
                data = os.read(self.process.stdout.fileno(), 1 << 20)
                if not data:
                    raise Ended()
                self.input += data
            size, kind, _ = struct.unpack_from("<IHH", self.input)
            payload, self.input = self.input[8:8 + size], self.input[8 + size:]
            if kind not in (OUTPUT, INPUT_TAKEN):
                self.log.append(NAMES[kind])
            if kind == OUTPUT:
                self.output[struct.unpack_from("<I", payload)[0]] += payload[4:]
            elif kind == INPUT_TAKEN:
                self.taken, self.input_closed, _ = struct.unpack("<QII", payload)
            else:
                if kind == OUTPUT_END:
                    self.ended.append(struct.unpack("<I", payload)[0])
                return kind, payload
            if kind == INPUT_TAKEN:
                return kind, payload

    def until(self, wanted, timeout=10.0):
        while True:
            kind, payload = self.receive(timeout)
            if kind == wanted:
                return payload
            if kind == SETUP_FAILED:
                raise AssertionError(describe_failure(payload))

    def configure(self, flags=LANDLOCK_OPTIONAL, uid=UID, sample_msec=0, writable=WRITABLE, cpus=0):
        paths = b"".join(path.encode() + b"\0" for path in writable)
        self.send(CONFIGURE, struct.pack("<IIIIQQQ120xII", 1, flags, uid, uid, 256, 0, cpus, sample_msec, len(paths))
                  + paths)

    def spec(self, *argv, environment=("PATH=/usr/bin:/bin", "HOME=/tmp/home")):
        strings = [*argv, *environment, argv[0]]
        self.send(SPEC_DATA, struct.pack("<IIII", 1, len(argv), len(environment), 0)
                  + b"".join(text.encode() + b"\0" for text in strings))
        self.send(SPEC_END)

    def start(self, *argv, stdin=False, **options):
        self.configure(**options)
        self.until(READY)
        self.spec(*argv)
        self.until(AT_GATE)
        self.evidence = self.until(EVIDENCE)
        if not stdin:
            self.send(INPUT_END)
        self.send(GO)
        return self

    def finish(self, timeout=20.0):
        """Reads to the end of the program and of both streams; returns the wait status."""
        status = None
        while status is None or len(self.ended) < 2:
            kind, payload = self.receive(timeout)
            if kind == EXITED:
                status, self.reaped, self.killed = struct.unpack("<iIIIQQQ", payload)[:3]
            elif kind == SAMPLE:
                self.sample = parse_sample(payload)
        return status

    def init_pid(self):
        return children_of(self.process.pid)[0]

    def init_memory(self):
        """Anonymous resident bytes of the init."""
        with open(f"/proc/{self.init_pid()}/status", encoding="ascii") as file:
            return int(file.read().split("RssAnon:")[1].split()[0]) * 1024


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def describe_failure(payload):
    errnum, unenforced, setting, message, hint = struct.unpack("<iI32s256s256s", payload)
    text = [part.split(b"\0")[0].decode() for part in (setting, message, hint)]
    return errnum, bool(unenforced), *text


def parse_sample(payload):
    names = ("cpu", "user", "system", "memory", "memory_peak", "pids", "pids_peak", "disk", "disk_free", "inodes_free",
             "cpu_source", "memory_source", "pids_source", "reserved")
    return dict(zip(names, struct.unpack("<10Q4I", payload)))


class GuestInit(unittest.TestCase):
    def run_program(self, *argv, **options):
        with Container() as container:
            container.start(*argv, **options)
            status = container.finish()
            return container, status

    def python(self, code, **options):
        return self.run_program("/usr/bin/python3", "-c", code, **options)

    def test_hello(self):
        container, status = self.run_program("/bin/sh", "-c", "echo hello; echo oops >&2; exit 3")
        self.assertEqual((os.waitstatus_to_exitcode(status), container.output), (3, {0: b"hello\n", 1: b"oops\n"}))
        self.assertEqual(sorted(container.ended), [0, 1])
        self.assertIn("STARTED", container.log)

    def test_home_exists(self):
        container, _ = self.run_program("/bin/sh", "-c", "cd && pwd && touch x && ls; pwd -P")
        self.assertEqual(container.output[0], b"/tmp/home\nx\n/tmp/home\n")

    def test_signal(self):
        _, status = self.run_program("/bin/sh", "-c", "kill -SEGV $$")
        self.assertEqual(os.WTERMSIG(status), signal.SIGSEGV)

    def test_not_found(self):
        with Container() as container:
            container.start("no-such-program")
            self.assertEqual(struct.unpack("<i", container.until(EXEC_FAILED))[0], 2)
            self.assertEqual(os.waitstatus_to_exitcode(container.finish()), 127)
            self.assertNotIn("STARTED", container.log)

    def test_both_streams(self):
        container, status = self.python(
            "import os\nfor i in range(300):\n os.write(1, b'o' * 1024); os.write(2, b'e' * 1024)")
        self.assertEqual(status, 0)
        self.assertEqual(container.output, {0: b"o" * 307200, 1: b"e" * 307200})

    def test_input(self):
        data = os.urandom(1 << 20) * 10
        with Container() as container:
            container.start("/bin/cat", stdin=True)
            sent = 0
            while sent < len(data):
                room = min(WINDOW - (sent - container.taken), 60000, len(data) - sent)
                if room > 0:
                    container.send(INPUT, data[sent:sent + room])
                    sent += room
                else:
                    container.receive()
            container.send(INPUT_END)
            self.assertEqual(container.finish(), 0)
            self.assertEqual(container.output[0], data)

    def test_input_not_read(self):
        """A program that closes its input takes nothing, and what comes is dropped and acknowledged."""
        with Container() as container:
            container.start("/bin/sh", "-c", "exec <&-; echo closed; exec sleep 60", stdin=True)
            container.send(INPUT, b"x" * WINDOW)
            while container.taken < WINDOW:
                container.until(INPUT_TAKEN)
            self.assertEqual(container.input_closed, 1)
            container.send(KILL_ALL)
            self.assertEqual(os.WTERMSIG(container.finish()), signal.SIGKILL)

    def test_input_beyond_window(self):
        with Container() as container:
            container.start("/bin/sleep", "60", stdin=True)
            container.send(INPUT, b"x" * WINDOW)
            container.send(INPUT, b"x" * WINDOW)
            with self.assertRaises(Ended):
                container.finish()

    def test_flood_unread(self):
        """Nobody reads: the program waits, the init's memory stays flat, and it still answers a kill."""
        with Container() as container:
            fcntl.fcntl(container.process.stdout, 1031, 4096)  # F_SETPIPE_SZ
            container.start("/bin/sh", "-c", "sleep 100 & exec cat /dev/zero", sample_msec=20)
            container.until(STARTED)
            time.sleep(1)
            first = container.init_memory()
            time.sleep(1)
            self.assertEqual(container.init_memory(), first)
            self.assertLess(first, 3 << 20)
            container.send(KILL_ALL)
            deadline = time.monotonic() + 5
            while children_of(container.init_pid()) and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertEqual(children_of(container.init_pid()), [])  # killed, though still nobody reads
            self.assertEqual(os.WTERMSIG(container.finish()), signal.SIGKILL)
            self.assertLess(len(container.output[0]), 1 << 20)
            self.assertEqual(container.output[0].strip(b"\0"), b"")

    def test_nothing_is_lost(self):
        """A slow reader gets every byte, in order."""
        with Container() as container:
            fcntl.fcntl(container.process.stdout, 1031, 4096)
            container.start("/usr/bin/seq", "1", "400000")
            time.sleep(0.5)
            self.assertEqual(container.finish(60), 0)
            self.assertEqual(container.output[0], b"".join(b"%d\n" % i for i in range(1, 400001)))

    def test_discard(self):
        with Container() as container:
            container.configure()
            container.until(READY)
            container.spec("/bin/sh", "-c", "head -c 100000000 /dev/zero; echo done >&2")
            container.until(EVIDENCE)
            container.send(DISCARD, struct.pack("<I", 0))
            container.send(GO)
            self.assertEqual(container.finish(60), 0)
            self.assertEqual(container.output, {0: b"", 1: b"done\n"})

    def test_kill_with_grandchildren(self):
        with Container() as container:
            container.start("/bin/sh", "-c",
                            "(setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 1000 & echo up; exec sleep 1000")
            while container.output[0] != b"up\n":
                if select.select([container.process.stdout], [], [], 0.1)[0]:
                    try:
                        container.receive(0.2)
                    except AssertionError:
                        pass
            before = time.monotonic()
            container.send(KILL_ALL)
            status = container.finish()
            self.assertLess(time.monotonic() - before, 5)
            self.assertEqual(os.WTERMSIG(status), signal.SIGKILL)
            self.assertGreaterEqual(container.killed, 3)

    def test_end_takes_background_with_it(self):
        """A daemon that holds the pipes does not keep the run."""
        before = time.monotonic()
        container, status = self.run_program("/bin/sh", "-c", "setsid sleep 1000 & echo bye")
        self.assertEqual((status, container.output[0]), (0, b"bye\n"))
        self.assertLess(time.monotonic() - before, 3)

    def test_files(self):
        with Container() as container:
            container.configure()
            container.until(READY)
            path, data = b"in/put.txt", b"0123456789" * 1000
            container.send(PUT_FILE, struct.pack("<QII", len(data), 0o640, len(path)) + path)
            container.send(PUT_DATA, data)
            container.spec("/bin/sh", "-c", "tr 0 X < in/put.txt > out; ln -s /etc l; head -c 700000 /dev/zero > big")
            container.until(EVIDENCE)
            container.send(GO)
            self.assertEqual(container.finish(), 0)
            container.send(COLLECT, struct.pack("<QQII", 100, 1 << 20, 8, 0))
            files, skipped, current = {}, [], None
            while True:
                kind, payload = container.receive()
                if kind == FILE:
                    size, _, mode, path_size = struct.unpack_from("<QqII", payload)
                    current = payload[24:24 + path_size].decode()
                    files[current] = (size, mode, b"")
                elif kind == FILE_DATA:
                    size, mode, have = files[current]
                    files[current] = (size, mode, have + payload)
                elif kind == FILE_SKIPPED:
                    skipped.append(payload[8:])
                elif kind == COLLECTED:
                    break
            self.assertEqual(sorted(files), ["big", "in/put.txt", "out"])
            self.assertEqual(files["in/put.txt"], (len(data), 0o640, data))
            self.assertEqual(files["out"][2], data.replace(b"0", b"X"))
            self.assertEqual(files["big"][2], bytes(700000))
            self.assertEqual(skipped, [b"l"])

    def test_samples(self):
        with Container() as container:
            container.start("/usr/bin/python3", "-c",
                            "import time, threading\nopen('f','wb').write(bytes(4 << 20)); x = bytearray(40 << 20)\n"
                            "threading.Thread(target=time.sleep, args=(0.9,)).start()\n"
                            "end = time.time() + 0.8\nwhile time.time() < end: pass", sample_msec=50)
            samples = []
            while True:
                kind, payload = container.receive()
                if kind == SAMPLE:
                    samples.append(parse_sample(payload))
                elif kind == EXITED:
                    break
            self.assertGreater(len(samples), 8)
            self.assertEqual([s["cpu"] for s in samples], sorted(s["cpu"] for s in samples))
            last = samples[-1]
            self.assertEqual(last["cpu_source"], 3)  # no cgroup file system in here
            self.assertGreater(last["cpu"], 400000)
            self.assertGreater(last["memory_peak"], 40 << 20)
            self.assertEqual(max(s["pids"] for s in samples), 2)
            self.assertGreaterEqual(last["pids_peak"], 2)
            self.assertGreaterEqual(last["disk"], 4 << 20)
            self.assertLessEqual(last["disk_free"], 28 << 20)
            self.assertLess(last["inodes_free"], 1000)

    def test_evidence(self):
        with Container() as container:
            container.start("/bin/true", flags=LOAD_FILTER | LANDLOCK_OPTIONAL)
            container.finish()
            data = container.evidence
        (pid, landlock, *rest) = struct.unpack_from("<ii4I4I3I3I2I1I", data)
        self.assertGreater(pid, 1)
        self.assertEqual(rest[:8], [UID] * 8)
        self.assertEqual(rest[16], 0)  # supplementary groups
        at = 4 * 19 + 4 * 32
        at += -at % 8
        caps = struct.unpack_from("<5Q", data, at)
        self.assertEqual(caps, (0,) * 5)
        new_privs, mode, filters, dumpable = struct.unpack_from("<4I", data, at + 40)
        self.assertEqual((new_privs, mode, dumpable), (1, 2, 0))
        self.assertEqual(filters, 1)
        namespaces = struct.unpack_from("<7Q", data, at + 56)
        for name, inode in zip(("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"), namespaces):
            ours = os.stat(f"/proc/self/ns/{name}").st_ino
            (self.assertEqual if name in ("user", "cgroup") else self.assertNotEqual)(inode, ours, name)
        cpus, root_flags, open_files, core = struct.unpack_from("<IIQQ", data, at + 112)
        self.assertEqual(cpus, len(os.sched_getaffinity(0)))
        self.assertTrue(root_flags & 1)
        self.assertEqual((open_files, core), (256, 1))
        version, writable, memory, *_ = struct.unpack_from("<II5Q", data, at + 136)
        self.assertEqual((version, writable, memory), (0, 0, NOT_MEASURED))
        at += 184
        count, mounts = struct.unpack_from("<II", data, at)
        self.assertEqual((count, mounts), (1, len(WRITABLE)))
        self.assertEqual(data[at + 8:at + 24].rstrip(b"\0"), b"lo")
        at += 8 + 8 * 16
        path, flags, uid, gid, mode, _, size, inodes = struct.unpack_from("<64sIIIIQQQ", data, at)
        self.assertEqual((path.rstrip(b"\0"), flags, uid, gid, mode), (b"/sandbox", 2 | 4 | 64, UID, UID, 0o700))
        self.assertEqual((size, inodes), (32 << 20, 1000))
        release = data[at + 16 * 104:]
        self.assertEqual(release.rstrip(b"\0").decode(), os.uname().release)
        self.assertEqual(len(release), 64)

    def test_init_is_closed_to_the_program(self):
        container, _ = self.python(
            "import os\nfor p in ('mem', 'environ', 'fd/10', 'root'):\n"
            "  try: os.open(f'/proc/1/{p}', os.O_RDONLY); print('open', p)\n"
            "  except PermissionError: print('closed')\n"
            "print(sorted(os.listdir('/proc/self/fd'))[:4])\nos.kill(1, 9)\nprint('alive')")
        self.assertEqual(container.output[0], b"closed\n" * 4 + b"['0', '1', '2', '3']\nalive\n")

    def test_landlock_leaves_the_writable(self):
        container, _ = self.run_program(
            "/bin/sh", "-c", "for d in /sandbox /tmp /dev/shm; do echo x > $d/f && echo ok; done; echo > /dev/null; "
            "echo > /usr/f", flags=0)
        self.assertEqual(container.output[0], b"ok\n" * 3)
        self.assertIn(b"/usr/f", container.output[1])

    def setup_failure(self, container):
        kind, payload = container.receive()
        self.assertEqual(kind, SETUP_FAILED)
        with self.assertRaises(Ended):
            container.receive()
        return describe_failure(payload)

    def test_wrong_user(self):
        with Container() as container:
            container.configure(uid=UID + 1)
            self.assertEqual(self.setup_failure(container)[2], "user")

    def test_not_writable(self):
        with Container() as container:
            container.configure(writable=("/sandbox", "/usr"))
            self.assertIn("/usr", self.setup_failure(container)[3])

    def test_not_pid_1(self):
        with Container(wrapper="/usr/bin/setsid --fork --wait") as container:
            failure = self.setup_failure(container)
            self.assertIn("not process 1", failure[3])
            self.assertIn(b"not process 1", container.process.stderr.read())

    def test_garbage(self):
        """Malformed frames end the container, and nothing else happens."""
        bad = (
            struct.pack("<IHH", 2 << 20, CONFIGURE, 0),
            struct.pack("<IHH", 4, CONFIGURE, 0) + b"abcd",
            struct.pack("<IHH", 0, GO, 0),
        )
        for data in bad:
            with Container() as container:
                os.write(container.process.stdin.fileno(), data)
                with self.assertRaises(Ended):
                    while True:
                        container.receive()
        for kind, payload in ((200, b""), (INPUT, b"early"), (INPUT_END, b""), (DISCARD, b"\2\0\0\0"), (DISCARD, b""),
                              (SPEC_END, b""), (PUT_DATA, b"x"), (CONFIGURE, b""), (COLLECT, b"short")):
            with Container() as container:
                container.configure()
                container.until(READY)
                container.send(kind, payload)
                with self.assertRaises(Ended, msg=kind):
                    while True:
                        container.receive()

    def test_kill_at_the_gate(self):
        with Container() as container:
            container.configure()
            container.until(READY)
            container.spec("/bin/echo", "never")
            container.until(EVIDENCE)
            container.send(KILL_ALL)
            self.assertEqual(os.WTERMSIG(container.finish()), signal.SIGKILL)
            self.assertEqual(container.output[0], b"")
            self.assertNotIn("STARTED", container.log)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        print("skipped: needs root, to make a container by hand")
        sys.exit(77)
    INIT = os.path.abspath(sys.argv.pop(1))
    unittest.main()
