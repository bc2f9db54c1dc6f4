#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the black-box suites on a pure cgroup v2 host, which is a small virtual machine.

    tools/test-v2.py [--who root,user] [--build DIR] [FILTER...]
    tools/test-v2.py --command SCRIPT      runs that as root instead, in /project of the guest

Debian's cloud kernel package (unpacked, not installed) boots in qemu without needing KVM; its root file system is an
initramfs made of a minimal Debian, the built program and the tests. Downloads and what is made of them stay in
build-v2/. Prints what the guest prints; the last line is the count.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build-v2"
MIRROR = os.environ.get("MAI_DEBIAN_MIRROR")  # else debootstrap's own
PACKAGES = ("python3", "kmod", "libyaml-0-2", "libjansson4", "libmd0", "uidmap", "procps")
# What a guest of one evening has no use for.
PRUNED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/cache", "var/lib/apt",
          "var/lib/dpkg/info", "usr/lib/python3.11/test", "usr/lib/python3/dist-packages/__pycache__")
COUNT = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped\s*$")
DEADLINE = 3 * 3600  # seconds that the guest may take


def say(text):
    print(f"== {text}", flush=True)


def quietly(command, **how):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **how)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\ntest-v2: failed: {' '.join(map(str, command))}")
    return done.stdout


def kernel():
    """The kernel's image and its overlay module."""
    directory = WORK / "kernel"
    if not (directory / "done").exists():
        say("fetching Debian's kernel")
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        depends = quietly(["apt-cache", "depends", "linux-image-cloud-amd64"])
        package = re.search(r"Depends: (linux-image-\S+)", depends)
        if not package:
            sys.exit("test-v2: apt knows no linux-image-cloud-amd64: run apt-get update")
        quietly(["apt-get", "-q", "download", package.group(1)], cwd=directory)
        quietly(["dpkg", "-x", str(next(directory.glob("*.deb"))), str(directory)])
        (directory / "done").touch()
    return next(directory.glob("boot/vmlinuz-*")), next(directory.rglob("overlay.ko"))


def base_root():
    """A minimal Debian, kept between runs."""
    directory = WORK / "root"
    if not (WORK / "root-done").exists():
        say("making a minimal Debian")
        shutil.rmtree(directory, ignore_errors=True)
        quietly(["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", "bookworm", str(directory),
                 *([MIRROR] if MIRROR else [])])
        for path in PRUNED:
            shutil.rmtree(directory / path, ignore_errors=True)
        with open(directory / "etc/passwd", "a", encoding="ascii") as file:
            file.write("user:x:1000:1000::/home/user:/bin/sh\n")
        with open(directory / "etc/group", "a", encoding="ascii") as file:
            file.write("user:x:1000:\n")
        for name in ("subuid", "subgid"):
            (directory / "etc" / name).write_text("user:100000:65536\n", encoding="ascii")
        (directory / "home/user").mkdir()
        os.chown(directory / "home/user", 1000, 1000)
        (WORK / "root-done").touch()
    return directory


def entries(build, overlay, request):
    """Every file of the guest: name there -> path here."""
    root = base_root()
    for path in sorted(root.rglob("*")):
        yield str(path.relative_to(root)), path
    yield "overlay.ko", overlay
    yield "init", ROOT / "tests/v2/init.sh"
    yield "project", ROOT / "tests"
    for name in ("tests", "docs", "config", "examples"):
        yield f"project/{name}", ROOT / name
        for path in sorted((ROOT / name).rglob("*")):
            if "__pycache__" not in path.parts and not path.is_relative_to(ROOT / "tests/fuzz/corpus"):
                yield f"project/{path.relative_to(ROOT)}", path
    yield "project/request", request
    yield "project/build", build
    yield "project/build/mai-sandbox", build / "mai-sandbox"


def write_archive(out, build, overlay, request):
    """The "newc" cpio format, which the kernel unpacks: a header of hexadecimal numbers, name, content."""
    def member(number, name, mode, uid, gid, content):
        head = "070701" + "".join(f"{value:08x}" for value in (
            number, mode, uid, gid, 1, 0, len(content), 0, 0, 0, 0, len(name.encode()) + 1, 0))
        data = head.encode() + name.encode() + b"\0"
        out.write(data + b"\0" * (-len(data) % 4) + content + b"\0" * (-len(content) % 4))

    for number, (name, path) in enumerate(entries(build, overlay, request), 1):
        info = path.lstat()
        content = b""
        if stat.S_ISLNK(info.st_mode):
            content = os.readlink(path).encode()
        elif stat.S_ISREG(info.st_mode):
            content = path.read_bytes()
        elif not stat.S_ISDIR(info.st_mode):
            continue  # devices come from devtmpfs
        ours = name.startswith(("project", "init", "overlay"))
        mode = info.st_mode
        if ours:  # readable whatever the checkout's owner made of it; owned by root there
            mode = (mode & ~0o777) | (0o755 if mode & 0o111 or name == "init" else 0o644)
        member(number, name, mode, 0 if ours else info.st_uid, 0 if ours else info.st_gid, content)
    member(0, "TRAILER!!!", 0, 0, 0, b"")


def boot(image, archive, arguments):
    """Runs the guest, passing its console through. Returns its lines."""
    command = ["qemu-system-x86_64", "-machine", "microvm,acpi=off", "-cpu", "max", "-smp", "2", "-m", "5120",
               "-kernel", str(image), "-initrd", str(archive), "-nographic", "-nodefaults", "-serial", "stdio",
               "-no-reboot", "-append",
               "console=ttyS0 quiet panic=-1 reboot=t cgroup_no_v1=all rdinit=/init " + arguments]
    if os.access("/dev/kvm", os.R_OK | os.W_OK):
        command += ["-accel", "kvm"]
    lines = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as guest:
        signal.signal(signal.SIGALRM, lambda *_: guest.kill())
        signal.alarm(DEADLINE)
        for raw in guest.stdout:
            line = raw.decode(errors="replace").rstrip("\r\n")
            lines.append(line)
            print(line, flush=True)
        signal.alarm(0)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--who", default="root,user", help="as whom: root, user, or both (default)")
    parser.add_argument("--command", help="a shell script to run in the guest instead of the suites")
    parser.add_argument("filters", nargs="*", metavar="FILTER", help="parts of names of cases, as of tests/run.py")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("test-v2: making the guest's root file system needs root")
    WORK.mkdir(exist_ok=True)
    image, overlay = kernel()
    archive = WORK / f"initramfs-{os.getpid()}"
    base_root()
    say("packing the guest")
    request = WORK / "request"
    request.write_text(options.command or " ".join(map(shlex.quote, options.filters)), encoding="utf-8")
    with open(archive, "wb") as out:
        write_archive(out, options.build, overlay, request)
    say("booting it")
    started = time.monotonic()
    try:
        lines = boot(image, archive, f"mai.who={'command' if options.command else options.who}")
    finally:
        archive.unlink()
    say(f"the guest ran for {time.monotonic() - started:.0f} s")
    if options.command:
        return 0
    counts = [list(map(int, match.groups())) for match in map(COUNT.match, lines) if match]
    passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
    missing = len(options.who.split(",")) - len(counts)
    if missing or "== guest: done" not in lines:
        print("FAILED  the guest did not come to its end")
        failed += max(missing, 1)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
