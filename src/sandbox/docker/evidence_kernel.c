/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The third witness: the kernel of this machine, where the engine is on it. What it says of the process that
 * the engine calls the container's first must agree with what the init says; and it alone can say what holds
 * where the init sees too little.
 */
#include "sandbox/docker/container.h"

#include "sandbox/docker/request.h"
#include "util/cgroup_table.h"
#include "util/fd.h"
#include "util/parse.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <sys/stat.h>

#define MISMATCH(err, ...) error_set(err, ERROR_MISMATCH, 0, evidence_mismatch_hint, __VA_ARGS__)

static const char *const of_shared_kernel[] = {
    "namespaces", "host_uid", "capabilities", "no_new_privs", "seccomp", NULL};
static const char *const of_own_kernel[] = {"host_uid", NULL};

static const char *const namespace_files[NAMESPACE_COUNT_] = {
    [NAMESPACE_USER] = "ns/user",
    [NAMESPACE_MNT] = "ns/mnt",
    [NAMESPACE_PID] = "ns/pid",
    [NAMESPACE_NET] = "ns/net",
    [NAMESPACE_IPC] = "ns/ipc",
    [NAMESPACE_UTS] = "ns/uts",
    [NAMESPACE_CGROUP] = "ns/cgroup",
};

static bool read_namespaces(int proc, uint64_t inodes[NAMESPACE_COUNT_])
{
        for (int i = 0; i < NAMESPACE_COUNT_; i++) {
                struct stat st;
                if (fstatat(proc, namespace_files[i], &st, 0) < 0)
                        return false;
                inodes[i] = st.st_ino;
        }
        return true;
}

static uint64_t status_number(const char *text, const char *key, int base)
{
        const char *at = strstr(text, key);
        return at ? strtoull(at + strlen(key), NULL, base) : UINT64_MAX;
}

/* ---- Control groups that the init does not see ---- */

/* A file of the group that the process is in; UINT64_MAX: not there, or no number ("max"). */
static uint64_t group_number(const char *directory, const char *file)
{
        char path[PATH_MAX], text[64];
        uint64_t value;
        (void)snprintf(path, sizeof path, "%s/%s", directory, file);
        if (fd_read_small(AT_FDCWD, path, text, sizeof text) <= 0)
                return UINT64_MAX;
        text[strcspn(text, "\n")] = '\0';
        /* v1 writes "no limit" as a number beyond all memory. */
        return parse_u64(text, &value) && value < UINT64_C(1) << 62 ? value : UINT64_MAX;
}

static bool group_directory(const char *table, const char *id, const char *controller, char ret[PATH_MAX])
{
        char path[PATH_MAX - 64];
        if (cgroup_table_path(table, controller, path, sizeof path) < 0 || !strstr(path, id))
                return false;
        (void)snprintf(ret, PATH_MAX, "/sys/fs/cgroup%s%s%s", controller[0] ? "/" : "", controller, path);
        return access(ret, F_OK) == 0;
}

/*
 * The limits of the group that the container has for itself, as the kernel has them: one that bears the
 * container's id. Another one would be the engine's own, and its limits not the container's.
 */
static void look_for_group(struct evidence *e, int proc, const char *id)
{
        char table[8192], memory[PATH_MAX], pids[PATH_MAX], cpu[PATH_MAX];
        if (!id || strlen(id) < 32 || fd_read_small(proc, "cgroup", table, sizeof table) <= 0)
                return;
        if (group_directory(table, id, "memory", memory) && group_directory(table, id, "pids", pids) &&
            group_directory(table, id, "cpu", cpu)) {
                e->memory_max = group_number(memory, "memory.limit_in_bytes");
                e->memory_swap_max = group_number(memory, "memory.memsw.limit_in_bytes");
                e->cpu_quota_usec = group_number(cpu, "cpu.cfs_quota_us");
                e->cpu_period_usec = group_number(cpu, "cpu.cfs_period_us");
                e->pids_max = group_number(pids, "pids.max");
                e->cgroup_version = 1;
        } else if (group_directory(table, id, "", memory)) {
                char path[PATH_MAX + 16], text[64];
                int64_t bandwidth[2];
                e->memory_max = group_number(memory, "memory.max");
                e->memory_swap_max = group_number(memory, "memory.swap.max");
                e->pids_max = group_number(memory, "pids.max");
                (void)snprintf(path, sizeof path, "%s/cpu.max", memory);
                if (fd_read_small(AT_FDCWD, path, text, sizeof text) > 0 &&
                    parse_integers(text, bandwidth, 2) == 2) {
                        e->cpu_quota_usec = (uint64_t)bandwidth[0];
                        e->cpu_period_usec = (uint64_t)bandwidth[1];
                }
                e->cgroup_version = 2;
        }
        if (e->pids_max != UINT64_MAX && e->pids_max > 0)
                e->pids_max -= DOCKER_OWN_PROCESSES;
}

/* ---- Processes ---- */

static int compare_status(const struct evidence *e, const char *text, struct error *err)
{
        const struct {
                const char *key;
                int base;
                uint64_t guest;
        } words[] = {
            {"\nUid:\t", 10, e->host_uid},
            {"\nGid:\t", 10, e->host_gid},
            {"\nCapPrm:\t", 16, e->cap_permitted},
            {"\nCapEff:\t", 16, e->cap_effective},
            {"\nCapBnd:\t", 16, e->cap_bounding},
            {"\nNoNewPrivs:\t", 10, e->no_new_privs},
            {"\nSeccomp:\t", 10, (uint64_t)e->seccomp_mode},
        };
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                uint64_t kernel = status_number(text, words[i].key, words[i].base);
                if (kernel != words[i].guest)
                        return MISMATCH(err,
                            "docker: of %.*s the kernel says %llx, the container's init %llx",
                            (int)strcspn(words[i].key + 1, ":"), words[i].key + 1,
                            (unsigned long long)kernel, (unsigned long long)words[i].guest);
        }
        return 0;
}

/*
 * Who runs the container's own kernel (gVisor's is a process of the host). That it is nobody's but this
 * container's shows in that it shares neither mounts nor the network with us.
 */
static int look_at_own_kernel(struct evidence *e, int proc, const uint64_t *seen, const char *status)
{
        if (seen[NAMESPACE_MNT] == e->host_namespaces[NAMESPACE_MNT] ||
            seen[NAMESPACE_NET] == e->host_namespaces[NAMESPACE_NET])
                return 0;
        e->host_uid = (uint32_t)status_number(status, "\nUid:\t", 10);
        e->host_gid = (uint32_t)status_number(status, "\nGid:\t", 10);
        memcpy(e->kernel_says, of_own_kernel, sizeof of_own_kernel);
        return 0;
}

/*
 * The process's number may mean nothing here (the engine, or we, may be in a pid namespace of their own, or
 * in a virtual machine), so a process that is not in the container's namespaces is taken for somebody else,
 * and the kernel then is no witness.
 */
int evidence_ask_kernel(struct container *c, const json_t *account, struct error *err)
{
        struct evidence *e = &c->evidence;
        _cleanup_(closep) int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (!c->endpoint.socket_path || self < 0 || !read_namespaces(self, e->host_namespaces)) {
                memset(e->host_namespaces, 0,
                    sizeof e->host_namespaces); /* another machine's: not comparable */
                return 0;
        }
        json_int_t pid = json_integer_value(json_object_get(json_object_get(account, "State"), "Pid"));
        const char *id = json_string_value(json_object_get(account, "Id"));
        char path[32], text[4096];
        uint64_t seen[NAMESPACE_COUNT_];
        (void)snprintf(path, sizeof path, "/proc/%lld", (long long)pid);
        _cleanup_(closep) int proc = pid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (proc < 0 || !read_namespaces(proc, seen) ||
            fd_read_small(proc, "status", text, sizeof text) <= 0)
                return 0;
        if (e->cgroup_version == 0)
                look_for_group(e, proc, id);
        if (e->own_kernel)
                return look_at_own_kernel(e, proc, seen, text);
        if (memcmp(seen, e->namespaces, sizeof seen) != 0)
                return 0;
        int r = compare_status(e, text, err);
        if (r == 0)
                memcpy(e->kernel_says, of_shared_kernel, sizeof of_shared_kernel);
        return r;
}
