# SPDX-License-Identifier: Apache-2.0
"""Takes memory, 16 MiB at a time, until it is stopped."""

blocks = []
while True:
    blocks.append(b"x" * (16 << 20))
    print(f"{len(blocks) * 16} MiB")
