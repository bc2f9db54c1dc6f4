/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of the gateway: an allow-list, everything else is EPERM. By libseccomp at run time, since
 * here a millisecond does not matter.
 */
#include "gateway/harden.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define LOW_HALF 0xffffffffULL /* the kernel takes these arguments as int and drops the rest */

/* Names, so that what an architecture does not have is passed over. */
static const char *const allowed[] = {
    /* descriptors */
    "read", "readv", "pread64", "write", "writev", "close", "lseek", "fcntl", "dup", "pipe2", "eventfd2",
    "poll", "ppoll", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "sendfile", "timerfd_create",
    "timerfd_settime",
    /* the network, as a client; sockets have a rule below */
    "connect", "getsockname", "getpeername", "getsockopt", "setsockopt", "sendto", "sendmsg", "sendmmsg",
    "recvfrom", "recvmsg", "shutdown", "accept", "accept4",
    /* the cache, and what resolving names reads: Landlock says which files */
    "open", "openat", "stat", "fstat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "getdents64", "unlink", "unlinkat", "rename", "renameat", "renameat2",
    "fchmod", "ftruncate", "utimensat", "fsync", "getcwd", "fadvise64",
    /* memory and threads (a name is resolved in one) */
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "futex", "set_robust_list", "rseq",
    "sched_yield", "sched_getaffinity", "membarrier", "gettid", "exit", "exit_group",
    /* signals to itself: abort() */
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    /* time, chance, and who am I */
    "clock_gettime", "clock_getres", "gettimeofday", "time", "nanosleep", "clock_nanosleep", "getrandom",
    "getpid", "getuid", "geteuid", "getgid", "getegid", "uname", "sysinfo", "getrlimit"};

/* socket() of these families only; getaddrinfo() takes a refusal of the others well. */
static const int families[] = {AF_INET, AF_INET6};

static int add_arguments(scmp_filter_ctx filter)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_HALF, (scmp_datum_t)families[i]));
        /* libcurl wakes its own resolver thread by a pair. */
        if (r == 0)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
                    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_HALF, AF_UNIX));
        /* Threads, never processes. The flags of clone3 lie in memory, out of a filter's sight: libc takes
         * clone. */
        if (r == 0)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
        if (r == 0)
                r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
        if (r == 0)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_HALF, PR_SET_NAME));
        /* Asking for limits, not setting them. */
        if (r == 0)
                r = seccomp_rule_add(
                    filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A2(SCMP_CMP_EQ, 0));
        if (r == 0)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_HALF, (scmp_datum_t)getpid()));
        /* FIONBIO and FIONREAD: libcurl and libevent on sockets. */
        static const unsigned requests[] = {0x5421, 0x541b};
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(requests); i++)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                    SCMP_A1(SCMP_CMP_MASKED_EQ, LOW_HALF, requests[i]));
        return r;
}

int harden_load_filter(struct error *err)
{
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        if (!filter)
                return error_oom(err);
        int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(allowed); i++) {
                int number = seccomp_syscall_resolve_name(allowed[i]);
                if (number < 0)
                        continue;
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
        }
        if (r == 0)
                r = add_arguments(filter);
        if (r == 0)
                r = seccomp_load(filter);
        seccomp_release(filter);
        if (r < 0)
                return error_set(
                    err, ERROR_UNENFORCED, -r, NULL, "the gateway: loading its system-call filter");
        return 0;
}
