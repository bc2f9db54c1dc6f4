/* SPDX-License-Identifier: Apache-2.0 */
/* The `security` part of a result: what was read back, who said so, and what was waived or weakened. */
#include "sandbox/json.h"

#include "util/defence.h"

static const char *const capability_names[] = {
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
};

static const char *const namespace_names[NAMESPACE_COUNT_] = {
    [NAMESPACE_USER] = "user",
    [NAMESPACE_MNT] = "mnt",
    [NAMESPACE_PID] = "pid",
    [NAMESPACE_NET] = "net",
    [NAMESPACE_IPC] = "ipc",
    [NAMESPACE_UTS] = "uts",
    [NAMESPACE_CGROUP] = "cgroup",
};

static const char *const seccomp_mode_names[] = {"disabled", "strict", "filter"};

static json_t *capability_set(struct json_builder *builder, uint64_t set)
{
        json_t *array = json_array();
        for (unsigned bit = 0; bit < 64; bit++) {
                char number[16];
                if (!(set & UINT64_C(1) << bit))
                        continue;
                (void)snprintf(number, sizeof number, "CAP_%u", bit);
                json_add(builder, array,
                    json_string(bit < ARRAY_SIZE(capability_names) ? capability_names[bit] : number));
        }
        return array;
}

static json_t *capabilities(struct json_builder *builder, const struct evidence *evidence)
{
        json_t *object = json_object();
        json_put(builder, object, "effective", capability_set(builder, evidence->cap_effective));
        json_put(builder, object, "permitted", capability_set(builder, evidence->cap_permitted));
        json_put(builder, object, "inheritable", capability_set(builder, evidence->cap_inheritable));
        json_put(builder, object, "bounding", capability_set(builder, evidence->cap_bounding));
        json_put(builder, object, "ambient", capability_set(builder, evidence->cap_ambient));
        return object;
}

static json_t *seccomp(struct json_builder *builder, const struct evidence *evidence)
{
        bool known =
            evidence->seccomp_mode >= 0 && evidence->seccomp_mode < (int)ARRAY_SIZE(seccomp_mode_names);
        json_t *object = json_object();
        json_put(
            builder, object, "mode", json_text(known ? seccomp_mode_names[evidence->seccomp_mode] : NULL));
        json_put(builder, object, "filters", json_integer(evidence->seccomp_filters));
        json_put(builder, object, "profile",
            json_text(evidence->seccomp_profile[0] ? evidence->seccomp_profile : NULL));
        json_put(builder, object, "sha256",
            json_text(evidence->seccomp_sha256[0] ? evidence->seccomp_sha256 : NULL));
        return object;
}

static json_t *cgroup(struct json_builder *builder, const struct evidence *evidence)
{
        if (evidence->cgroup_version == 0)
                return json_null();
        json_t *object = json_object();
        json_put(builder, object, "version", json_integer(evidence->cgroup_version));
        json_put(builder, object, "path", json_text(evidence->cgroup_path));
        json_put(builder, object, "memory_max", json_count(evidence->memory_max));
        json_put(builder, object, "memory_swap_max", json_count(evidence->memory_swap_max));
        json_put(builder, object, "pids_max", json_count(evidence->pids_max));
        json_put(builder, object, "cpu_quota_usec", json_count(evidence->cpu_quota_usec));
        json_put(builder, object, "cpu_period_usec", json_count(evidence->cpu_period_usec));
        json_put(builder, object, "cpus_allowed", json_integer(evidence->cpus_allowed));
        return object;
}

static json_t *names(struct json_builder *builder, const char *const *list, size_t max)
{
        json_t *array = json_array();
        for (size_t i = 0; list && i < max && list[i]; i++)
                json_add(builder, array, json_text(list[i]));
        return array;
}

static void put_evidence(struct json_builder *builder, json_t *security, const struct evidence *evidence)
{
        json_put(builder, security, "uid", json_integer(evidence->uid));
        json_put(builder, security, "gid", json_integer(evidence->gid));
        json_put(builder, security, "host_uid",
            evidence->host_uid == UINT32_MAX ? json_null() : json_integer(evidence->host_uid));
        json_t *groups = json_array();
        for (unsigned i = 0; i < MIN(evidence->group_count, (unsigned)ARRAY_SIZE(evidence->groups)); i++)
                json_add(builder, groups, json_integer(evidence->groups[i]));
        json_put(builder, security, "groups", groups);
        json_put(builder, security, "capabilities", capabilities(builder, evidence));
        json_put(builder, security, "no_new_privs", json_boolean(evidence->no_new_privs));
        json_put(builder, security, "seccomp", seccomp(builder, evidence));
        json_put(builder, security, "landlock_abi",
            evidence->landlock_abi > 0 ? json_integer(evidence->landlock_abi) : json_null());
        json_t *namespaces = json_object();
        for (size_t i = 0; i < NAMESPACE_COUNT_; i++)
                json_put(builder, namespaces, namespace_names[i],
                    evidence->namespaces[i] > 0 ? json_count(evidence->namespaces[i]) : json_null());
        json_put(builder, security, "namespaces", namespaces);
        json_put(builder, security, "read_only_root", json_boolean(evidence->read_only_root));
        json_put(builder, security, "network", json_text(evidence->network));
        json_put(builder, security, "cgroup", cgroup(builder, evidence));
}

static json_t *says(struct json_builder *builder, const struct evidence *evidence)
{
        json_t *object = json_object();
        size_t max = ARRAY_SIZE(evidence->kernel_says);
        json_put(builder, object, "kernel", names(builder, evidence->kernel_says, max));
        json_put(builder, object, "engine", names(builder, evidence->engine_says, max));
        json_put(builder, object, "guest", names(builder, evidence->guest_says, max));
        return object;
}

json_t *json_security(struct json_builder *builder, const struct result *result)
{
        static const char *const evidence_members[] = {"uid", "gid", "host_uid", "groups", "capabilities",
            "no_new_privs", "seccomp", "landlock_abi", "namespaces", "read_only_root", "network", "cgroup"};
        static const char *const writable[] = {"/sandbox", "/tmp", "/dev/shm"};
        const struct evidence *evidence = &result->evidence; /* all zero where there is none */

        json_t *security = json_object();
        if (result->has_evidence)
                put_evidence(builder, security, evidence);
        for (size_t i = 0; !result->has_evidence && i < ARRAY_SIZE(evidence_members); i++)
                json_put(builder, security, evidence_members[i], json_null());
        json_put(builder, security, "writable",
            names(builder, writable, result->has_evidence ? ARRAY_SIZE(writable) : 0));
        json_put(builder, security, "policy_sha256",
            json_text(
                result->has_spec && result->spec.policy_sha256[0] ? result->spec.policy_sha256 : NULL));
        json_t *degraded = json_array();
        for (unsigned i = 0; i < ENFORCEMENT_COUNT_; i++)
                if (evidence->degraded & 1U << i)
                        json_add(builder, degraded, json_text(enforcement_name((enum enforcement)i)));
        const struct gateway_spec *gateway = result->has_spec ? result->spec.gateway : NULL;
        for (size_t i = 0; gateway && i < gateway->entry_count; i++)
                if (gateway->entries[i].proxy) { /* it chooses the addresses */
                        json_add(builder, degraded, json_text("addresses"));
                        break;
                }
        json_put(builder, security, "degraded", degraded);
        json_t *unsafe =
            names(builder, (const char *const *)result->spec.unsafe, result->has_spec ? SIZE_MAX : 0);
        if (DEFENCE_OFF)
                json_add(builder, unsafe, json_text(DEFENCE_OFF));
        json_put(builder, security, "unsafe", unsafe);
        json_put(builder, security, "evidence", says(builder, evidence));
        return security;
}
