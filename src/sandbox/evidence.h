/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is really enforced on a container, read back from the kernel or the engine after it was built and
 * before user code starts. A result's `security` part is made of this; evidence_check() compares it with the
 * spec and any mismatch stops the run.
 */
#pragma once

#include "policy/spec.h"
#include "util/error.h"

enum evidence_namespace {
        NAMESPACE_USER,
        NAMESPACE_MNT,
        NAMESPACE_PID,
        NAMESPACE_NET,
        NAMESPACE_IPC,
        NAMESPACE_UTS,
        NAMESPACE_CGROUP,
        NAMESPACE_COUNT_,
};

struct evidence {
        uint32_t uid, gid;           /* inside */
        uint32_t host_uid, host_gid; /* outside */
        unsigned group_count;        /* supplementary groups, at most 32 listed */
        uint32_t groups[32];
        uint64_t cap_effective, cap_permitted, cap_inheritable, cap_bounding, cap_ambient;
        bool no_new_privs;
        int seccomp_mode; /* 0 off, 1 strict, 2 filter */
        unsigned seccomp_filters;
        char seccomp_profile[32];
        char seccomp_sha256[65];
        int landlock_abi;                           /* 0: not in force */
        uint64_t namespaces[NAMESPACE_COUNT_];      /* inode numbers */
        uint64_t host_namespaces[NAMESPACE_COUNT_]; /* our own: each must differ */
        bool read_only_root;
        int cgroup_version; /* 0: none */
        char cgroup_path[512];
        uint64_t memory_max,
            memory_swap_max; /* bytes; as the cgroup says. memory_swap_max: memory+swap on v1, swap on v2 */
        uint64_t pids_max;
        uint64_t cpu_quota_usec, cpu_period_usec;
        unsigned cpus_allowed;            /* how many CPUs the program may run on */
        uint64_t disk_bytes, disk_inodes; /* size of the writable file system */
        unsigned degraded;                /* bits of enum enforcement */
        /*
         * An engine whose containers have no user namespace of their own: ids inside are the host's. The
         * user is then not the policy's but one of the range at host_uid_base, which nobody else has.
         */
        bool host_user_namespace;
        /*
         * The container runs on a kernel of its own (gVisor, a virtual machine). Namespaces and ids inside
         * are that kernel's; host_uid is who runs it on the host, UINT32_MAX where nobody could look.
         */
        bool own_kernel;
        char runtime_name[32], runtime_version[32]; /* what built it; "": not known */
        char image_digest[80];                      /* "": it has none */
        const char *network;                        /* "none" */
        const char *kernel_says[16], *engine_says[16],
            *guest_says[16]; /* which members each source vouches for; static */
};

/*
 * Compares with the spec. ERROR_MISMATCH names the setting, what the policy says and what was read. Waived
 * parts (spec->degraded_allowed and evidence->degraded both) are not compared.
 */
int evidence_check(const struct evidence *evidence, const struct container_spec *spec, struct error *err);
