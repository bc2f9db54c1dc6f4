# SPDX-License-Identifier: Apache-2.0
"""
Class 4: images that somebody hostile made. Archives that write beside their tree (links, "..", absolute names, hard
links), that are bombs, or that bring devices; and trees that have links where the container's own places are
(CVE-2025-52565, CVE-2025-52881, CVE-2026-87766).
"""

import gzip
import os
import stat
import tarfile

from lib import attack, image
from lib.case import case, check, equal
from lib.image import directory, entry, hard_link, link, make_tar


def unharmed(canary):
    return sorted(os.listdir(canary)) == ["file"] and (canary / "file").read_text() == "untouched"


def make_canary(t, name="canary"):
    """Open to everybody, so that only what is under test keeps an archive out."""
    canary = t.tmp / name
    canary.mkdir(exist_ok=True)
    canary.chmod(0o777)
    (canary / "file").write_text("untouched")
    (canary / "file").chmod(0o666)
    return canary


def escapes(canary):
    """What each tries, and the word of the refusal; None: it may be taken, when it stays inside."""
    up = "../" * 40
    there = str(canary).lstrip("/")
    return {
        "a file through a link": ([link("x", str(canary)), entry("x/file", "harmed")], "symbolic link"),
        "a new file through a link": ([link("x", str(canary)), entry("x/new", "harmed")], "symbolic link"),
        "a directory through a link": ([link("x", str(canary)), directory("x/new")], "symbolic link"),
        "through a chain of links": ([directory("a"), link("a/b", ".."), link("c", "a/b/" + up + there),
                                      entry("c/file", "harmed")], "symbolic link"),
        "over a link": ([link("x", f"{canary}/file"), entry("x", "harmed")], None),
        "a directory's mode through a link": ([link("x", str(canary)), directory("x", 0o700)], None),
        "a link to the outside, hard": ([hard_link("x", up + there + "/file")], "leads out"),
        "a hard link through a link": ([link("x", str(canary)), hard_link("y", "x/file"), entry("z", "1")],
                                       "symbolic link"),
        "a hard link to a link, written to": ([link("x", f"{canary}/file"), hard_link("y", "x"), entry("y", "harmed")],
                                              None),
        "up": ([entry(up + there + "/file", "harmed")], "leads out"),
        "up in the middle": ([directory("a"), entry("a/" + up + there + "/new", "harmed")], "leads out"),
        "absolute": ([entry(f"{canary}/file", "harmed")], None),
        "a link in place of the root": ([link(".", str(canary)), entry("file", "harmed")], "root"),
    }


def whiteouts(canary):
    return {
        "a whiteout through a link": [link("x", str(canary)), entry("x/.wh.file", "")],
        "an opaque mark through a link": [link("x", str(canary)), entry("x/.wh..wh..opq", "")],
        "a whiteout of what is above": [directory("a"), entry("a/.wh...", "")],
    }


@case(limit=120)
def archives_that_write_elsewhere(t):
    canary = make_canary(t)
    with image.named(t) as name:
        for what, (entries, word) in escapes(canary).items():
            answer = image.take(t, make_tar(entries), name)
            check(unharmed(canary), f"{what}: the host's file was reached", answer)
            if word:
                check(answer.exit == 125 and word in answer.err.decode(), f"{what}: refused by name", answer)
            else:
                equal(answer.exit, 0, f"{what}: taken, inside, {answer!r}")
            t.tried(f"{what}: {'refused' if word else 'stayed inside'}")
        for what, entries in whiteouts(canary).items():
            files, _, _ = image.oci_layout([make_tar([directory("etc")]), make_tar(entries[:1]), make_tar(entries[1:])])
            answer = image.take(t, image.tar_of_files(files), name)
            check(answer.exit == 125 and unharmed(canary), f"{what}: refused", answer)
            t.tried(f"{what}: refused")

    # The same with nothing that holds links up: the canary is reached, so it would have been seen.
    def reach(sandbox):
        other = make_canary(t, "canary-of-control")
        try:
            image.take(t, make_tar([link("x", str(other)), entry("x/new", "harmed")]), name, sandbox=sandbox)
            check(unharmed(other), "an archive wrote through its link to the host")
        finally:
            (other / "new").unlink(missing_ok=True)
    with image.named(t) as name:
        attack.expect_noticed(t, ["image-beneath"], reach)


@case()
def devices_and_privileges(t):
    tar = make_tar(image.python_tree() + [
        directory("d"), entry("d/null", kind=tarfile.CHRTYPE, devmajor=1, devminor=3, mode=0o666),
        entry("d/disk", kind=tarfile.BLKTYPE, devmajor=8, devminor=0, mode=0o666), entry("d/fifo", kind=tarfile.FIFOTYPE),
        entry("d/suid", "x", mode=0o6755), entry("d/sticky", "x", mode=0o1777),
        entry("d/capable", "x", mode=0o755, pax_headers={
            "SCHILY.xattr.security.capability": "\x01\x00\x00\x02\xff\xff\xff\xff", "SCHILY.xattr.user.x": "y"}),
        entry("d/secret", "of root", mode=0o600), entry("d/own", "of a user", mode=0o600, uid=1000)])
    with image.named(t) as name:
        equal(image.take(t, tar, name).exit, 0, "import")
        tree = image.store(t) / name / "root/d"
        seen = {path.name: path.lstat().st_mode for path in tree.iterdir()}
        equal(sorted(seen), ["capable", "own", "secret", "sticky", "suid"], "no devices, no FIFO")
        check(all(stat.S_ISREG(mode) and not mode & 0o7000 for mode in seen.values()), "plain files only", seen)
        equal([os.listxattr(tree / one) for one in seen if os.listxattr(tree / one)], [], "extended attributes")
        answer = t.run("for n in ('secret', 'own'):\n  try: print(open('/d/' + n).read())\n"
                       "  except OSError as e: print(type(e).__name__)",
                       options=["--image", name], policy=image.policy(name))
        equal(answer.text, "PermissionError\nof a user\n", f"files that others may not read, {answer!r}")


@case(limit=120)
def bombs(t):
    zeros = gzip.compress(bytes(1 << 28), 9)
    huge, _ = entry("x")
    huge.size = 1 << 50
    deep = "d/" * 1000 + "x"
    attempts = {
        "a file that says it has a petabyte": (huge.tobuf(tarfile.GNU_FORMAT) + bytes(1024), "bytes"),
        "compressed twice": (gzip.compress(gzip.compress(make_tar([entry("x", bytes(1 << 24))]), 9)), "more than once"),
        "nothing but zeros": (gzip.compress(make_tar([]) + bytes(1 << 28), 9), "nothing in the archive"),
        "a thousand directories deep": (make_tar([entry(deep, "x")]), "too deep"),
        "a name of 300 bytes": (make_tar([entry("n" * 300, "x")]), "too long"),
        "cut off": (make_tar([entry("x", bytes(100000))])[:50000], "x"),
        "no archive": (b"hello" * 1000, "can't be read"),
        "empty": (b"", "can't be read"),
        "more entries than allowed": (make_tar([directory(f"d{n}") for n in range(3000)]), "more than 2000 files"),
        "zeros that are no tar": (zeros[:1000], "can't be read"),
    }
    with image.named(t) as name:
        for what, (archive, word) in attempts.items():
            answer = image.take(t, archive, name, ["--max-files", "2000", "--max-size", "1g"])
            check(answer.exit == 125 and word in answer.err.decode(), f"{what}: refused", answer)
            t.tried(f"{what}: refused ({answer.seconds:.1f} s)")
        for what, json in {"deep": b"[" * 100000, "a number": b"7", "large": b'"' + b"x" * (5 << 20) + b'"'}.items():
            answer = image.take(t, image.tar_of_files({"oci-layout": b"{}", "index.json": json}), name)
            check(answer.exit == 125 and b"crash" not in answer.err, f"index.json, {what}: refused", answer)


# Where the container has places of its own, the image has these instead.
PLACES = {
    "links out": lambda path, canary: link(path, str(canary)),
    "links to /usr/share": lambda path, canary: link(path, "/usr/share"),
    "links through a process": lambda path, canary: link(path, "/proc/1/root/tmp"),
    "links to itself": lambda path, canary: link(path, path),
    "files": lambda path, canary: entry(path, "x"),
}

GUEST = r"""
mounts = [line.split()[4] for line in open("/proc/self/mountinfo")]
report["mounts"] = sorted(set(m for m in mounts if not m.startswith("/proc/")))
for path in ("/proc", "/dev", "/dev/shm", "/sys", "/sandbox", "/tmp", "/etc"):
    report[path] = os.path.islink(path)
report["passwd"] = open("/etc/passwd").read().count("sandbox")
report["console"] = os.path.lexists("/dev/console") or os.path.lexists("/dev/pts") or os.path.lexists("/dev/ptmx")
report["sys"] = os.listdir("/sys")
for path in ("/tmp/a", "/sandbox/a", "/dev/shm/a"):
    open(path, "w").write("mine")
for path in ("/proc/sysrq-trigger", "/proc/self/attr/exec", "/etc/passwd"):
    probe(path, lambda: open(path, "w").write("x"))
finish()
"""
EXPECTED = {
    "mounts": ["/", "/dev", "/dev/shm", "/proc", "/sandbox", "/tmp"], "/proc": False, "/dev": False, "/dev/shm": False,
    "/sys": False, "/sandbox": False, "/tmp": False, "/etc": False, "passwd": 2, "console": False, "sys": ["devices"]}


def hostile_tree(make, canary):
    tree = image.python_tree()
    for path in ("proc", "sandbox", "tmp", "sys", "run", "etc", "dev"):
        tree.append(make(path, canary))
    return make_tar(tree)


def inner_links(canary):
    """The directories are there, and links and files in them."""
    tree = image.python_tree() + [directory(path) for path in ("dev", "proc", "sys", "etc", "sandbox", "tmp")]
    for path in ("dev/console", "dev/pts", "dev/ptmx", "dev/shm", "dev/null", "dev/fd", "proc/self", "proc/sysrq-trigger",
                 "sys/devices", "etc/passwd", "etc/group", "etc/hosts", "etc/resolv.conf", "tmp/a", "sandbox/a"):
        tree.append(link(path, str(canary)))
    return make_tar(tree)


def look(t, name, sandbox=None):
    report, _ = attack.inside(t, GUEST, sandbox=sandbox, options=["--image", name], policy=image.policy(name))
    for path in ("/proc/sysrq-trigger", "/proc/self/attr/exec", "/etc/passwd"):
        check(report.pop(path) != "done", f"{path} was written")
    return report


@case(limit=180)
def links_where_our_places_are(t):
    canary = make_canary(t)
    with image.named(t) as name:
        trees = {what: hostile_tree(make, canary) for what, make in PLACES.items()}
        trees["links inside of the places"] = inner_links(canary)
        for what, tar in trees.items():
            equal(image.take(t, tar, name).exit, 0, f"{what}: import")
            equal(look(t, name), EXPECTED, f"{what}: what the container is made of")
            check(unharmed(canary), f"{what}: the host's directory was reached")
            t.tried(f"{what}: harmless")

    # Without the layer of our own places, and with links followed, mounts land where the image wants them.
    with image.named(t) as name:
        tree = image.python_tree() + [directory(path) for path in ("proc", "sandbox", "dev", "etc", "usr/share/it")]
        equal(image.take(t, make_tar(tree + [link("tmp", "/usr/share/it")]), name).exit, 0, "import")
        equal(look(t, name), EXPECTED, "the control's image, in the sound build")
        attack.expect_noticed(t, ["image-places"], lambda weak: equal(
            look(t, name, weak), EXPECTED, "what the container is made of"))
