#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that dependencies between the folders of src/ point one way, as docs/ARCHITECTURE.md draws them.

Every #include "..." of a file is looked up in one table: what its folder may use. The table is the rule; a new folder
has to be added here before it can include anything.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

LOWER = ("util", "policy", "protocol", "seccomp", "state", "image", "layer")

# Folder -> prefixes of what its files may include, beside its own. The longest folder name that fits is taken.
ALLOWED = {
    "util": (),
    # The words of --allow-degraded are shared with the launcher.
    "policy": ("util", "protocol/enforcement.h"),
    "protocol": ("util",),
    "seccomp": ("util",),
    "state": ("util", "policy/spec.h"),
    "image": ("util", "policy", "protocol", "seccomp", "state"),
    "layer": ("util", "policy", "protocol", "seccomp", "state", "image"),
    "sandbox": LOWER,
    "sandbox/native": tuple(name for name in LOWER if name != "policy") + ("policy/spec.h", "sandbox"),
    # A module of its own; of the sandbox it knows the backend's interface only.
    "sandbox/docker": tuple(name for name in LOWER if name != "policy") + ("policy/spec.h", "sandbox"),
    "api": LOWER + ("sandbox", "mai"),
    "cli": ("mai", "util"),
    # One static program: the launcher clones, and the clone goes on as the guest init.
    "launcher": ("util", "protocol", "seccomp", "guest"),
    "guest": ("util", "protocol", "seccomp"),
    # Programs of their own.
    "gateway": ("util", "protocol"),
    "importer": ("util", "protocol"),
}

# A header that only these folders may include: the privileged part has one client.
RESERVED = {"protocol/launcher.h": ("launcher", "sandbox/native", "protocol"),
            "protocol/importer.h": ("importer", "image", "protocol")}


def folder_of(path):
    parts = path.relative_to(SOURCE).parent.parts
    for length in range(len(parts), 0, -1):
        name = "/".join(parts[:length])
        if name in ALLOWED:
            return name
    return None


def allowed(folder, include):
    own_and_lower = (folder,) + ALLOWED[folder]
    return any(include == prefix or include.startswith(prefix + "/") for prefix in own_and_lower)


def faults(path):
    folder = folder_of(path)
    shown = path.relative_to(ROOT)
    if folder is None:
        yield f"{shown}: its folder is not in the table of tools/check-layers.py"
        return
    for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
        if "/" not in include:
            # Beside the file itself, or generated into the build tree next to it.
            continue
        if ".." in include:
            yield f'{shown}: includes "{include}": name headers from src/ down'
        elif not allowed(folder, include):
            yield f'{shown}: includes "{include}", but {folder}/ may use only {", ".join(ALLOWED[folder]) or "itself"}'
        elif include in RESERVED and folder not in RESERVED[include]:
            yield f'{shown}: includes "{include}", which only {", ".join(RESERVED[include])} may'


def main():
    found = []
    count = 0
    for path in sorted(SOURCE.rglob("*.[ch]")):
        count += 1
        found.extend(faults(path))
    for fault in found:
        print(fault)
    print(f"check-layers: {count} files, {len(found)} faults")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
