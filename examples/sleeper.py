# SPDX-License-Identifier: Apache-2.0
"""Outstays its welcome: ends only by the wall-clock limit. What it printed before is kept."""

import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
for second in range(3600):
    print(f"still here after {second} s")
    time.sleep(1)
