/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/evidence.h"

#include "util/fd.h"
#include "util/parse.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

/* ---- /proc/PID/status ---- */

/* The value of "Key:\t..."; NULL if it is not there. */
static const char *value_of(const char *text, const char *key)
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

/* Up to `room` numbers of a line; returns how many there are in all. */
static uint32_t numbers_of(const char *text, const char *key, uint32_t *ret, size_t room)
{
        uint32_t count = 0;
        for (const char *at = value_of(text, key); at && *at && *at != '\n';) {
                if (*at < '0' || *at > '9') {
                        at++;
                        continue;
                }
                char *end;
                unsigned long number = strtoul(at, &end, 10);
                if (count < room)
                        ret[count] = (uint32_t)number;
                count++;
                at = end;
        }
        return count;
}

/* Absent must never look like "none". */
static uint64_t mask_of(const char *text, const char *key)
{
        const char *value = value_of(text, key);
        return value ? strtoull(value, NULL, 16) : UINT64_MAX;
}

static uint32_t number_of(const char *text, const char *key)
{
        uint32_t number = GUEST_UNKNOWN;
        (void)numbers_of(text, key, &number, 1);
        return number;
}

static void read_ids(const char *text, const char *key, uint32_t ids[4])
{
        for (int i = 0; i < 4; i++)
                ids[i] = GUEST_UNKNOWN;
        (void)numbers_of(text, key, ids, 4);
}

/* "0-1,4" counted; 0 if it makes no sense. */
static uint32_t count_cpus(const char *list)
{
        uint32_t count = 0;
        while (list && (*list == '\t' || *list == ' '))
                list++;
        while (list && *list >= '0' && *list <= '9') {
                char *end;
                unsigned long first = strtoul(list, &end, 10), last = first;
                if (*end == '-')
                        last = strtoul(end + 1, &end, 10);
                if (last < first || last - first > 65536)
                        return 0;
                count += (uint32_t)(last - first + 1);
                if (*end != ',')
                        break;
                list = end + 1;
        }
        return count;
}

/* Where /proc/PID/status says nothing of CPUs (gVisor), the process still answers. */
static uint32_t ask_cpus(pid_t pid)
{
        cpu_set_t set;
        return sched_getaffinity(pid, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 0;
}

static void read_status(int proc, struct guest_evidence *evidence)
{
        char text[8192] = "";
        (void)fd_read_small(proc, "status", text, sizeof text);
        read_ids(text, "Uid", evidence->uid);
        read_ids(text, "Gid", evidence->gid);
        evidence->group_count = value_of(text, "Groups")
                                    ? numbers_of(text, "Groups", evidence->groups, GUEST_GROUPS_MAX)
                                    : GUEST_UNKNOWN;
        evidence->cap_inheritable = mask_of(text, "CapInh");
        evidence->cap_permitted = mask_of(text, "CapPrm");
        evidence->cap_effective = mask_of(text, "CapEff");
        evidence->cap_bounding = mask_of(text, "CapBnd");
        evidence->cap_ambient = mask_of(text, "CapAmb");
        evidence->no_new_privs = number_of(text, "NoNewPrivs");
        evidence->seccomp_mode = number_of(text, "Seccomp");
        evidence->seccomp_filters = number_of(text, "Seccomp_filters");
        evidence->cpus_allowed = count_cpus(value_of(text, "Cpus_allowed_list"));
        if (evidence->cpus_allowed == 0)
                evidence->cpus_allowed = ask_cpus(evidence->pid);
}

/*
 * Not every kernel says all of it (gVisor's, and Linux before 5.9). What the init has, the program's process
 * has inherited, and none of it can be given back.
 */
static void fill_in_status(const struct evidence_known *known, struct guest_evidence *evidence)
{
        if (evidence->no_new_privs == GUEST_UNKNOWN) {
                int mine = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
                evidence->no_new_privs = mine < 0 ? GUEST_UNKNOWN : (uint32_t)mine;
        }
        if (evidence->seccomp_filters == GUEST_UNKNOWN && evidence->seccomp_mode == 2)
                evidence->seccomp_filters = 1; /* at least */
        if (evidence->cap_ambient == UINT64_MAX && known->no_ambient)
                evidence->cap_ambient = 0;
}

static void read_release(struct guest_evidence *evidence)
{
        struct utsname name;
        if (uname(&name) == 0)
                (void)snprintf(evidence->kernel_release, sizeof evidence->kernel_release, "%.*s",
                    (int)GUEST_RELEASE_SIZE - 1, name.release);
}

/* ---- Other files of /proc ---- */

/* The first line of an id map, and how many lines there are. */
static void read_map(int proc, const char *file, uint32_t first[3], uint32_t *ret_lines)
{
        char text[1024];
        uint32_t lines = 0;
        for (int i = 0; i < 3; i++)
                first[i] = GUEST_UNKNOWN;
        if (fd_read_small(proc, file, text, sizeof text) > 0) {
                int64_t map[3];
                if (parse_integers(text, map, 3) == 3)
                        for (int i = 0; i < 3; i++)
                                first[i] = (uint32_t)map[i];
                for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
                        lines++;
        }
        *ret_lines = lines;
}

/* The hard limit in a line of /proc/PID/limits. */
static uint64_t hard_limit(const char *text, const char *name)
{
        const char *line = strstr(text, name);
        if (!line)
                return UINT64_MAX;
        line += strlen(name);
        line += strspn(line, " ");
        line += strcspn(line, " "); /* past the soft limit */
        int64_t hard;
        return parse_integers(line, &hard, 1) == 1 ? (uint64_t)hard
                                                   : UINT64_MAX; /* unlimited, or not said */
}

static uint64_t own_hard_limit(int resource)
{
        struct rlimit limit;
        return getrlimit(resource, &limit) == 0 && limit.rlim_max != RLIM_INFINITY ? limit.rlim_max
                                                                                   : UINT64_MAX;
}

static void read_limits(int proc, struct guest_evidence *evidence)
{
        char text[4096] = "";
        if (fd_read_small(proc, "limits", text, sizeof text) <= 0) {
                /* No such file: what we have, the program's process has inherited. */
                evidence->open_files = own_hard_limit(RLIMIT_NOFILE);
                evidence->core_limit = own_hard_limit(RLIMIT_CORE);
                return;
        }
        evidence->open_files = hard_limit(text, "Max open files");
        evidence->core_limit = hard_limit(text, "Max core file size");
}

static const char *const namespace_files[GUEST_NAMESPACE_COUNT_] = {
    [GUEST_NAMESPACE_USER] = "/proc/self/ns/user",
    [GUEST_NAMESPACE_MNT] = "/proc/self/ns/mnt",
    [GUEST_NAMESPACE_PID] = "/proc/self/ns/pid",
    [GUEST_NAMESPACE_NET] = "/proc/self/ns/net",
    [GUEST_NAMESPACE_IPC] = "/proc/self/ns/ipc",
    [GUEST_NAMESPACE_UTS] = "/proc/self/ns/uts",
    [GUEST_NAMESPACE_CGROUP] = "/proc/self/ns/cgroup",
};

static void read_namespaces(uint64_t inodes[GUEST_NAMESPACE_COUNT_])
{
        for (int i = 0; i < GUEST_NAMESPACE_COUNT_; i++) {
                struct stat st;
                inodes[i] = stat(namespace_files[i], &st) == 0 ? st.st_ino : 0;
        }
}

static void read_interfaces(struct guest_evidence *evidence)
{
        _cleanup_(closep) int fd = open("/proc/self/net/dev", O_RDONLY | O_CLOEXEC);
        _cleanup_(freep) char *text = NULL;
        size_t size;
        if (fd < 0 || fd_read_whole(fd, 256U << 10, &text, &size) < 0) {
                evidence->interface_count = GUEST_UNKNOWN;
                return;
        }
        /* Two lines of headings, which have a '|', then "  name: numbers". */
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                const char *colon = memchr(line, ':', (size_t)(end - line));
                if (colon && !memchr(line, '|', (size_t)(end - line))) {
                        while (*line == ' ')
                                line++;
                        if (evidence->interface_count < GUEST_INTERFACES_MAX)
                                (void)snprintf(evidence->interfaces[evidence->interface_count],
                                    GUEST_INTERFACE_SIZE, "%.*s", (int)(colon - line), line);
                        evidence->interface_count++;
                }
                line = *end ? end + 1 : end;
        }
}

/* ---- Mounts ---- */

/* Does the mount table say that what is mounted on `path` is read-only? Not every kernel's statfs(2) does.
 */
static bool listed_read_only(const char *path)
{
        _cleanup_(closep) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        _cleanup_(freep) char *text = NULL;
        size_t size;
        bool read_only = false; /* of the last one mounted there, which is the one on top */
        if (fd < 0 || fd_read_whole(fd, 256U << 10, &text, &size) < 0)
                return false;
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                /* "ID PARENT DEVICE ROOT POINT OPTIONS ..." */
                const char *at = line;
                for (int field = 0; at && field < 4; field++) {
                        at = memchr(at, ' ', (size_t)(end - at));
                        at = at ? at + 1 : NULL;
                }
                size_t length = strlen(path);
                if (at && (size_t)(end - at) > length + 3 && memcmp(at, path, length) == 0 &&
                    at[length] == ' ')
                        read_only = memcmp(at + length + 1, "ro", 2) == 0 &&
                                    (at[length + 3] == ' ' || at[length + 3] == ',');
                line = *end ? end + 1 : end;
        }
        return read_only;
}

static uint32_t mount_flags(const char *path, struct statvfs *ret)
{
        static const struct {
                unsigned long theirs;
                uint32_t ours;
        } flags[] = {{ST_RDONLY, GUEST_MOUNT_READ_ONLY}, {ST_NOSUID, GUEST_MOUNT_NOSUID},
            {ST_NODEV, GUEST_MOUNT_NODEV}, {ST_NOEXEC, GUEST_MOUNT_NOEXEC}};
        uint32_t mask = 0;
        struct statfs fs;
        if (statvfs(path, ret) < 0 || statfs(path, &fs) < 0)
                return GUEST_MOUNT_MISSING;
        for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
                if (ret->f_flag & flags[i].theirs)
                        mask |= flags[i].ours;
        if ((unsigned long)fs.f_type == TMPFS_MAGIC)
                mask |= GUEST_MOUNT_TMPFS;
        if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
                mask |= GUEST_MOUNT_UNWRITABLE;
        return mask;
}

static void read_mount(const char *path, struct guest_mount *ret)
{
        struct statvfs fs = {};
        struct stat st = {};
        (void)snprintf(ret->path, sizeof ret->path, "%s", path);
        ret->flags = mount_flags(path, &fs);
        if (stat(path, &st) < 0)
                ret->flags |= GUEST_MOUNT_MISSING;
        ret->uid = st.st_uid;
        ret->gid = st.st_gid;
        ret->mode = st.st_mode & 07777;
        ret->device = st.st_dev;
        ret->bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
        ret->inodes = fs.f_files;
}

/* ---- Limits of the cgroup ---- */

static void read_cgroup(const struct cgroup_view *view, struct guest_evidence *evidence)
{
        bool memory_v2 = view->sources[CGROUP_MEMORY] == GUEST_SOURCE_CGROUP_V2;
        evidence->memory_max =
            cgroup_view_number(view, CGROUP_MEMORY, memory_v2 ? "memory.max" : "memory.limit_in_bytes", "");
        evidence->memory_swap_max = cgroup_view_number(
            view, CGROUP_MEMORY, memory_v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes", "");
        evidence->pids_max = cgroup_view_number(view, CGROUP_PIDS, "pids.max", "");
        evidence->cpu_quota_usec = evidence->cpu_period_usec = GUEST_NOT_MEASURED;
        if (view->sources[CGROUP_CPU] == GUEST_SOURCE_CGROUP_V1) {
                evidence->cpu_quota_usec = cgroup_view_number(view, CGROUP_CPU, "cpu.cfs_quota_us", "");
                evidence->cpu_period_usec = cgroup_view_number(view, CGROUP_CPU, "cpu.cfs_period_us", "");
        } else if (view->sources[CGROUP_CPU] == GUEST_SOURCE_CGROUP_V2) {
                char text[64];
                int64_t bandwidth[2]; /* quota and period */
                if (fd_read_small(view->directories[CGROUP_CPU], "cpu.max", text, sizeof text) > 0 &&
                    parse_integers(text, bandwidth, 2) == 2) {
                        evidence->cpu_quota_usec = (uint64_t)bandwidth[0];
                        evidence->cpu_period_usec = (uint64_t)bandwidth[1];
                }
        }
        for (int i = 0; i < CGROUP_CONTROLLER_COUNT_; i++) {
                if (view->sources[i] != GUEST_SOURCE_NONE)
                        evidence->cgroup_version = view->sources[i] == GUEST_SOURCE_CGROUP_V2 ? 2 : 1;
                if (view->directories[i] >= 0 &&
                    faccessat(view->directories[i], "cgroup.procs", W_OK, AT_EACCESS) == 0)
                        evidence->cgroup_writable = 1;
        }
}

void evidence_read(pid_t pid, const struct evidence_known *known, const char *const *writable,
    const struct cgroup_view *cgroup, struct guest_evidence *ret)
{
        memset(ret, 0, sizeof *ret); /* padding too: it travels */
        ret->pid = (int32_t)pid;
        ret->landlock_abi = known->landlock_abi;
        ret->dumpable = (uint32_t)prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);

        char path[32];
        (void)snprintf(path, sizeof path, "/proc/%d", (int)pid);
        _cleanup_(closep) int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        read_release(ret);
        read_status(proc, ret);
        fill_in_status(known, ret);
        read_limits(proc, ret);
        read_map(proc, "uid_map", ret->uid_map, &ret->uid_map_lines);
        read_map(proc, "gid_map", ret->gid_map, &ret->gid_map_lines);
        read_namespaces(ret->namespaces);
        read_interfaces(ret);
        read_cgroup(cgroup, ret);

        struct statvfs root;
        ret->root_flags = mount_flags("/", &root);
        if (listed_read_only("/"))
                ret->root_flags |= GUEST_MOUNT_READ_ONLY;
        for (; writable[ret->mount_count] && ret->mount_count < GUEST_WRITABLE_MAX; ret->mount_count++)
                read_mount(writable[ret->mount_count], &ret->mounts[ret->mount_count]);
}
