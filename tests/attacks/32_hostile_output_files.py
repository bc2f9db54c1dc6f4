# SPDX-License-Identifier: Apache-2.0
"""
Class 32: what a run leaves for the caller to collect: links out of the directory (CVE-2024-28185, CVE-2024-28189),
FIFOs, sockets, devices, odd names, huge numbers, files that change while they are read.
"""

import base64
import os
import pathlib
import stat
import subprocess

from lib import attack, host
from lib.case import PYTHON, case, check, equal

GUEST = """
import os, socket
secret = "/etc/passwd"
open("plain.txt", "w").write("plain")
for target in (secret, "/proc/self/environ", "/proc/1/root", "/", "..", "loop", "/dev/zero", "plain.txt"):
    os.symlink(target, "link" + str(len(os.listdir("."))))
os.symlink("loop", "loop")
os.mkdir("dir")
os.symlink("..", "dir/up")
open("dir/inner.txt", "w").write("inner")
os.symlink("/etc", "etc")
os.mkfifo("fifo")
s = socket.socket(socket.AF_UNIX); s.bind("sock")
for name in (b"new\\nline", b"bad\\xff\\xfe", b"esc\\x1b[31m", b"-rf", b"...", b" ", b"a:b", b"quote\\"'"):
    open(name, "w").write("odd")
open("locked", "w").write("locked"); os.chmod("locked", 0)
open("mode", "w").write("mode"); os.chmod("mode", 0o6777)
os.mkdir("closed"); open("closed/in", "w").write("x"); os.chmod("closed", 0)
os.link("plain.txt", "hard.txt")
print("made")
"""


@case()
def links_and_special_files(t):
    out = t.tmp / "out"
    canary = t.write("canary.txt", "untouched")
    answer = t.run(GUEST, options=["--output-dir", str(out)])
    equal((answer.status, answer.text), ("ok", "made\n"), "the run")
    odd = []
    for directory, names, files in os.walk(out):
        for name in names + files:
            found = os.lstat(os.path.join(directory, name))
            if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                odd.append(os.path.join(directory, name))
            check(not found.st_mode & 0o6000, "a setuid or setgid file came out", name)
            equal(found.st_uid, os.getuid(), f"owner of {name}")
    equal(odd, [], "what came out that is neither a file nor a directory")
    passwd = pathlib.Path("/etc/passwd").read_bytes()
    files = [path for path in out.rglob("*") if path.is_file()]
    check(not any(path.read_bytes() == passwd for path in files), "a file of the host came out", files)
    twins = [out / name for name in ("plain.txt", "hard.txt") if (out / name).exists()]
    check(twins and all(twin.read_text() == "plain" for twin in twins),
          "the plain file, under one of its two names at least", files)
    equal((out / "dir/inner.txt").read_text(), "inner", "the file in a directory")
    names = {os.fsencode(path.name) for path in files}
    for name in (b"new\nline", b"bad\xff\xfe", b"esc\x1b[31m", b"-rf", b"...", b" ", b"a:b"):
        check(name in names, f"{name} did not come out", names)
    listed = [base64.b64decode(f["path"]) if f["path_encoding"] == "base64" else f["path"].encode()
              for f in answer.result["files"]]
    check(b"bad\xff\xfe" in listed and b"new\nline" in listed, "odd names in the list", listed)
    check(b"main.py" not in listed, "the program itself is listed", listed)
    check(answer.events("file_skipped"), "nothing tells of what was left out", answer.result["events"])
    equal(canary.read_text(), "untouched", "the canary beside the output directory")
    # The control: a copy that follows links, as `cp -rL` does, brings the host's file out.
    work = t.tmp / "work"
    work.mkdir()
    os.symlink("/etc/passwd", work / "link")
    subprocess.run(["cp", "-rL", work, t.tmp / "followed"], check=True)
    equal((t.tmp / "followed/link").read_bytes(), passwd, "control: a copy that follows links")
    t.tried("symlinks to files, directories, /proc and loops, FIFO, socket, setuid modes, names with newline, escape and "
            f"invalid UTF-8: {len(files)} regular files came out, nothing else (cp -L brings /etc/passwd)")


@case()
def traps_in_the_output_directory(t):
    """The directory itself may hold links planted earlier: nothing is written through them."""
    out = t.tmp / "out"
    out.mkdir()
    canary = t.write("canary.txt", "untouched")
    elsewhere = t.tmp / "elsewhere"
    elsewhere.mkdir()
    os.symlink(canary, out / "result.txt")
    os.symlink(elsewhere, out / "dir")
    os.mkfifo(out / "fifo")
    answer = t.run("import os\nopen('result.txt', 'w').write('new')\nos.mkdir('dir')\nopen('dir/f', 'w').write('new')\n"
                   "open('fifo', 'w').write('new')", options=["--output-dir", str(out)], patience=30)
    equal(canary.read_text(), "untouched", "a file was written through a planted link")
    equal(os.listdir(elsewhere), [], "a directory was entered through a planted link")
    subprocess.run([PYTHON, "-c", "open('result.txt', 'w').write('new')"], cwd=out, check=True)
    check(canary.read_text() == "new" or not (out / "result.txt").is_symlink(),
          "control: a plain write goes through the link")
    t.tried(f"links and a FIFO planted in the output directory: exit {answer.exit}, nothing written through them")


@case(limit=150)
def a_great_many(t):
    program = "import os\ntry:\n for n in range(100000): open(str(n), 'w').close()\nexcept OSError as e: print(n, e.strerror)"
    answer = t.run(program, options=["--output-dir", str(t.tmp / "out")], patience=140)
    check(answer.status == "ok", "the run", answer)
    check(len(answer.result["files"]) <= 100000 and len(answer.out) < 64 << 20, "the answer's size",
          len(answer.out))
    host.assert_gone(answer)
    t.tried(f"100,000 files: {len(answer.result['files'])} listed, {answer.text.strip() or 'no limit met'}, "
            f"{answer.active:.1f} s")


@case()
def files_that_change_while_read(t):
    """Whoever could still write is dead before the first file is read."""
    program = """
import os, time
if os.fork() == 0:
    os.setsid()
    n = 0
    while True:
        n += 1
        with open("moving", "r+" if os.path.exists("moving") else "w") as f:
            f.write(str(n) * 1000)
        if os.path.islink("swap"):
            os.unlink("swap"); open("swap", "w").write("file")
        else:
            if os.path.exists("swap"): os.unlink("swap")
            os.symlink("/etc/passwd", "swap")
time.sleep(0.3)
"""
    import hashlib
    for turn in range(5):
        out = t.tmp / f"out{turn}"
        answer = t.run(program, options=["--output-dir", str(out)])
        equal(answer.status, "ok", "the run")
        for entry in answer.result["files"]:
            data = (out / entry["path"]).read_bytes()
            equal((len(data), hashlib.sha256(data).hexdigest()), (entry["size"], entry["sha256"]),
                  entry["path"])
            check(data[:5] != b"root:", "the host's file came out", entry)
        host.assert_gone(answer)
    t.tried("a surviving child rewrites and swaps files: sizes and hashes agree in 5 of 5 runs")
