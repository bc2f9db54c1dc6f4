/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a container use, added up from /proc: for hosts where no cgroup counts it. Less
 * exact than a cgroup, and it says so in security.degraded: processes that come and go between two looks are
 * missed, CPU time of children that nobody waits for is lost.
 */
#pragma once

#include "util/common.h"

#include <sys/types.h>

struct process_usage {
        uint64_t cpu_user_nsec, cpu_system_nsec; /* of the living, and of the dead they waited for */
        uint64_t memory_bytes;                   /* private; what a fork still shares counts twice */
        uint64_t threads;
};

/*
 * Adds up `init` and all that descend from it: whoever loses his parent in a PID namespace gets its init as
 * the next one. 0, or -errno (-ESRCH: the init is gone).
 */
int process_usage_read(pid_t init, struct process_usage *ret);

/*
 * The same processes' private memory, each page that several share counted once in all. Exact and slow (the
 * kernel walks their page tables): for when the quick sum is above a limit. 0 or -errno.
 */
int process_usage_memory(pid_t init, uint64_t *ret_bytes);
