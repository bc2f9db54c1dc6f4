# SPDX-License-Identifier: Apache-2.0
"""
The one list of named exceptions: where a backend is known to differ from what a case demands, and why that is right. An
entry is backend -> {"suite/file:case": reason}, for a case that is left out (counted as skipped, with the reason), or
{"suite/file:case#part": reason}, for the part of it that asks t.holds("part"); the rest of that case holds.
What stands under "docker/RUNTIME" comes on top for that OCI runtime.
"""

# What a runtime can't enforce, by the words of --allow-degraded, which every run over it is given.
DEGRADED = {
    # gVisor's kernel has no Landlock and no inode limits; with --ignore-cgroups nothing holds memory and processes.
    "runsc": ("cgroup", "landlock", "inodes"),
}

NO_USER_NAMESPACE = "an engine without remapping gives containers no user namespace; ids are the host's, of a free range"
THREE_DISKS = "no engine mounts one tmpfs in three places: each has disk_limit, mem_limit bounds their sum"
UNCOUNTED = "the engine's own filter refuses the call before the one that counts is asked"
ROOT_SUID = "the engine mounts the root itself, without nosuid; no_new_privs and an empty bounding set do the work"
READ_CGROUP = "the engine mounts the container's own control group read-only, and the init reads it; none is writable"
NO_SHIPPED_IMAGE = "the shipped policy names no image of an engine, so it alone cannot run anything there"

NO_TUNNEL = "nothing leads from an engine's container to the gateway yet, and the run is refused"

EXCEPTIONS = {
    "native": {},
    "docker": {
        "attacks/05_host_root:id_maps#unmapped_root": NO_USER_NAMESPACE,
        "attacks/06_privileges:capabilities_and_flags#nosuid_root": ROOT_SUID,
        "attacks/14_leaks_of_proc_and_sys:files_about_the_machine#no_cgroup": READ_CGROUP,
        "attacks/15_cgroup_escape:no_cgroup_file_system#none_mounted": READ_CGROUP,
        "attacks/21_concurrent_sandboxes:neighbours#user_namespace": NO_USER_NAMESPACE,
        "conformance/limits:disk_bytes#one_disk": THREE_DISKS,
        "conformance/limits:syscalls_that_only_fail#counted": UNCOUNTED,
        "conformance/policy_files:search_order#built_in": NO_SHIPPED_IMAGE,
        "conformance/result_contract:security_is_what_the_program_sees#user_namespace": NO_USER_NAMESPACE,
        "gateway/inside:pip_install": NO_TUNNEL,
        "gateway/inside:requests_tighten": NO_TUNNEL,
        "gateway/inside:npm_install": NO_TUNNEL,
        "gateway/inside:npm_of_the_machine": NO_TUNNEL,
        "gateway/inside:nothing_else_leads_out": NO_TUNNEL,
        "gateway/inside:a_flood_stays_bounded": NO_TUNNEL,
        "gateway/inside:killed_in_mid_install": NO_TUNNEL,
        "gateway/inside:upstream_gone_in_mid_install": NO_TUNNEL,
        "gateway/inside:it_ends_with_its_supervisor": NO_TUNNEL,
        "gateway/inside:secrets_stay_outside": NO_TUNNEL,
    },
}


def exceptions_for(backend, runtime):
    """{case: reason} for this backend, and for the OCI runtime under it ("": the engine's own choice)."""
    return {**EXCEPTIONS.get(backend, {}), **(EXCEPTIONS.get(f"{backend}/{runtime}", {}) if runtime else {})}
