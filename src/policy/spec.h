/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container spec: everything a backend needs to know to build one container, with nothing left to
 * decide. Policy resolution makes it (policy/resolve.h); backends read it and never see the policy.
 *
 * Owner: whoever resolved it; free with container_spec_clear(). All strings are heap copies.
 */
#pragma once

#include "policy/gateway_spec.h"
#include "protocol/enforcement.h"
#include "util/common.h"

/* What a run may use. All limits are always set; none is zero. */
struct limits {
        double cpu_count; /* CPUs, may be a fraction: bandwidth, and ceil() of it the number of CPUs seen */
        uint64_t mem_limit;    /* bytes, swap included (there is none) */
        double timeout;        /* seconds of wall time */
        double cpu_time;       /* seconds of CPU time, all processes together */
        uint64_t pids_limit;   /* processes and threads of the program (our own init is not counted) */
        uint64_t disk_limit;   /* bytes in /sandbox, /tmp and /dev/shm together; charged to memory */
        uint64_t inode_limit;  /* files and directories in the same */
        uint64_t output_limit; /* bytes, for each of standard output and standard error */
        uint64_t open_files;   /* descriptors of one process */
};

/* How many CPUs a count that may be a fraction comes to: the number that a container sees. */
static inline unsigned whole_cpus(double cpu_count)
{
        unsigned whole = (unsigned)cpu_count;
        return whole + (cpu_count > whole);
}

enum network_mode {
        NETWORK_NONE,
        NETWORK_DEPENDENCIES,
};

enum seccomp_mode {
        SECCOMP_DEFAULT,    /* the project's allow-list */
        SECCOMP_UNCONFINED, /* only with `unsafe: true` */
};

/* "cgroup", "swap", ...: the words of --allow-degraded and of security.degraded. NULL past the end. */
const char *enforcement_name(enum enforcement enforcement);

struct container_spec {
        char *trust_level;
        char *backend; /* "native" */
        char *image;   /* "host", or the name of an imported image */
        struct limits limits;

        uint32_t uid; /* inside; never 0 */
        uint32_t gid;
        bool read_only; /* root file system */
        bool no_new_privileges;
        uint64_t capabilities; /* bit mask of CAP_*: what cap_drop left plus cap_add; 0 unless unsafe */
        enum seccomp_mode seccomp;
        enum network_mode network;
        struct gateway_spec *gateway; /* NULL where network is NETWORK_NONE */

        char **environment; /* "K=V" from the policy's env and the request; NULL-terminated; our own (HOME…)
                               come on top */

        double monitoring_interval;  /* seconds between samples */
        uint64_t monitoring_samples; /* most samples kept in a result */

        uint32_t host_uid_base; /* native.uid_base: slot n of the ledger runs as host uid base + n */

        char *docker_host;          /* docker.host: where the engine listens; NULL: its usual place */
        char *docker_runtime;       /* OCI runtime; NULL: the engine's own choice */
        double docker_call_timeout; /* docker.call_timeout: seconds */

        unsigned ready; /* docker.ready: containers of this kind that wait made; 0 on other backends */

        unsigned degraded_allowed; /* 1U << enum enforcement */
        char **unsafe; /* weakenings in force, e.g. "read_only: false"; NULL-terminated; empty normally */
        char policy_sha256[65]; /* of the policy file's bytes */
        char *policy_path;      /* "built-in" or the file's path */

        /* Admission, see state/ledger.h. */
        double host_cpu_share;      /* CPUs that all sandboxes of this user may hold together */
        uint64_t host_mem_share;    /* bytes, the same */
        bool queue_when_full;       /* else reject */
        uint64_t queue_length;      /* most runs waiting */
        double queue_timeout;       /* seconds a run waits at most */
        uint64_t level_concurrency; /* most runs of this trust level at once */
};

void container_spec_clear(struct container_spec *spec);

/*
 * The kind of a container: all that it is made of, without what only a run in it needs (environment, times,
 * output, its share of the host). A copy of that (0 or -ENOMEM; clear *ret anyway), and whether two are the
 * same.
 */
int container_spec_copy_kind(struct container_spec *ret, const struct container_spec *spec);
bool container_spec_same_kind(const struct container_spec *a, const struct container_spec *b);
