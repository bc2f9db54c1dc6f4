#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a text file as C source, with its digest: embed-policy.py INPUT OUTPUT."""

import hashlib
import sys


def c_string(line: bytes) -> str:
    out = []
    for byte in line:
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif 0x20 <= byte < 0x7F:
            out.append(char)
        else:
            out.append(f"\\{byte:03o}")  # three digits: what follows can't be taken for part of it
    return '"' + "".join(out) + '"'


def main() -> None:
    source, target = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read()
    lines = "\n".join("    " + c_string(line) for line in data.splitlines(keepends=True))
    with open(target, "w", encoding="ascii") as file:
        file.write(
            "/* Generated from config/sandbox.yaml. */\n"
            '#include "policy/builtin.h"\n\n'
            f"const char policy_builtin_text[] =\n{lines};\n"
            f"const size_t policy_builtin_size = {len(data)};\n"
            f'const char policy_builtin_sha256[65] = "{hashlib.sha256(data).hexdigest()}";\n'
        )


main()
