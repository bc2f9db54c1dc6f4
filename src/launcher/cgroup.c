/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/cgroup.h"

#include "protocol/enforcement.h"
#include "util/cgroup_table.h"
#include "util/clock.h"
#include "util/defence.h"
#include "util/fd.h"
#include "util/parse.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define NO_CGROUP_HINT                                                                                      \
        "run as root or in a delegated cgroup (systemd-run --user --scope -p Delegate=yes COMMAND), or "    \
        "pass "                                                                                             \
        "--allow-degraded cgroup"
/* Where the supervisor goes in a group that is its own. */
#define LEAF "mai-sandbox-supervisor"
#define CGROUP2_MAGIC 0x63677270
#define ROOT "/sys/fs/cgroup"
/* How long a killed group may take to become empty. */
#define EMPTY_DEADLINE (800 * NSEC_PER_MSEC)

static const struct {
        enum launcher_controller controller;
        const char *name;  /* in /proc/self/cgroup */
        const char *mount; /* where distributions mount it on v1 */
} v1_hierarchies[] = {
    {CONTROLLER_MEMORY, "memory", ROOT "/memory"},
    {CONTROLLER_PIDS, "pids", ROOT "/pids"},
    {CONTROLLER_CPU, "cpu", ROOT "/cpu"},
    {CONTROLLER_CPUACCT, "cpuacct", ROOT "/cpuacct"},
};

/* ---- Finding the hierarchies ---- */

/* Opens mount + path if children can be made there. */
static int open_parent(const char *mount, const char *path)
{
        char full[LAUNCHER_PATH_SIZE + 64];
        (void)snprintf(full, sizeof full, "%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
        int fd = openat(AT_FDCWD, full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
                close_and_forget(&fd);
        return fd;
}

static bool same_directory(int a, int b)
{
        struct stat first, second;
        return a >= 0 && b >= 0 && fstat(a, &first) == 0 && fstat(b, &second) == 0 &&
               first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static void find_v1(struct cgroup_host *host, const char *text)
{
        for (size_t i = 0; i < ARRAY_SIZE(v1_hierarchies); i++) {
                enum launcher_controller controller = v1_hierarchies[i].controller;
                if (cgroup_table_path(
                        text, v1_hierarchies[i].name, host->paths[controller], LAUNCHER_PATH_SIZE) < 0)
                        continue;
                host->parents[controller] = open_parent(v1_hierarchies[i].mount, host->paths[controller]);
                if (host->parents[controller] < 0)
                        continue;
                if (controller == CONTROLLER_CPUACCT &&
                    same_directory(host->parents[CONTROLLER_CPU], host->parents[controller])) {
                        close_and_forget(
                            &host->parents[controller]); /* mounted together, as most distributions do */
                        host->cpuacct_in_cpu = true;
                        continue;
                }
                host->controllers |= 1U << controller;
        }
        if (host->controllers & (1U << CONTROLLER_MEMORY))
                host->version = 1;
        if (cgroup_table_path(text, "", host->paths[CONTROLLER_UNIFIED], LAUNCHER_PATH_SIZE) == 0) {
                host->parents[CONTROLLER_UNIFIED] =
                    open_parent(ROOT "/unified", host->paths[CONTROLLER_UNIFIED]);
                if (host->parents[CONTROLLER_UNIFIED] >= 0)
                        host->controllers |= 1U << CONTROLLER_UNIFIED;
        }
}

/* Does a list of words with blanks between them hold `word`? */
static bool has_word(const char *list, const char *word)
{
        size_t size = strlen(word);
        for (const char *at = list; (at = strstr(at, word)) != NULL; at += size)
                if ((at == list || at[-1] == ' ') &&
                    (at[size] == ' ' || at[size] == '\n' || at[size] == '\0'))
                        return true;
        return false;
}

/* Has the children of this group get what limits need; true if they do. */
static bool hand_down(int group)
{
        static const char *const wanted[] = {"memory", "pids", "cpu"};
        char enabled[256];
        if (fd_read_small(group, "cgroup.subtree_control", enabled, sizeof enabled) < 0)
                return false;
        /*
         * One by one: a controller that is not there must not cost the others. Memory first, and nothing
         * without it: a group with processes in it refuses that one, but takes the others, and turns into
         * one whose children can hold threads only.
         */
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
                char text[16];
                (void)snprintf(text, sizeof text, "+%s", wanted[i]);
                if (!has_word(enabled, wanted[i]) &&
                    fd_write_file(group, "cgroup.subtree_control", text) < 0 && i == 0)
                        return false;
        }
        return fd_read_small(group, "cgroup.subtree_control", enabled, sizeof enabled) > 0 &&
               has_word(enabled, "memory") && has_word(enabled, "pids");
}

static int move(int group, const char *file, pid_t pid)
{
        char text[16];
        (void)snprintf(text, sizeof text, "%d", (int)pid);
        return fd_write_file(group, file, text);
}

/*
 * Our own group, where systemd has marked it as given to us (`systemd-run --user --scope -p Delegate=yes`):
 * it can hand down nothing while there are processes in it, so the library's process and we go to a leaf. If
 * others are in it too, that was in vain and is undone. `problem` tells why it did not work, or is left
 * alone.
 */
static bool hand_down_own(int group, char *problem, size_t size)
{
        char mark[8];
        if (fgetxattr(group, "user.delegate", mark, sizeof mark) < 1 || mark[0] != '1')
                return false;
        int r = mkdirat(group, LEAF, 0755) < 0 && errno != EEXIST ? -errno : 0;
        if (r == 0)
                r = move(group, LEAF "/cgroup.procs", getppid());
        if (r == 0)
                r = move(group, LEAF "/cgroup.procs", getpid());
        if (r == 0 && hand_down(group))
                return true;
        if (r < 0)
                (void)snprintf(
                    problem, size, "our group is delegated, but can't be divided: %s", strerror(-r));
        else
                (void)snprintf(problem, size,
                    "our group is delegated, but other processes are in it, or it has no memory and pids "
                    "controllers");
        (void)move(group, "cgroup.procs", getppid());
        (void)move(group, "cgroup.procs", getpid());
        (void)unlinkat(group, LEAF, AT_REMOVEDIR);
        return false;
}

/*
 * v2. A group that has processes cannot hand controllers to children, unless it is the root; so climb from
 * our own group to the nearest one that has controllers to give. As root that is at last the hierarchy's
 * root.
 */
static void find_v2(struct cgroup_host *host, const char *text)
{
        char path[LAUNCHER_PATH_SIZE];
        if (cgroup_table_path(text, "", path, sizeof path) < 0)
                return;
        for (bool own = true;; own = false) {
                _cleanup_(closep) int fd = open_parent(ROOT, path);
                if (fd >= 0 &&
                    (hand_down(fd) || (own && hand_down_own(fd, host->problem, sizeof host->problem)))) {
                        host->version = 2;
                        host->controllers = 1U << CONTROLLER_UNIFIED | 1U << CONTROLLER_MEMORY |
                                            1U << CONTROLLER_PIDS | 1U << CONTROLLER_CPU;
                        host->parents[CONTROLLER_UNIFIED] = take_fd(&fd);
                        (void)snprintf(host->paths[CONTROLLER_UNIFIED], LAUNCHER_PATH_SIZE, "%s", path);
                        return;
                }
                char *slash = strrchr(path, '/');
                if (!slash || strcmp(path, "/") == 0)
                        return;
                slash[slash == path ? 1 : 0] = '\0';
        }
}

void cgroup_find_host(struct cgroup_host *ret)
{
        struct cgroup_host host = {};
        for (int i = 0; i < CONTROLLER_COUNT_; i++)
                host.parents[i] = -1;
        char text[4096];
        if (fd_read_small(AT_FDCWD, "/proc/self/cgroup", text, sizeof text) < 0) {
                (void)snprintf(host.problem, sizeof host.problem, "/proc/self/cgroup can't be read");
        } else {
                struct statfs fs;
                if (statfs(ROOT, &fs) == 0 && (unsigned long)fs.f_type == CGROUP2_MAGIC)
                        find_v2(&host, text);
                else
                        find_v1(&host, text);
                if (host.version == 0 && host.problem[0] == '\0')
                        (void)snprintf(host.problem, sizeof host.problem,
                            "no memory controller below %s in which this user may make groups", ROOT);
        }
        *ret = host;
}

/* ---- Making one ---- */

struct limit {
        enum launcher_controller controller;
        const char *file;
        char value[128];
        const char *setting;        /* the policy key */
        enum enforcement waived_by; /* which word of --allow-degraded excuses a failure */
};

static int write_limit(struct cgroup *cgroup, int directory, const struct limit *limit, uint32_t allowed,
    struct setup_failure *failure)
{
        int r = fd_write_file(directory, limit->file, limit->value);
        if (r == 0)
                return 0;
        if (allowed & (1U << limit->waived_by)) {
                cgroup->degraded |= 1U << limit->waived_by;
                return 0;
        }
        return failure_unenforced(failure, -r, limit->setting,
            limit->waived_by == ENFORCE_SWAP
                ? "boot with swapaccount=1, turn swap off, or pass --allow-degraded swap"
            : r == -ENOENT ? "have the controller delegated (Delegate=cpu memory pids in a drop-in of "
                             "systemd's user@.service), "
                             "or pass --allow-degraded cgroup"
                           : NO_CGROUP_HINT,
            "writing %s to cgroup file %s", limit->value, limit->file);
}

static int make_directory(const struct cgroup_host *host, struct cgroup *cgroup,
    enum launcher_controller controller, struct setup_failure *failure)
{
        if (cgroup->directories[controller] >= 0)
                return 0;
        int parent = host->parents[controller];
        if (mkdirat(parent, cgroup->name, 0755) < 0)
                return failure_set(failure, errno, "mem_limit", "run `mai-sandbox prune`",
                    "making cgroup %s", cgroup->name);
        cgroup->directories[controller] = openat(parent, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (cgroup->directories[controller] < 0)
                return failure_set(failure, errno, "mem_limit", NULL, "opening cgroup %s", cgroup->name);
        cgroup->controllers |= 1U << controller;
        return 0;
}

static void name_it(
    struct cgroup *cgroup, const struct cgroup_host *host, const struct launcher_create *create)
{
        cgroup->version = host->version;
        (void)snprintf(cgroup->name, sizeof cgroup->name, "mai-sandbox-%s", create->id);
}

int cgroup_make_unified(const struct cgroup_host *host, const struct launcher_create *create,
    struct cgroup *cgroup, struct setup_failure *failure)
{
        name_it(cgroup, host, create);
        if (host->version == 0 || !(host->controllers & (1U << CONTROLLER_UNIFIED)))
                return -ENOENT;
        return make_directory(host, cgroup, CONTROLLER_UNIFIED, failure);
}

static int make_v1(const struct cgroup_host *host, const struct launcher_create *create,
    struct cgroup *cgroup, struct setup_failure *failure)
{
        static const enum launcher_controller needed[] = {
            CONTROLLER_MEMORY, CONTROLLER_PIDS, CONTROLLER_CPU, CONTROLLER_CPUACCT};
        for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
                if (needed[i] == CONTROLLER_CPUACCT && host->cpuacct_in_cpu)
                        continue;
                if (!(host->controllers & (1U << needed[i]))) {
                        if (!(create->degraded_allowed & (1U << ENFORCE_CGROUP)))
                                return failure_unenforced(failure, 0, "mem_limit",
                                    "mount the controller, or pass --allow-degraded cgroup",
                                    "cgroup v1 controller %s is not there", v1_hierarchies[i].name);
                        cgroup->degraded |= 1U << ENFORCE_CGROUP;
                        continue;
                }
                int r = make_directory(host, cgroup, needed[i], failure);
                if (r < 0)
                        return r;
        }

        struct limit limits[] = {
            {CONTROLLER_MEMORY, "memory.limit_in_bytes", "", "mem_limit", ENFORCE_CGROUP},
            {CONTROLLER_MEMORY, "memory.memsw.limit_in_bytes", "", "mem_limit", ENFORCE_SWAP},
            {CONTROLLER_MEMORY, "memory.swappiness", "0", "mem_limit", ENFORCE_SWAP},
            {CONTROLLER_PIDS, "pids.max", "", "pids_limit", ENFORCE_CGROUP},
            {CONTROLLER_CPU, "cpu.cfs_period_us", "", "cpu_count", ENFORCE_CGROUP},
            {CONTROLLER_CPU, "cpu.cfs_quota_us", "", "cpu_count", ENFORCE_CGROUP},
        };
        (void)snprintf(
            limits[0].value, sizeof limits[0].value, "%llu", (unsigned long long)create->memory_bytes);
        (void)snprintf(
            limits[1].value, sizeof limits[1].value, "%llu", (unsigned long long)create->memory_bytes);
        (void)snprintf(limits[3].value, sizeof limits[3].value, "%llu", (unsigned long long)create->pids);
        (void)snprintf(
            limits[4].value, sizeof limits[4].value, "%llu", (unsigned long long)create->cpu_period_usec);
        (void)snprintf(
            limits[5].value, sizeof limits[5].value, "%llu", (unsigned long long)create->cpu_quota_usec);
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                int directory = cgroup->directories[limits[i].controller];
                if (directory < 0 ||
                    (limits[i].controller == CONTROLLER_MEMORY && !DEFENCE("cgroup-memory")) ||
                    (limits[i].controller == CONTROLLER_PIDS && !DEFENCE("cgroup-pids")))
                        continue;
                int r = write_limit(cgroup, directory, &limits[i], create->degraded_allowed, failure);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int make_v2(const struct cgroup_host *host, const struct launcher_create *create,
    struct cgroup *cgroup, struct setup_failure *failure)
{
        int r = make_directory(host, cgroup, CONTROLLER_UNIFIED, failure);
        if (r < 0)
                return r;
        /*
         * Not memory.oom.group: it would take the init along, and with it the files that the program left.
         * The supervisor hears of the first kill (memory.events) and ends the rest, as it must on v1.
         */
        struct limit limits[] = {
            {CONTROLLER_UNIFIED, "memory.max", "", "mem_limit", ENFORCE_CGROUP},
            {CONTROLLER_UNIFIED, "memory.swap.max", "0", "mem_limit", ENFORCE_SWAP},
            {CONTROLLER_UNIFIED, "pids.max", "", "pids_limit", ENFORCE_CGROUP},
            {CONTROLLER_UNIFIED, "cpu.max", "", "cpu_count", ENFORCE_CGROUP},
        };
        (void)snprintf(
            limits[0].value, sizeof limits[0].value, "%llu", (unsigned long long)create->memory_bytes);
        (void)snprintf(limits[2].value, sizeof limits[2].value, "%llu", (unsigned long long)create->pids);
        (void)snprintf(limits[3].value, sizeof limits[3].value, "%llu %llu",
            (unsigned long long)create->cpu_quota_usec, (unsigned long long)create->cpu_period_usec);
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                r = write_limit(cgroup, cgroup->directories[CONTROLLER_UNIFIED], &limits[i],
                    create->degraded_allowed, failure);
                if (r < 0)
                        return r;
        }
        return 0;
}

int cgroup_make(const struct cgroup_host *host, const struct launcher_create *create, struct cgroup *cgroup,
    struct setup_failure *failure)
{
        name_it(cgroup, host, create);
        if (host->version == 0) {
                if (!(create->degraded_allowed & (1U << ENFORCE_CGROUP)))
                        return failure_unenforced(failure, 0, "mem_limit", NO_CGROUP_HINT,
                            "can't be enforced, nor can pids_limit, cpu_count and cpu_time: %s",
                            host->problem);
                /* Swap is a part of it: the word allows that too. */
                cgroup->degraded |= 1U << ENFORCE_CGROUP | 1U << ENFORCE_SWAP;
                return 0;
        }
        return host->version == 2 ? make_v2(host, create, cgroup, failure)
                                  : make_v1(host, create, cgroup, failure);
}

int cgroup_attach(const struct cgroup *cgroup, pid_t pid, struct setup_failure *failure)
{
        char text[16];
        (void)snprintf(text, sizeof text, "%d", (int)pid);
        for (int i = 0; i < CONTROLLER_COUNT_; i++) {
                if (cgroup->directories[i] < 0 || i == CONTROLLER_UNIFIED)
                        continue; /* clone3 put it into the unified one */
                int r = fd_write_file(cgroup->directories[i], "cgroup.procs", text);
                if (r < 0)
                        return failure_set(
                            failure, -r, "mem_limit", NULL, "moving the container into its cgroup");
        }
        return 0;
}

/* ---- Removing it ---- */

/* Kills the processes of one group, of very many those listed first. Returns how many there were, or 0. */
static unsigned kill_members(int directory)
{
        char text[4096];
        unsigned found = 0;
        if (fd_read_small(directory, "cgroup.procs", text, sizeof text) <= 0)
                return 0;
        /* Whole lines only: of a long list the last number may be cut, and its beginning is somebody else's
         * pid. */
        for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
                *end = '\0';
                uint64_t pid;
                if (parse_u64(line, &pid) && pid > 1 && pid <= INT32_MAX && kill((pid_t)pid, SIGKILL) == 0)
                        found++;
        }
        return found;
}

/* Removes one group, killing what is in it. 0 (also if it is not there) or -errno. */
static int remove_group(int parent, const char *name, uint64_t deadline, unsigned *killed)
{
        while (unlinkat(parent, name, AT_REMOVEDIR) < 0) {
                if (errno == ENOENT)
                        return 0;
                if (errno != EBUSY || clock_now() > deadline)
                        return -errno;
                _cleanup_(closep) int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (directory >= 0) {
                        *killed += kill_members(directory);
                        (void)fd_write_file(directory, "cgroup.kill", "1"); /* v2 only */
                }
                (void)usleep(500);
        }
        return 0;
}

int cgroup_destroy(const struct cgroup_host *host, struct cgroup *cgroup, unsigned *ret_killed,
    char leftover[LAUNCHER_PATH_SIZE])
{
        uint64_t deadline = clock_now() + EMPTY_DEADLINE;
        int problem = 0;
        leftover[0] = '\0';
        for (int i = CONTROLLER_COUNT_ - 1; i >= 0; i--) {
                if (cgroup->directories[i] < 0)
                        continue;
                close_and_forget(&cgroup->directories[i]);
                int r = remove_group(host->parents[i], cgroup->name, deadline, ret_killed);
                if (r < 0) {
                        problem = r;
                        (void)snprintf(
                            leftover, LAUNCHER_PATH_SIZE, "cgroup %.200s/%s", host->paths[i], cgroup->name);
                }
        }
        return problem;
}

/* ---- After a dead supervisor ---- */

/* Deeper than any hierarchy that people build. */
#define DEPTH_MAX 16

/* Removes every group called `name` below `directory`, which is taken over. */
static int prune_below(int directory, const char *name, unsigned depth, uint64_t deadline, unsigned *killed)
{
        DIR *stream = fdopendir(directory);
        if (!stream) {
                (void)close(directory);
                return 0;
        }
        int problem = remove_group(directory, name, deadline, killed);
        struct dirent *entry;
        while (depth < DEPTH_MAX && (entry = readdir(stream)) != NULL) {
                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                int child =
                    openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
                if (child < 0)
                        continue;
                int r = prune_below(child, name, depth + 1, deadline, killed);
                if (r < 0)
                        problem = r;
        }
        (void)closedir(stream);
        return problem;
}

/* The root of the hierarchy that `directory` at `path` lies in: as many steps up as the path has names. */
static int open_hierarchy_root(int directory, const char *path)
{
        char up[LAUNCHER_PATH_SIZE] = ".";
        for (const char *at = path; *at; at++)
                if (*at == '/' && at[1] != '\0' && strlen(up) + 4 < sizeof up)
                        memcpy(up + strlen(up), "/..", 4);
        return openat(directory, up, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int cgroup_prune(
    const struct cgroup_host *host, const char *id, unsigned *ret_killed, char leftover[LAUNCHER_PATH_SIZE])
{
        char name[64];
        int problem = 0;
        leftover[0] = '\0';
        (void)snprintf(name, sizeof name, "mai-sandbox-%s", id);
        for (int i = 0; i < CONTROLLER_COUNT_; i++) {
                if (host->parents[i] < 0)
                        continue;
                int root = open_hierarchy_root(host->parents[i], host->paths[i]);
                int r =
                    root < 0 ? -errno : prune_below(root, name, 0, clock_now() + EMPTY_DEADLINE, ret_killed);
                if (r < 0) {
                        problem = r;
                        (void)snprintf(leftover, LAUNCHER_PATH_SIZE, "cgroup %s", name);
                }
        }
        return problem;
}
