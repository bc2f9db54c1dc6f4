/* SPDX-License-Identifier: Apache-2.0 */
#include "importer/harden.h"

#include "protocol/importer.h"
#include "util/defence.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Newer than the headers we may be built with. */
#define FS_REFER (1ULL << 13)    /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14) /* ABI 3 */
#define FS_ABI_1 ((1ULL << 13) - 1)

#define READABLE (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITABLE                                                                                            \
        (READABLE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                         \
            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
            LANDLOCK_ACCESS_FS_MAKE_SYM)

/* Decompressors have windows; a header that asks for gigabytes is an attack. */
#define MEMORY_MAX ((rlim_t)1 << 30)

static int set_limits(uint64_t max_file, struct setup_failure *failure)
{
        const struct {
                __rlimit_resource_t resource;
                rlim_t value;
        } limits[] = {
            {RLIMIT_CORE, 1}, /* 1 and not 0: a piped handler of the host ignores 0 */
            {RLIMIT_FSIZE, max_file},
            {RLIMIT_NOFILE, 1024},
#ifndef __SANITIZE_ADDRESS__ /* its shadow alone is larger */
            {RLIMIT_DATA, MEMORY_MAX},
#endif
        };
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                struct rlimit limit;
                if (getrlimit(limits[i].resource, &limit) == 0) {
                        limit.rlim_max = MIN(limit.rlim_max, limits[i].value);
                        limit.rlim_cur = limit.rlim_max;
                }
                if (setrlimit(limits[i].resource, &limit) < 0)
                        return failure_set(failure, errno, NULL, NULL, "limiting the importer");
        }
        return 0;
}

/* Root hands the directories over and becomes nobody in particular. */
static int drop_privileges(const int *writable, size_t count, struct setup_failure *failure)
{
        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if (geteuid() == 0) {
                int r = 0;
                for (size_t i = 0; i < count && r == 0; i++)
                        r = fchown(writable[i], IMPORTER_UID, IMPORTER_UID);
                if (r == 0 &&
                    (setgroups(0, NULL) < 0 || setresgid(IMPORTER_UID, IMPORTER_UID, IMPORTER_UID) < 0 ||
                        setresuid(IMPORTER_UID, IMPORTER_UID, IMPORTER_UID) < 0))
                        r = -1;
                /* Root of a small user namespace has no such id, and little to lose besides capabilities. */
                if (r < 0 && errno != EINVAL)
                        return failure_set(failure, errno, NULL, NULL, "becoming an ordinary user");
        }
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {};
        if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return failure_set(failure, errno, NULL, NULL, "dropping the importer's privileges");
        return 0;
}

static int add_path(int ruleset, int fd, uint64_t access)
{
        struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
        return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno
                                                                                                 : 0;
}

/* The first ABI knows no links from one directory to another; then the other defences stand alone. */
static int enter_landlock(const int *writable, size_t count, int readable, struct setup_failure *failure)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (abi < 2)
                return 0;
        uint64_t newer = FS_REFER | (abi >= 3 ? FS_TRUNCATE : 0);
        uint64_t handled = FS_ABI_1 | newer;
        _cleanup_(closep) int ruleset =
            (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
        int r = ruleset < 0 ? -errno : 0;
        for (size_t i = 0; i < count && r == 0; i++)
                r = add_path(ruleset, writable[i], WRITABLE | newer);
        if (r == 0 && readable >= 0)
                r = add_path(ruleset, readable, READABLE);
        if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
                r = -errno;
        return r < 0 ? failure_set(failure, -r, NULL, NULL, "entering the importer's Landlock rules") : 0;
}

#ifndef __SANITIZE_ADDRESS__ /* which needs calls of its own at the end */
/* Files below directories that are open already, memory, one socket that is there. */
static const char *const allowed[] = {"read", "readv", "pread64", "write", "writev", "pwrite64", "close",
    "lseek", "fcntl", "dup", "openat", "openat2", "fstat", "newfstatat", "statx", "readlinkat", "getdents64",
    "mkdirat", "unlinkat", "linkat", "symlinkat", "renameat2", "fchmod", "fchmodat", "chmod", "utimensat",
    "ftruncate", "fadvise64", "fsync", "sendmsg", "brk", "mmap", "munmap", "mremap", "mprotect", "madvise",
    "futex", "clock_gettime", "clock_getres", "gettimeofday", "time", "getrandom", "getpid", "gettid",
    "uname", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "tgkill", "restart_syscall", "exit",
    "exit_group"};

static int load_filter(struct setup_failure *failure)
{
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        int r = filter ? seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) : -ENOMEM;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(allowed); i++) {
                int number = seccomp_syscall_resolve_name(allowed[i]);
                if (number >= 0)
                        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
        }
        if (r == 0)
                r = seccomp_load(filter);
        seccomp_release(filter);
        if (r < 0)
                return failure_unenforced(
                    failure, -r, NULL, NULL, "loading the importer's system-call filter");
        return 0;
}
#else
/* The search for leaks at the end looks into /proc, of which there is nothing in here. The sanitizer asks
 * for this. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(
    void);                     // NOLINT(bugprone-reserved-identifier)
int __lsan_is_turned_off(void) // NOLINT(bugprone-reserved-identifier)
{
        return 1;
}

static int load_filter(struct setup_failure *failure)
{
        (void)failure;
        return 0;
}
#endif

int harden(const int *writable, size_t count, int readable, uint64_t max_file, struct setup_failure *failure)
{
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        int r = set_limits(max_file, failure);
        if (r < 0 || !DEFENCE("image-beneath"))
                return r;
        r = drop_privileges(writable, count, failure);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* another id has cleared it */
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        if (r == 0)
                r = enter_landlock(writable, count, readable, failure);
        return r < 0 ? r : load_filter(failure);
}
