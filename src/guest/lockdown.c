/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/lockdown.h"

#include "protocol/enforcement.h"
#include "seccomp/seccomp.h"
#include "util/defence.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Landlock's scopes, newer than the headers we build with (Linux 6.12). */
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)
#define ABI_WITH_SCOPES 6
struct ruleset_attributes {
        uint64_t handled_access_fs, handled_access_net, scoped;
};

/* Every kind of change to a file system. Reading and executing are not handled: the root holds nothing to
 * hide. */
#define LANDLOCK_CHANGES                                                                                    \
        (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |   \
            LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |      \
            LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |   \
            LANDLOCK_ACCESS_FS_MAKE_SYM)
/* What the program may do in its own directories: all but device nodes. */
#define LANDLOCK_MAY (LANDLOCK_CHANGES & ~(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK))

static int set_limit(int resource, rlim_t value, const char *setting, struct setup_failure *failure)
{
        struct rlimit limit = {value, value}, now;
        if (prlimit(0, resource, &limit, NULL) == 0)
                return 0;
        /* Higher than we were given: then what we were given. An engine that has set it already may not let
         * us set it again. */
        if (prlimit(0, resource, NULL, &now) == 0) {
                limit.rlim_cur = limit.rlim_max = MIN(value, now.rlim_max);
                if (now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max)
                        return 0;
        }
        return prlimit(0, resource, &limit, NULL) < 0
                   ? failure_set(failure, errno, setting, NULL, "setting a resource limit")
                   : 0;
}

/*
 * Resource limits. None on memory: that is the cgroup's job, and RLIMIT_AS breaks numpy's threads. Core
 * dumps: a piped handler of the host runs as root and ignores a limit of 0, but not one of 1; the filter
 * keeps it there. Hard limits can only be lowered here, so an inherited lower one stays.
 */
static int set_limits(const struct lockdown_config *config, struct setup_failure *failure)
{
        const struct {
                int resource;
                rlim_t value;
                const char *setting;
        } wanted[] = {
            {RLIMIT_CORE, DEFENCE("rlimit-core") ? 1 : RLIM_INFINITY, "core"},
            {RLIMIT_NOFILE, config->open_files, "open_files"},
            {RLIMIT_STACK, 8U << 20, "stack"},
            {RLIMIT_MEMLOCK, 64U << 10, "memlock"},
            {RLIMIT_MSGQUEUE, 800U << 10, "msgqueue"},
            {RLIMIT_RTPRIO, 0, "rtprio"},
            {RLIMIT_NICE, 0, "nice"},
        };
        int r = 0;
        for (size_t i = 0; i < ARRAY_SIZE(wanted) && r == 0; i++)
                r = set_limit(wanted[i].resource, wanted[i].value, wanted[i].setting, failure);
        return r;
}

/*
 * Without a cgroup the kernel can still hold some of it: the number of processes is counted per user
 * namespace (Linux 5.14), so this container alone counts; writable memory and CPU time are counted per
 * process, and the supervisor adds them up. Address space stays unlimited: numpy reserves what it never
 * touches.
 */
static int set_stand_ins(const struct lockdown_config *config, struct setup_failure *failure)
{
        const struct {
                int resource;
                rlim_t value;
                const char *setting;
        } wanted[] = {
            {RLIMIT_NPROC, config->processes, "pids_limit"},
            {RLIMIT_DATA, config->data_bytes, "mem_limit"},
            {RLIMIT_CPU, config->cpu_seconds, "cpu_time"},
        };
        int r = 0;
        for (size_t i = 0; i < ARRAY_SIZE(wanted) && r == 0; i++)
                if (wanted[i].value > 0)
                        r = set_limit(wanted[i].resource, wanted[i].value, wanted[i].setting, failure);
        return r;
}

/* None, or those that we have anyway: engines list a container's own group among the supplementary ones. */
static bool only_own_groups(void)
{
        gid_t groups[32];
        int count = getgroups(ARRAY_SIZE(groups), groups);
        for (int i = 0; i < count; i++)
                if (groups[i] != getgid())
                        return false;
        return count >= 0;
}

static int drop_groups(
    const struct lockdown_config *config, struct lockdown_state *state, struct setup_failure *failure)
{
        if (setgroups(0, NULL) == 0)
                return 0;
        /* Without privileges setgroups is forbidden: whatever groups are there stay. */
        int reason = errno;
        if (only_own_groups())
                return 0;
        if (!config->groups_optional)
                return failure_unenforced(failure, reason, "user",
                    "run as root or from a login without supplementary groups, or pass --allow-degraded "
                    "groups",
                    "dropping supplementary groups");
        state->degraded |= 1U << ENFORCE_GROUPS;
        return 0;
}

/*
 * Capabilities. The bounding and ambient sets go first, while CAP_SETPCAP is still there; then the rest. Our
 * user namespace does not map uid 0, so no later execve could bring any back.
 */
static int drop_capabilities(
    const struct lockdown_config *config, struct lockdown_state *state, struct setup_failure *failure)
{
        if (!DEFENCE("caps"))
                return 0;
        for (int cap = 0; cap <= 63; cap++) {
                if (config->capabilities & (UINT64_C(1) << cap))
                        continue;
                if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
                        continue;
                int error = errno;
                /* An engine that has dropped it has dropped what dropping takes, too. */
                int present = error == EPERM ? prctl(PR_CAPBSET_READ, cap, 0, 0, 0) : 1;
                if (error == EINVAL || present < 0)
                        break; /* past the last capability of this kernel */
                if (present > 0)
                        return failure_set(
                            failure, error, "cap_drop", NULL, "dropping capability %d for good", cap);
        }
        /* Absent on kernels that have none. */
        state->no_ambient = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno == EINVAL;

        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct data[2] = {};
        for (int i = 0; i < 2; i++) {
                uint32_t kept = (uint32_t)(config->capabilities >> (32 * i));
                data[i].effective = data[i].permitted = data[i].inheritable = kept;
        }
        if (syscall(SYS_capset, &header, data) < 0)
                return failure_set(failure, errno, "cap_drop", NULL, "dropping capabilities");
        for (int cap = 0; cap <= 63 && config->capabilities; cap++)
                if (config->capabilities & (UINT64_C(1) << cap))
                        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
        return 0;
}

static int restrict_with_landlock(
    const struct lockdown_config *config, struct lockdown_state *state, struct setup_failure *failure)
{
        if (!DEFENCE("landlock"))
                return 0;
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (abi < 1) {
                if (!config->landlock_optional)
                        return failure_unenforced(failure, errno, "read_only",
                            "boot a kernel with Landlock (lsm=...,landlock), or pass --allow-degraded "
                            "landlock",
                            "this kernel has no Landlock");
                state->degraded |= 1U << ENFORCE_LANDLOCK;
                return 0;
        }

        uint64_t changes = LANDLOCK_CHANGES | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0);
        struct ruleset_attributes attributes = {.handled_access_fs = changes};
        size_t size = sizeof attributes.handled_access_fs;
        if (abi >= ABI_WITH_SCOPES) {
                attributes.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
                size = sizeof attributes;
        }
        _cleanup_(closep) int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
        if (ruleset < 0)
                return failure_set(failure, errno, "read_only", NULL, "making a Landlock ruleset");

        for (const char *const *path = config->writable; *path; path++) {
                _cleanup_(closep) int directory = openat(AT_FDCWD, *path, O_PATH | O_CLOEXEC);
                struct landlock_path_beneath_attr rule = {
                    .allowed_access = LANDLOCK_MAY | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0),
                    .parent_fd = directory,
                };
                /* A file (/dev/null) can only be given what makes sense for a file. */
                if (strncmp(*path, "/dev/", 5) == 0 && strcmp(*path, "/dev/shm") != 0)
                        rule.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE;
                if (directory < 0 ||
                    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
                        return failure_set(
                            failure, errno, "read_only", NULL, "adding %s to the Landlock ruleset", *path);
        }
        if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
                return failure_set(failure, errno, "read_only", NULL, "entering the Landlock ruleset");
        state->landlock_abi = (int)abi;
        return 0;
}

static int load_filter(
    const struct lockdown_config *config, struct lockdown_state *state, struct setup_failure *failure)
{
        if (!config->seccomp || !DEFENCE("seccomp"))
                return 0;
        if (config->notify) {
                const struct seccomp_program *counted = seccomp_program(true);
                struct sock_fprog filter = {
                    .len = counted->length, .filter = (struct sock_filter *)counted->code};
                long listener =
                    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
                if (listener >= 0) {
                        state->listener = (int)listener;
                        return 0;
                }
        }
        /* Nobody to tell, or no user notification (Linux before 5.0, or we are under a filter that has a
         * listener): same verdicts, uncounted. */
        const struct seccomp_program *program = seccomp_program(false);
        struct sock_fprog filter = {.len = program->length, .filter = (struct sock_filter *)program->code};
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0)
                return failure_set(failure, errno, "security_opt", NULL, "loading the system-call filter");
        return 0;
}

int lockdown(const struct lockdown_config *config, struct lockdown_state *ret, struct setup_failure *failure)
{
        struct lockdown_state state = {.listener = -1};
        int r = set_limits(config, failure);
        if (r == 0)
                r = set_stand_ins(config, failure);
        if (r < 0)
                return r;
        r = drop_groups(config, &state, failure);
        if (r < 0)
                return r;
        /* The uid was changed when the maps were written (files could not be made otherwise). */
        r = drop_capabilities(config, &state, failure);
        if (r < 0)
                return r;
        /* Not dumpable: /proc/PID/{mem,fd,environ} of the init stay closed to the program, which has the
         * same uid. */
        if (DEFENCE("dumpable") && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return failure_set(failure, errno, NULL, NULL, "making the init not dumpable");
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return failure_set(failure, errno, "security_opt", NULL, "setting no_new_privs");
        r = restrict_with_landlock(config, &state, failure);
        if (r < 0)
                return r;
        r = load_filter(config, &state, failure);
        if (r < 0)
                return r;
        *ret = state;
        return 0;
}
