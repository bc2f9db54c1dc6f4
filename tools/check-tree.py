#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no compiler sees: licence lines, file and line lengths, sources that no meson.build lists, dead links."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCE = "SPDX-License-Identifier: Apache-2.0"
MAX_LINES = 800
MAX_COLUMNS = 140  # of scripts; for C clang-format has its own limit
LICENSED = {".c", ".h", ".py", ".sh"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def tracked():
    """The files of the tree; from git where there is one, so that build directories do not count."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True).stdout
        names = [name for name in listing.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
                 if not path.relative_to(ROOT).parts[0].startswith(("build", ".git"))]
    return [ROOT / name for name in sorted(names) if (ROOT / name).is_file()]


def source_faults(path, text):
    lines = text.split("\n")
    if not any(LICENCE in line for line in lines[:4]):
        yield f"{path}: no line '{LICENCE}' at its top"
    if len(lines) > MAX_LINES:
        yield f"{path}: {len(lines)} lines; at most {MAX_LINES}: split it by responsibility"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and path.suffix not in {".c", ".h"}:
            yield f"{path}:{number}: {len(line)} columns; at most {MAX_COLUMNS}"


def listing_faults(path):
    """A C file of src/ that no meson.build of its folder or of one above names is never built."""
    folder = path.parent
    while folder != ROOT:
        listing = folder / "meson.build"
        if listing.exists():
            # Without the comments, in which there may be apostrophes.
            named = re.findall(r"'([^']+)'", re.sub(r"#.*", "", listing.read_text(encoding="utf-8")))
            if any(name == str(path.relative_to(folder)) for name in named):
                return
        folder = folder.parent
    yield f"{path.relative_to(ROOT)}: no meson.build lists it"


def link_faults(path, text):
    for target in LINK.findall(FENCE.sub("", text)):
        name = target.split("#")[0]
        if name and "://" not in target and not (path.parent / name).exists():
            yield f"{path.relative_to(ROOT)}: link to {target}, which does not exist"


def faults(path):
    name = path.relative_to(ROOT)
    # Inputs of tests may be as odd as they like.
    if {"corpus", "data", "cases"} & set(name.parts):
        return
    if path.suffix in LICENSED:
        yield from source_faults(name, path.read_text(encoding="utf-8", errors="replace"))
    if path.suffix == ".c" and name.parts[0] == "src":
        yield from listing_faults(path)
    if path.suffix == ".md":
        yield from link_faults(path, path.read_text(encoding="utf-8"))


def main():
    files = tracked()
    found = [fault for path in files for fault in faults(path)]
    for fault in found:
        print(fault)
    print(f"check-tree: {len(files)} files, {len(found)} faults")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
