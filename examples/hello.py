# SPDX-License-Identifier: Apache-2.0
"""Says hello, and who and where it is."""

import os
import platform
import sys

name = sys.argv[1] if len(sys.argv) > 1 else "world"
print(f"Hello, {name}!")
print(f"Python {platform.python_version()}, process {os.getpid()}, uid {os.getuid()}, directory {os.getcwd()}")
print(f"CPUs that I may use: {len(os.sched_getaffinity(0))}")
