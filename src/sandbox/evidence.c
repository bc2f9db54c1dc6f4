/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/evidence.h"

#include "util/defence.h"

/*
 * Kernels round: memory.max down to a page, a tmpfs up to one (64 KiB pages exist); and our own init and the
 * folders that it makes count in pids.max and nr_inodes, on top of what the program may have.
 */
#define ROUNDING (64U << 10)
#define OWN_PROCESSES 4U
#define OWN_INODES 64U

static const char mismatch_hint[] =
    "nothing was run; this is a fault of the backend or of this host: see `mai-sandbox doctor`";

#define MISMATCH(err, ...) error_set(err, ERROR_MISMATCH, 0, mismatch_hint, __VA_ARGS__)

/* Waived by the caller by name, and reported as missing by the backend. */
static bool waived(
    const struct evidence *evidence, const struct container_spec *spec, enum enforcement enforcement)
{
        return (spec->degraded_allowed & evidence->degraded & 1U << enforcement) != 0;
}

static int check_degraded(
    const struct evidence *evidence, const struct container_spec *spec, struct error *err)
{
        unsigned surplus = evidence->degraded & ~spec->degraded_allowed;
        for (unsigned i = 0; i < ENFORCEMENT_COUNT_; i++)
                if (surplus & 1U << i)
                        return MISMATCH(err, "%s is not enforced, and was not allowed to be missing",
                            enforcement_name((enum enforcement)i));
        return surplus ? MISMATCH(err, "unknown parts are not enforced (bits 0x%x)", surplus) : 0;
}

static int check_identity(
    const struct evidence *evidence, const struct container_spec *spec, struct error *err)
{
        if (evidence->own_kernel) {
                if (evidence->uid < spec->host_uid_base || evidence->gid != evidence->uid)
                        return MISMATCH(err, "user: uid %u, gid %u are not of the range at %u",
                            evidence->uid, evidence->gid, spec->host_uid_base);
        } else if (evidence->host_user_namespace) {
                if (evidence->uid < spec->host_uid_base || evidence->uid != evidence->host_uid ||
                    evidence->gid != evidence->uid || evidence->gid != evidence->host_gid)
                        return MISMATCH(err,
                            "user: ids are the host's, and uid %u, gid %u are not of the range at %u",
                            evidence->uid, evidence->gid, spec->host_uid_base);
        } else if (evidence->uid != spec->uid || evidence->uid == 0)
                return MISMATCH(
                    err, "user: the policy says uid %u, the container has %u", spec->uid, evidence->uid);
        else if (evidence->gid != spec->gid)
                return MISMATCH(
                    err, "user: the policy says gid %u, the container has %u", spec->gid, evidence->gid);
        if (evidence->host_uid == 0)
                return MISMATCH(err, "user: the program would be uid 0 on the host");
        if (evidence->host_gid == 0)
                return MISMATCH(err, "user: the program would be gid 0 on the host");
        for (unsigned i = 0; i < evidence->group_count && !waived(evidence, spec, ENFORCE_GROUPS); i++)
                if (i >= ARRAY_SIZE(evidence->groups) || evidence->groups[i] != evidence->gid)
                        return MISMATCH(
                            err, "user: supplementary groups are left (%u of them)", evidence->group_count);
        return 0;
}

static int check_privileges(
    const struct evidence *evidence, const struct container_spec *spec, struct error *err)
{
        const struct {
                const char *name;
                uint64_t set;
        } sets[] = {
            {"effective", evidence->cap_effective},
            {"permitted", evidence->cap_permitted},
            {"inheritable", evidence->cap_inheritable},
            {"bounding", evidence->cap_bounding},
            {"ambient", evidence->cap_ambient},
        };
        for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
                if (DEFENCE("caps") && sets[i].set & ~spec->capabilities)
                        return MISMATCH(err, "cap_drop: the %s set holds 0x%llx, the policy allows 0x%llx",
                            sets[i].name, (unsigned long long)sets[i].set,
                            (unsigned long long)spec->capabilities);
        if (spec->no_new_privileges && !evidence->no_new_privs)
                return MISMATCH(err, "security_opt: no-new-privileges is not set");
        if (DEFENCE("seccomp") && spec->seccomp == SECCOMP_DEFAULT &&
            (evidence->seccomp_mode != 2 || evidence->seccomp_filters == 0))
                return MISMATCH(err, "security_opt: no system-call filter (mode %d, %u filters)",
                    evidence->seccomp_mode, evidence->seccomp_filters);
        if (DEFENCE("landlock") && evidence->landlock_abi <= 0 && !waived(evidence, spec, ENFORCE_LANDLOCK))
                return MISMATCH(err, "landlock: not in force");
        return 0;
}

static int check_isolation(
    const struct evidence *evidence, const struct container_spec *spec, struct error *err)
{
        static const char *const names[NAMESPACE_COUNT_] = {
            [NAMESPACE_USER] = "user",
            [NAMESPACE_MNT] = "mnt",
            [NAMESPACE_PID] = "pid",
            [NAMESPACE_NET] = "net",
            [NAMESPACE_IPC] = "ipc",
            [NAMESPACE_UTS] = "uts",
            [NAMESPACE_CGROUP] = "cgroup",
        };
        /* Another kernel's namespaces are none of ours, whatever their numbers. */
        for (size_t i = 0; i < NAMESPACE_COUNT_ && !evidence->own_kernel; i++) {
                if (evidence->namespaces[i] == 0)
                        return MISMATCH(
                            err, "namespaces: the container's %s namespace could not be read", names[i]);
                if (i == NAMESPACE_USER && evidence->host_user_namespace)
                        continue;
                if (evidence->namespaces[i] == evidence->host_namespaces[i])
                        return MISMATCH(
                            err, "namespaces: the container shares the host's %s namespace", names[i]);
        }
        if (DEFENCE("read-only") && spec->read_only && !evidence->read_only_root)
                return MISMATCH(err, "read_only: the root file system can be written to");
        const char *network = spec->network == NETWORK_NONE ? "none" : "dependencies";
        if (!evidence->network || strcmp(evidence->network, network) != 0)
                return MISMATCH(err, "network_mode: the policy says %s, the container has %s", network,
                    evidence->network ? evidence->network : "an unknown one");
        return 0;
}

/* A ceiling that must be there, not above `limit` + `slack`, and not so far below that somebody misread it.
 */
static int check_ceiling(
    const char *setting, uint64_t limit, uint64_t seen, uint64_t below, uint64_t above, struct error *err)
{
        if (seen != 0 && seen != UINT64_MAX && seen <= limit + above && seen + below >= limit)
                return 0;
        return MISMATCH(err, "%s: the policy says %llu, %s%llu is in force", setting,
            (unsigned long long)limit, seen == UINT64_MAX ? "no limit: " : "", (unsigned long long)seen);
}

static int check_cgroup(
    const struct evidence *evidence, const struct container_spec *spec, struct error *err)
{
        const struct limits *limits = &spec->limits;
        if (waived(evidence, spec, ENFORCE_CGROUP))
                return 0;
        if (evidence->cgroup_version == 0)
                return MISMATCH(
                    err, "mem_limit, pids_limit, cpu_count: the program is in no cgroup of its own");

        int r = DEFENCE("cgroup-memory")
                    ? check_ceiling("mem_limit", limits->mem_limit, evidence->memory_max, ROUNDING, 0, err)
                    : 0;
        if (r < 0)
                return r;
        /* v1 counts memory and swap together, v2 swap alone: none is wanted. */
        uint64_t swap_ceiling = evidence->cgroup_version == 1 ? limits->mem_limit : 0;
        if (DEFENCE("cgroup-memory") && evidence->memory_swap_max > swap_ceiling &&
            !waived(evidence, spec, ENFORCE_SWAP))
                return MISMATCH(err, "mem_limit: swap is not limited");
        if (DEFENCE("cgroup-pids"))
                r = check_ceiling(
                    "pids_limit", limits->pids_limit, evidence->pids_max, 0, OWN_PROCESSES, err);
        if (r < 0)
                return r;

        double granted = evidence->cpu_period_usec > 0
                             ? (double)evidence->cpu_quota_usec / (double)evidence->cpu_period_usec
                             : 0;
        if (evidence->cpu_quota_usec == 0 || granted <= 0 || granted > limits->cpu_count * 1.01 + 1e-3)
                return MISMATCH(err, "cpu_count: the policy says %.6g, %.6g CPUs are granted",
                    limits->cpu_count, evidence->cpu_quota_usec == UINT64_MAX ? 0 : granted);
        return 0;
}

static int check_rest(const struct evidence *evidence, const struct container_spec *spec, struct error *err)
{
        const struct limits *limits = &spec->limits;
        unsigned cpus = whole_cpus(limits->cpu_count);
        if ((evidence->cpus_allowed == 0 || evidence->cpus_allowed > cpus) &&
            !waived(evidence, spec, ENFORCE_CPUSET))
                return MISMATCH(err, "cpu_count: the policy lets %u CPUs be seen, the program may run on %u",
                    cpus, evidence->cpus_allowed);
        int r =
            check_ceiling("disk_limit", limits->disk_limit, evidence->disk_bytes, ROUNDING, ROUNDING, err);
        if (r < 0)
                return r;
        if (waived(evidence, spec, ENFORCE_INODES))
                return 0;
        return check_ceiling("inode_limit", limits->inode_limit, evidence->disk_inodes, 0, OWN_INODES, err);
}

int evidence_check(const struct evidence *evidence, const struct container_spec *spec, struct error *err)
{
        static int (*const checks[])(
            const struct evidence *evidence, const struct container_spec *spec, struct error *err) = {
            check_degraded,
            check_identity,
            check_privileges,
            check_isolation,
            check_cgroup,
            check_rest,
        };
        for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
                int r = checks[i](evidence, spec, err);
                if (r < 0)
                        return r;
        }
        return 0;
}
