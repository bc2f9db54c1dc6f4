# SPDX-License-Identifier: Apache-2.0
"""Starts processes that start processes. Never run this outside a sandbox.

It refuses to unless the working directory is /sandbox, so that a slip of the finger does no harm.
"""

import os
import sys
import time

if os.getcwd() != "/sandbox":
    sys.exit("fork_bomb.py: only inside the sandbox")

refused = 0
while refused < 1000:
    try:
        os.fork()
    except OSError:
        refused += 1
        time.sleep(0.01)
