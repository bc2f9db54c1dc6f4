/* SPDX-License-Identifier: Apache-2.0 */
/* What this host has to give: CPUs that we may run on, and memory that we may use. */
#include "policy/policy.h"
#include "util/cgroup_table.h"
#include "util/fd.h"
#include "util/parse.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/sysinfo.h>

/* A hierarchy in which memory is limited. */
static const struct {
        const char *controller; /* in /proc/self/cgroup; "": v2 */
        const char *mount;
        const char *file;
} hierarchies[] = {
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
    {"", "/sys/fs/cgroup", "memory.max"},
};

/*
 * The smallest limit from our cgroup up to the root that we see. A container may see its own cgroup as the
 * root, while the table still has the host's path: what does not exist is passed over. (v1 also sums this up
 * in memory.stat, but reading that makes the kernel gather all counters first.)
 */
static uint64_t memory_limit(const char *table, size_t hierarchy)
{
        char path[PATH_MAX], file[PATH_MAX + 64], text[32];
        uint64_t smallest = UINT64_MAX;
        if (cgroup_table_path(table, hierarchies[hierarchy].controller, path, sizeof path) < 0)
                return smallest;
        for (char *slash = path + strlen(path); slash; slash = strrchr(path, '/')) {
                uint64_t limit;
                *slash = '\0';
                (void)snprintf(file, sizeof file, "%s%s/%s", hierarchies[hierarchy].mount, path,
                    hierarchies[hierarchy].file);
                if (fd_read_small(AT_FDCWD, file, text, sizeof text) > 0) {
                        text[strcspn(text, "\n")] = '\0';
                        if (parse_u64(text, &limit))
                                smallest = MIN(smallest, limit);
                }
        }
        return smallest;
}

void policy_host_capacity(unsigned *ret_cpus, uint64_t *ret_memory)
{
        cpu_set_t set;
        long cpus =
            sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
        *ret_cpus = cpus > 0 ? (unsigned)cpus : 1;

        struct sysinfo info;
        uint64_t memory = 0;
        if (sysinfo(&info) == 0)
                memory = (uint64_t)info.totalram * info.mem_unit;

        char table[8192];
        if (fd_read_small(AT_FDCWD, "/proc/self/cgroup", table, sizeof table) > 0) {
                for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++)
                        memory = MIN(memory, memory_limit(table, i));
        }
        *ret_memory = memory;
}
