#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes the root file system of a container image, a tar archive, from the Debian packages that are installed on this
machine: the named ones and all that they depend on. Nothing is downloaded and nothing of it is run, so it takes seconds
where debootstrap takes minutes. For tests: documentation and translations are left out.

    docker-host-image.py FILE.tar PACKAGE...

Keeps FILE.tar if it was made of the same versions. Exit status 1, with a reason, where a package is not installed.
"""

import hashlib
import io
import os
import pathlib
import re
import stat
import subprocess
import sys
import tarfile

# What a system has without anybody depending on it.
ESSENTIAL = ("base-files", "base-passwd", "bash", "coreutils", "dash", "debianutils", "diffutils", "findutils", "grep", "gzip",
             "hostname", "libc-bin", "login", "mount", "ncurses-base", "passwd", "procps", "sed", "tar", "tzdata", "util-linux")
LEFT_OUT = re.compile(r"/usr/share/(doc|man|locale|info|lintian|bug|unicode|matplotlib/sample_data)/."
                      r"|/var/lib/dpkg/|/usr/include/."
                      r"|.*/dist-packages/(numpy|pandas|matplotlib|mpl_toolkits|PIL|fontTools)/(.*/)?tests/.|.*\.a$")
# Depended on by what few programs use of it: compilers, and what fonttools would like to calculate with.
NOT_FOLLOWED = re.compile(r".*-dev$|gcc$|gcc-\d|g\+\+|cpp$|cpp-|binutils|libboost|libjs-|tk8|tcl8"
                          r"|python3-(sympy|scipy|mpmath|distutils|lib2to3|tk|uharfbuzz)$")
MERGED = ("bin", "sbin", "lib", "lib64")  # links into /usr
DIRECTORIES = ("dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "var", "var/tmp", "usr")
# Made by a package's scripts or by the administrator, and not known to dpkg: this path and all below.
MADE_LATER = ("/etc/ssl/certs",)


def installed():
    """Package -> its fields, and what else is provided -> the package that does."""
    form = "${binary:Package}\t${db:Status-Status}\t${Version}\t${Depends}, ${Pre-Depends}\t${Provides}\n"
    listing = subprocess.run(["dpkg-query", "-W", "-f", form], check=True, capture_output=True, text=True).stdout
    packages, provided = {}, {}
    for line in listing.splitlines():
        name, status, version, depends, provides = line.split("\t")
        if status != "installed":
            continue
        packages[name.split(":")[0]] = (name, version, depends)
        for item in provides.split(","):
            provided.setdefault(item.split("(")[0].strip(), name.split(":")[0])
    return packages, provided


def closure(wanted):
    packages, provided = installed()
    missing = [name for name in wanted if name not in packages]
    if missing:
        sys.exit(f"docker-host-image.py: not installed here: {' '.join(missing)}")
    queue, found = [*wanted, *(name for name in ESSENTIAL if name in packages)], {}
    while queue:
        name = queue.pop()
        if name in found or NOT_FOLLOWED.match(name):
            continue
        full, version, depends = packages[name]
        found[name] = (full, version)
        for group in depends.split(","):
            choices = [re.split(r"[ (:]", choice.strip())[0] for choice in group.split("|")]
            have = [choice if choice in packages else provided.get(choice) for choice in choices]
            queue += [choice for choice in have if choice][:1]
    return found


def canonical(path):
    """The path with links in its directory part resolved: /bin/sh is /usr/bin/sh."""
    directory, name = os.path.split(path)
    return os.path.join(os.path.realpath(directory), name)


def files_of(packages):
    listing = subprocess.run(["dpkg-query", "-L", *(full for full, _ in packages.values())], check=True,
                             capture_output=True, text=True).stdout
    paths = {canonical(line) for line in listing.splitlines() if line.startswith("/") and line != "/."}
    for top in MADE_LATER:
        for directory, names, files in os.walk(top):
            paths.update(os.path.join(directory, name) for name in names + files)
    # Compiled modules and alternatives are made by scripts, for what is there already.
    for path in [path for path in paths if path.endswith(".py")]:
        directory, name = os.path.split(path)
        cache = pathlib.Path(directory, "__pycache__")
        paths.update(str(found) for found in cache.glob(f"{name[:-3]}.cpython-*.pyc"))
    for directory in ("/usr/bin", "/usr/sbin", *map(str, pathlib.Path("/usr/lib").glob("*-linux-*"))):
        for entry in os.scandir(directory):
            if entry.is_symlink() and os.readlink(entry.path).startswith("/etc/alternatives/") \
                    and os.path.realpath(entry.path) in paths:
                paths.update((entry.path, os.readlink(entry.path)))
    return sorted(path for path in paths if not LEFT_OUT.match(path))


def plain(info):
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    return info


def add_text(tar, name, text):
    info = tarfile.TarInfo(name)
    info.size = len(text)
    tar.addfile(plain(info), io.BytesIO(text))


def write(tar, paths):
    added = set()

    def add_directory(name):
        if name and name not in added:
            add_directory(os.path.dirname(name))
            added.add(name)
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755
            tar.addfile(plain(info))

    for name in DIRECTORIES:
        add_directory(name)
    for name in MERGED:
        if os.path.islink(f"/{name}"):
            tar.add(f"/{name}", name, filter=plain)
            added.add(name)
    for name in ("passwd", "group"):
        add_text(tar, f"etc/{name}", pathlib.Path(f"/usr/share/base-passwd/{name}.master").read_bytes())
        added.add(f"etc/{name}")
    add_text(tar, "etc/nsswitch.conf", pathlib.Path("/usr/share/libc-bin/nsswitch.conf").read_bytes())
    added.add("etc/nsswitch.conf")
    for path in paths:
        name = path[1:]
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            continue  # diverted, or removed by hand
        if name in added or name.split("/")[0] not in ("etc", "usr", "var", "opt"):
            continue
        add_directory(os.path.dirname(name))
        if stat.S_ISDIR(mode):
            add_directory(name)
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            added.add(name)
            tar.add(path, name, recursive=False, filter=plain)


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: docker-host-image.py FILE.tar PACKAGE...")
    target, packages = sys.argv[1], closure(sys.argv[2:])
    made_of = hashlib.sha256(pathlib.Path(__file__).read_bytes())
    for name, (_, version) in sorted(packages.items()):
        made_of.update(f"{name} {version}\n".encode())
    stamp = pathlib.Path(f"{target}.made-of")
    if os.path.exists(target) and stamp.exists() and stamp.read_text() == made_of.hexdigest():
        return
    with tarfile.open(f"{target}.new", "w") as tar:
        tar.dereference = False
        write(tar, files_of(packages))
    os.rename(f"{target}.new", target)
    stamp.write_text(made_of.hexdigest())


if __name__ == "__main__":
    main()
