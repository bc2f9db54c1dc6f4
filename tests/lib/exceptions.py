# SPDX-License-Identifier: Apache-2.0
"""
The one list of named exceptions: where a backend is known to differ from what a case demands, and why that is right. An
entry is backend -> {"suite/file:case": reason}; what stands under "docker/RUNTIME" comes on top for that OCI runtime.
Cases named here are counted as skipped, with the reason shown.
"""

# What a runtime can't enforce, by the words of --allow-degraded, which every run over it is given. That it refuses to run
# without them is a case of its own (engines/runtimes).
DEGRADED = {
    # gVisor's kernel has no Landlock and no inode limits; with --ignore-cgroups nothing holds memory and processes.
    "runsc": ("cgroup", "landlock", "inodes"),
}

NO_USER_NAMESPACE = "an engine without remapping gives containers no user namespace; ids are the host's, of a free range"
THREE_DISKS = "no engine mounts one tmpfs in three places: each has disk_limit, mem_limit bounds their sum"
UNCOUNTED = "the engine's own filter refuses the call before the one that counts is asked"
ROOT_SUID = "the engine mounts the root itself, without nosuid; no_new_privs and an empty bounding set do the work"
READ_CGROUP = "the engine mounts the container's own control group read-only, and the init reads it; none is writable"
OWN_PTMX = "the runtime's /dev has a ptmx, of a devpts of the container's own, which Landlock keeps shut"

EXCEPTIONS = {
    "native": {},
    "docker": {
        "attacks/05_host_root:id_maps": NO_USER_NAMESPACE,
        "attacks/06_privileges:capabilities_and_flags": ROOT_SUID,
        "attacks/09_argument_truncation:high_halves": OWN_PTMX,
        "attacks/14_leaks_of_proc_and_sys:files_about_the_machine": READ_CGROUP,
        "attacks/15_cgroup_escape:no_cgroup_file_system": READ_CGROUP,
        "conformance/limits:disk_bytes": THREE_DISKS,
        "conformance/limits:syscalls_that_only_fail": UNCOUNTED,
        "conformance/result_contract:security_is_what_the_program_sees": NO_USER_NAMESPACE,
    },
}


def exceptions_for(backend, runtime):
    """{case: reason} for this backend, and for the OCI runtime under it ("": the engine's own choice)."""
    return {**EXCEPTIONS.get(backend, {}), **(EXCEPTIONS.get(f"{backend}/{runtime}", {}) if runtime else {})}
