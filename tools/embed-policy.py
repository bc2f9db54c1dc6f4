#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the shipped policy as C source: embed-policy.py INPUT OUTPUT.

The digest is that of the file as it is. The text goes without its comments, which make up most of it and
would be read at every start; lines and columns of what remains stay where they were.
"""

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


def without_comment(line: bytes) -> bytes:
    quoted = False
    for at, byte in enumerate(line):
        if byte == ord('"'):
            quoted = not quoted
        elif byte == ord("'") or byte == ord("\\"):
            sys.exit("plain double quotes only in the shipped policy: comments are told from text by them")
        elif byte == ord("#") and not quoted:
            if at > 0 and line[at - 1 : at] not in (b" ", b"\t"):
                continue
            return line[:at].rstrip() + b"\n"
    return line


def main() -> None:
    source, target = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read()
    text = [without_comment(line) for line in data.splitlines(keepends=True)]
    lines = "\n".join("    " + c_string(line) for line in text)
    with open(target, "w", encoding="ascii") as file:
        file.write(
            "/* Generated from config/sandbox.yaml. */\n"
            '#include "policy/builtin.h"\n\n'
            f"const char policy_builtin_text[] =\n{lines};\n"
            f"const size_t policy_builtin_size = {sum(map(len, text))};\n"
            f'const char policy_builtin_sha256[65] = "{hashlib.sha256(data).hexdigest()}";\n'
        )


main()
