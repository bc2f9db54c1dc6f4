/* SPDX-License-Identifier: Apache-2.0 */
/* What this host has to give: CPUs that we may run on, and memory that we may use. */
#include "policy/policy.h"
#include "util/fd.h"
#include "util/parse.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/sysinfo.h>

/* The path of our cgroup in the hierarchy of `controller` ("" is v2's). False if there is none. */
static bool cgroup_path(const char *table, const char *controller, char *path, size_t size)
{
        size_t controller_size = strlen(controller);
        for (const char *line = table; *line != '\0';) {
                size_t length = strcspn(line, "\n");
                const char *names = memchr(line, ':', length);
                const char *colon =
                    names ? memchr(names + 1, ':', length - (size_t)(names + 1 - line)) : NULL;
                if (colon) {
                        names++;
                        const char *found =
                            *controller ? memmem(names, (size_t)(colon - names), controller, controller_size)
                                        : (colon == names ? names : NULL);
                        size_t path_size = length - (size_t)(colon + 1 - line);
                        if (found && path_size < size) {
                                memcpy(path, colon + 1, path_size);
                                path[path_size] = '\0';
                                return true;
                        }
                }
                line += length;
                line += *line == '\n';
        }
        return false;
}

/* v2: the smallest memory.max from our cgroup up to the root that we see. */
static uint64_t memory_limit_v2(const char *table)
{
        char path[PATH_MAX], file[PATH_MAX + 64], text[32];
        uint64_t smallest = UINT64_MAX;
        if (!cgroup_path(table, "", path, sizeof path))
                return smallest;
        for (;;) {
                uint64_t limit;
                (void)snprintf(file, sizeof file, "/sys/fs/cgroup%s/memory.max", path);
                if (fd_read_small(AT_FDCWD, file, text, sizeof text) > 0) {
                        text[strcspn(text, "\n")] = '\0';
                        if (parse_u64(text, &limit))
                                smallest = MIN(smallest, limit);
                }
                char *slash = strrchr(path, '/');
                if (!slash)
                        return smallest;
                *slash = '\0';
        }
}

/* v1 keeps the smallest of the whole chain in memory.stat. A container sees its own cgroup as the root. */
static uint64_t memory_limit_v1(const char *table)
{
        static const char word[] = "hierarchical_memory_limit ";
        char path[PATH_MAX], file[PATH_MAX + 64], text[4096];
        uint64_t limit;
        if (!cgroup_path(table, "memory", path, sizeof path))
                return UINT64_MAX;
        (void)snprintf(file, sizeof file, "/sys/fs/cgroup/memory%s/memory.stat", path);
        if (fd_read_small(AT_FDCWD, file, text, sizeof text) <= 0 &&
            fd_read_small(AT_FDCWD, "/sys/fs/cgroup/memory/memory.stat", text, sizeof text) <= 0)
                return UINT64_MAX;
        char *at = strstr(text, word);
        if (!at)
                return UINT64_MAX;
        at += sizeof word - 1;
        at[strcspn(at, "\n")] = '\0';
        return parse_u64(at, &limit) ? limit : UINT64_MAX;
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
                memory = MIN(memory, memory_limit_v1(table));
                memory = MIN(memory, memory_limit_v2(table));
        }
        *ret_memory = memory;
}
