/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/native/readback.h"

#include "seccomp/seccomp.h"
#include "util/cgroup_table.h"
#include "util/defence.h"
#include "util/fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

static const char *const namespace_files[NAMESPACE_COUNT_] = {
    [NAMESPACE_USER] = "ns/user",
    [NAMESPACE_MNT] = "ns/mnt",
    [NAMESPACE_PID] = "ns/pid",
    [NAMESPACE_NET] = "ns/net",
    [NAMESPACE_IPC] = "ns/ipc",
    [NAMESPACE_UTS] = "ns/uts",
    [NAMESPACE_CGROUP] = "ns/cgroup",
};

static const char *const from_kernel[] = {"uid", "gid", "groups", "capabilities", "no_new_privs", "seccomp",
    "namespaces", "read_only_root", "network", "cgroup", "limits", "host_uid"};
static const char *const from_guest[] = {"landlock_abi"};

static int read_namespaces(int proc, uint64_t inodes[NAMESPACE_COUNT_], struct error *err)
{
        for (int i = 0; i < NAMESPACE_COUNT_; i++) {
                struct stat st;
                if (fstatat(proc, namespace_files[i], &st, 0) < 0)
                        return error_set(
                            err, ERROR_BACKEND, errno, NULL, "reading %s of a process", namespace_files[i]);
                inodes[i] = st.st_ino;
        }
        return 0;
}

/* The number in a cgroup file; UINT64_MAX for "max" or what can't be read. */
static uint64_t read_limit(int directory, const char *file)
{
        char text[64];
        if (directory < 0 || fd_read_small(directory, file, text, sizeof text) <= 0)
                return UINT64_MAX;
        char *end;
        errno = 0;
        unsigned long long value = strtoull(text, &end, 10);
        return end == text || errno ? UINT64_MAX : value;
}

/* The `n` decimal numbers that `text` starts with; returns what follows them, or NULL if there are fewer. */
static const char *read_numbers(const char *text, uint64_t *ret, size_t n)
{
        uint64_t numbers[3];
        if (n > ARRAY_SIZE(numbers))
                return NULL;
        for (size_t i = 0; i < n; i++) {
                char *end;
                errno = 0;
                numbers[i] = strtoull(text, &end, 10);
                if (end == text || errno != 0)
                        return NULL;
                text = end;
        }
        memcpy(ret, numbers, n * sizeof *ret);
        return text;
}

int readback_begin(struct evidence *evidence, const struct meter *meter, struct error *err)
{
        _cleanup_(closep) int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (self < 0)
                return error_set(err, ERROR_BACKEND, errno, "mount /proc", "opening /proc/self");
        int r = read_namespaces(self, evidence->host_namespaces, err);
        if (r < 0)
                return r;

        evidence->cgroup_version = meter->version;
        const int *directories = meter->directories;
        if (meter->version == 1) {
                evidence->memory_max = read_limit(directories[CONTROLLER_MEMORY], "memory.limit_in_bytes");
                evidence->memory_swap_max =
                    read_limit(directories[CONTROLLER_MEMORY], "memory.memsw.limit_in_bytes");
                evidence->pids_max = read_limit(directories[CONTROLLER_PIDS], "pids.max");
                evidence->cpu_quota_usec = read_limit(directories[CONTROLLER_CPU], "cpu.cfs_quota_us");
                evidence->cpu_period_usec = read_limit(directories[CONTROLLER_CPU], "cpu.cfs_period_us");
        } else if (meter->version == 2) {
                int directory = directories[CONTROLLER_UNIFIED];
                evidence->memory_max = read_limit(directory, "memory.max");
                evidence->memory_swap_max = read_limit(directory, "memory.swap.max");
                evidence->pids_max = read_limit(directory, "pids.max");
                char text[64] = "";
                uint64_t cpu[2] = {UINT64_MAX, 0}; /* what "max" reads as, too */
                (void)fd_read_small(directory, "cpu.max", text, sizeof text);
                (void)read_numbers(text, cpu, ARRAY_SIZE(cpu));
                evidence->cpu_quota_usec = cpu[0];
                evidence->cpu_period_usec = cpu[1];
        }
        if (evidence->pids_max != UINT64_MAX && evidence->pids_max > 0)
                evidence->pids_max--; /* ours, for the init */
        return 0;
}

/* The value of "Key:\t..." in /proc/PID/status, up to the end of its line; NULL if it is not there. */
static const char *status_value(const char *text, const char *key)
{
        size_t size = strlen(key);
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                if (strncmp(line, key, size) == 0 && line[size] == ':')
                        return line + size + 1;
                line = *end ? end + 1 : end;
        }
        return NULL;
}

static uint64_t status_number(const char *text, const char *key, int base)
{
        const char *value = status_value(text, key);
        return value ? strtoull(value, NULL, base) : UINT64_MAX; /* "absent" must never look like 0 */
}

/* "0-1,4" counted. */
static unsigned count_cpus(const char *list)
{
        unsigned count = 0;
        while (list && (*list == '\t' || *list == ' '))
                list++;
        while (list && *list >= '0' && *list <= '9') {
                char *end;
                unsigned long first = strtoul(list, &end, 10), last = first;
                if (*end == '-')
                        last = strtoul(end + 1, &end, 10);
                if (last < first || last - first > 65536)
                        return 0;
                count += (unsigned)(last - first + 1);
                if (*end != ',')
                        break;
                list = end + 1;
        }
        return count;
}

static void read_groups(struct evidence *evidence, const char *text)
{
        const char *at = status_value(text, "Groups");
        while (at && *at && *at != '\n') {
                char *end;
                unsigned long group = strtoul(at, &end, 10);
                if (end == at) {
                        at++;
                        continue;
                }
                if (evidence->group_count < ARRAY_SIZE(evidence->groups))
                        evidence->groups[evidence->group_count] = (uint32_t)group;
                evidence->group_count++;
                at = end;
        }
}

static void read_status(struct evidence *evidence, const char *text)
{
        evidence->host_uid = (uint32_t)status_number(text, "Uid", 10);
        evidence->host_gid = (uint32_t)status_number(text, "Gid", 10);
        read_groups(evidence, text);
        evidence->cap_inheritable = status_number(text, "CapInh", 16);
        evidence->cap_permitted = status_number(text, "CapPrm", 16);
        evidence->cap_effective = status_number(text, "CapEff", 16);
        evidence->cap_bounding = status_number(text, "CapBnd", 16);
        evidence->cap_ambient = status_number(text, "CapAmb", 16);
        evidence->no_new_privs = status_number(text, "NoNewPrivs", 10) == 1;
        evidence->seccomp_mode = (int)status_number(text, "Seccomp", 10);
        evidence->seccomp_filters = (unsigned)status_number(text, "Seccomp_filters", 10);
        evidence->cpus_allowed = count_cpus(status_value(text, "Cpus_allowed_list"));
}

/*
 * The id inside that stands for the one host id of a map
 * of one line. UINT32_MAX if the map is anything else.
 */
static uint32_t inside_id(int proc, const char *file, uint32_t host_id)
{
        char text[256];
        uint64_t numbers[3]; /* inside, outside, how many */
        if (fd_read_small(proc, file, text, sizeof text) <= 0)
                return UINT32_MAX;
        const char *rest = read_numbers(text, numbers, ARRAY_SIZE(numbers));
        bool single = rest && strcmp(rest, "\n") == 0 && numbers[2] == 1;
        return single && numbers[1] == host_id ? (uint32_t)numbers[0] : UINT32_MAX;
}

/* Is every controller's line of /proc/PID/cgroup our group? */
static bool in_cgroup(int proc, const struct meter *meter, const char *path)
{
        static const struct {
                enum launcher_controller controller;
                const char *word;
        } lines[] = {{CONTROLLER_MEMORY, "memory"}, {CONTROLLER_PIDS, "pids"}, {CONTROLLER_CPU, "cpu"},
            {CONTROLLER_CPUACCT, "cpuacct"}, {CONTROLLER_UNIFIED, ""}};
        const char *name = strrchr(path, '/');
        char text[4096], seen[4096];
        if (!name || fd_read_small(proc, "cgroup", text, sizeof text) <= 0)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
                if (meter->directories[lines[i].controller] < 0)
                        continue;
                if (cgroup_table_path(text, lines[i].word, seen, sizeof seen) < 0)
                        return false;
                const char *last = strrchr(seen, '/');
                if (!last || strcmp(last, name) != 0)
                        return false;
        }
        return true;
}

/* Do all lines of a table of routes that begin (`first`) or end with an interface's name say loopback? */
static bool only_loopback(const char *text, bool first)
{
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                const char *word = line;
                size_t size = strcspn(line, " \t\n");
                if (!first) {
                        const char *stop = end;
                        while (stop > line && (stop[-1] == ' ' || stop[-1] == '\t'))
                                stop--;
                        word = stop;
                        while (word > line && word[-1] != ' ' && word[-1] != '\t')
                                word--;
                        size = (size_t)(stop - word);
                }
                if (size != 2 || memcmp(word, "lo", 2) != 0)
                        return false;
                line = *end ? end + 1 : end;
        }
        return true;
}

/* The number behind "PROTOCOL: inuse " in a table of sockets; UINT64_MAX: it is not there. */
static uint64_t sockets_in_use(const char *text, const char *protocol)
{
        const char *line = strstr(text, protocol);
        return line ? strtoull(line + strlen(protocol), NULL, 10) : UINT64_MAX;
}

/*
 * "none" if nobody in the network namespace has a socket of the internet's protocols, "dependencies" if
 * there is just one, of TCP: the one that leads to the gateway. NULL otherwise. The program does not run
 * yet.
 */
static const char *read_sockets(int proc)
{
        char text[1024];
        if (fd_read_small(proc, "net/sockstat", text, sizeof text) <= 0 ||
            sockets_in_use(text, "\nUDP: inuse ") != 0 || sockets_in_use(text, "\nRAW: inuse ") != 0)
                return NULL;
        uint64_t count = sockets_in_use(text, "\nTCP: inuse ");
        return count == 0 ? "none" : count == 1 ? "dependencies" : NULL;
}

/*
 * What the network is if no route leads anywhere but to loopback; NULL if one does, or it can't be told.
 * Routes, since some kernels put unused tunnel devices into every new namespace.
 */
static const char *read_network(int proc)
{
        char text[4096];
        ssize_t n = fd_read_small(proc, "net/route", text, sizeof text);
        const char *routes = n > 0 ? strchr(text, '\n') : NULL; /* behind the heading */
        if (!routes || (size_t)n >= sizeof text - 1 || !only_loopback(routes + 1, true))
                return NULL;
        n = fd_read_small(proc, "net/ipv6_route", text, sizeof text);
        if (n == -ENOENT || n == 0)
                return read_sockets(proc); /* no IPv6, or no route */
        return n > 0 && (size_t)n < sizeof text - 1 && only_loopback(text, false) ? read_sockets(proc)
                                                                                  : NULL;
}

int readback_process(struct evidence *evidence, pid_t pid, const struct meter *meter,
    const char *cgroup_path, struct error *err)
{
        char path[32], text[4096];
        (void)snprintf(path, sizeof path, "/proc/%d", (int)pid);
        _cleanup_(closep) int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (proc < 0 || fd_read_small(proc, "status", text, sizeof text) <= 0)
                return error_set(
                    err, ERROR_BACKEND, errno, NULL, "reading what is enforced on process %d", (int)pid);
        read_status(evidence, text);
        evidence->uid = inside_id(proc, "uid_map", evidence->host_uid);
        evidence->gid = inside_id(proc, "gid_map", evidence->host_gid);
        int r = read_namespaces(proc, evidence->namespaces, err);
        if (r < 0)
                return r;
        if (meter->version != 0 && !in_cgroup(proc, meter, cgroup_path))
                return error_set(err, ERROR_MISMATCH, 0, NULL,
                    "mem_limit: the kernel says that process %d is not in cgroup %s", (int)pid, cgroup_path);
        (void)snprintf(evidence->cgroup_path, sizeof evidence->cgroup_path, "%s", cgroup_path);

        struct statvfs root;
        _cleanup_(closep) int root_fd = openat(proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root_fd < 0 || fstatvfs(root_fd, &root) < 0)
                return error_set(err, ERROR_BACKEND, errno, NULL, "looking at the container's root");
        evidence->read_only_root = root.f_flag & ST_RDONLY;
        struct statfs disk;
        if (meter->disk < 0 || fstatfs(meter->disk, &disk) < 0)
                return error_set(
                    err, ERROR_BACKEND, errno, NULL, "looking at the container's writable directories");
        evidence->disk_bytes = (uint64_t)disk.f_blocks * (uint64_t)disk.f_bsize;
        evidence->disk_inodes = (uint64_t)disk.f_files;

        if (evidence->seccomp_mode == 2) {
                (void)snprintf(
                    evidence->seccomp_profile, sizeof evidence->seccomp_profile, "%s", seccomp_profile_name);
                (void)snprintf(evidence->seccomp_sha256, sizeof evidence->seccomp_sha256, "%s",
                    seccomp_profile_sha256());
        }
        evidence->network = read_network(proc);
        memcpy(evidence->kernel_says, from_kernel, sizeof from_kernel);
        memcpy(evidence->guest_says, from_guest, sizeof from_guest);
        return 0;
}
