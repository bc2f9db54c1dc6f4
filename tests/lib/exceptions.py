# SPDX-License-Identifier: Apache-2.0
"""
The one list of named exceptions: where a backend is known to differ from what a case demands, and why that is right. An
entry is backend -> {"suite/file:case": reason}. Cases named here are counted as skipped, with the reason shown.
"""

NO_USER_NAMESPACE = "an engine without remapping gives containers no user namespace; ids are the host's, of a free range"
THREE_DISKS = "no engine mounts one tmpfs in three places: each has disk_limit, mem_limit bounds their sum"
UNCOUNTED = "the engine's own filter refuses the call before the one that counts is asked"
CPU_COUNT = "os.cpu_count() reads the host's /sys, where nothing can be put in; the affinity is right"

EXCEPTIONS = {
    "native": {},
    "docker": {
        "conformance/limits:disk_bytes": THREE_DISKS,
        "conformance/limits:cpus": CPU_COUNT,
        "conformance/limits:syscalls_that_only_fail": UNCOUNTED,
        "conformance/result_contract:security_is_what_the_program_sees": NO_USER_NAMESPACE,
    },
}
