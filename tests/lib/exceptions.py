# SPDX-License-Identifier: Apache-2.0
"""
The one list of named exceptions: where a backend is known to differ from what a case demands, and why that is right. An
entry is backend -> {"suite/file:case": reason}. Cases named here are counted as skipped, with the reason shown.
"""

EXCEPTIONS = {
    "native": {},
    "docker": {},
}
