/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the generated filters, instruction by instruction, over every number and many arguments, and compares
 * with a second statement of what is meant: names in alphabetical lists, numbers from libseccomp, and
 * argument rules written down as C that truncates as the kernel does. Whoever changes the table says it here
 * again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "seccomp/seccomp.h"
#include "util/sha256.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

/* clang-format off */
static const char allowed[] =
    "accept accept4 access alarm arch_prctl bind brk capget capset chdir chmod chown clock_getres "
    "clock_gettime clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 "
    "epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 "
    "execve execveat exit exit_group faccessat faccessat2 fadvise64 fallocate fchdir fchmod fchmodat "
    "fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat "
    "fstatfs fsync ftruncate futex futex_waitv futimesat get_mempolicy get_robust_list getcpu getcwd "
    "getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp "
    "getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname "
    "getsockopt gettid gettimeofday getuid getxattr inotify_add_watch inotify_init inotify_init1 "
    "inotify_rm_watch ioprio_get ioprio_set kill lchown lgetxattr link linkat listen listxattr "
    "llistxattr lremovexattr lseek lsetxattr lstat madvise mbind membarrier memfd_create mincore "
    "mkdir mkdirat mlock mlock2 mlockall mmap mprotect mq_getsetattr mq_notify mq_open "
    "mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv msgsnd msync munlock "
    "munlockall munmap nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal "
    "pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll pread64 preadv preadv2 pselect6 "
    "pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg "
    "removexattr rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending "
    "rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo "
    "sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam "
    "sched_getscheduler sched_rr_get_interval sched_setattr sched_setparam "
    "sched_setscheduler sched_yield select semctl semget semop semtimedop sendfile sendmmsg sendmsg "
    "sendto set_mempolicy set_mempolicy_home_node set_robust_list set_tid_address setfsgid setfsuid "
    "setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid setsid "
    "setsockopt setuid setxattr shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 "
    "stat statfs statx symlink symlinkat sync_file_range syncfs sysinfo tgkill time timer_create "
    "timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime "
    "timerfd_settime times tkill truncate umask uname unlink unlinkat utime utimensat utimes vfork "
    "wait4 waitid write writev";

static const char refused[] =
    "adjtimex clock_adjtime fanotify_mark kcmp migrate_pages modify_ldt process_madvise "
    "process_mrelease seccomp sync vhangup";

static const char reported[] =
    "acct add_key bpf chroot clock_settime delete_module fanotify_init finit_module fsconfig fsmount "
    "fsopen fspick init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl "
    "kexec_file_load kexec_load keyctl lookup_dcookie mount mount_setattr move_mount "
    "name_to_handle_at open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root "
    "process_vm_readv process_vm_writev ptrace quotactl quotactl_fd reboot request_key sched_setaffinity setdomainname "
    "sethostname setns settimeofday swapoff swapon syslog umount2 unshare userfaultfd";

/* clang-format on */

#define FAIL(number) (SECCOMP_RET_ERRNO | (number))
#define NUMBERS 1101
/* The last call of Linux 6.1 (set_mempolicy_home_node): the table names all up to it. */
#define NEWEST 450

static bool listed(const char *list, const char *name)
{
        size_t size = strlen(name);
        for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
                if ((at == list || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
                        return true;
        return false;
}

static uint32_t expect_clone(const __u64 *args)
{
        static const uint32_t namespaces[] = {
            0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000};
        for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
                if ((uint32_t)args[0] & namespaces[i])
                        return SECCOMP_RET_USER_NOTIF;
        return SECCOMP_RET_ALLOW;
}

static uint32_t expect_socket(const __u64 *args)
{
        int family = (int)args[0], type = (int)args[1] & ~(SOCK_CLOEXEC | SOCK_NONBLOCK),
            protocol = (int)args[2];
        if (family == 1)
                return SECCOMP_RET_ALLOW;
        if (family != 2 && family != 10)
                return FAIL(EAFNOSUPPORT);
        bool tcp = type == 1 && (protocol == 0 || protocol == 6);
        bool udp = type == 2 && (protocol == 0 || protocol == 17);
        return tcp || udp ? SECCOMP_RET_ALLOW : FAIL(EPERM);
}

static uint32_t expect_ioctl(const __u64 *args)
{
        static const unsigned int good[] = {0x5401, 0x540f, 0x5411, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451,
            0x5452, 0x8905, 0x8910, 0x8912, 0x8913, 0x8915, 0x8919, 0x891b, 0x8921, 0x8927, 0x8933,
            0x80086601};
        for (size_t i = 0; i < ARRAY_SIZE(good); i++)
                if ((unsigned int)args[1] == good[i])
                        return SECCOMP_RET_ALLOW;
        return FAIL(ENOTTY);
}

static uint32_t expect_prctl(const __u64 *args)
{
        static const int good[] = {1, 2, 3, 4, 7, 13, 15, 16, 21, 23, 25, 27, 29, 30, 34, 36, 37, 38, 39, 40,
            41, 42, 52, 0x53564d41};
        for (size_t i = 0; i < ARRAY_SIZE(good); i++)
                if ((int)args[0] == good[i])
                        return SECCOMP_RET_ALLOW;
        return (int)args[0] == 47 && (uint32_t)args[1] == 1 ? SECCOMP_RET_ALLOW : FAIL(EPERM);
}

static uint32_t expect_personality(const __u64 *args)
{
        return (unsigned int)args[0] == 0 || (unsigned int)args[0] == UINT32_MAX ? SECCOMP_RET_ALLOW
                                                                                 : FAIL(EPERM);
}

static uint32_t expect_setrlimit(const __u64 *args)
{
        return (unsigned int)args[0] == 4 ? FAIL(EPERM) : SECCOMP_RET_ALLOW;
}

static uint32_t expect_prlimit(const __u64 *args)
{
        if (args[2] == 0)
                return SECCOMP_RET_ALLOW;
        return (unsigned int)args[1] == 4 || (int)args[0] == 1 ? FAIL(EPERM) : SECCOMP_RET_ALLOW;
}

static uint32_t expect_scheduler(const __u64 *args)
{
        return (int)args[0] == 1 ? FAIL(EPERM) : SECCOMP_RET_ALLOW;
}

static uint32_t expect_priority(const __u64 *args)
{
        bool process_or_group = (int)args[0] == 0 || (int)args[0] == 1;
        return process_or_group && (int)args[1] != 1 ? SECCOMP_RET_ALLOW : FAIL(EPERM);
}

static uint32_t expect_io_priority(const __u64 *args)
{
        bool process_or_group = (int)args[0] == 1 || (int)args[0] == 2;
        return process_or_group && (int)args[1] != 1 ? SECCOMP_RET_ALLOW : FAIL(EPERM);
}

static uint32_t node_kind(uint64_t mode)
{
        unsigned short kind = (unsigned short)mode & S_IFMT;
        bool device_or_odd = kind != 0 && !S_ISREG(kind) && !S_ISFIFO(kind) && !S_ISSOCK(kind);
        return device_or_odd ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
}

static uint32_t expect_mknod(const __u64 *args)
{
        return node_kind(args[1]);
}

static uint32_t expect_mknodat(const __u64 *args)
{
        return node_kind(args[2]);
}

static uint32_t expect_move_pages(const __u64 *args)
{
        return (int)args[0] == 0 ? SECCOMP_RET_ALLOW : FAIL(EPERM);
}

static const struct ruled {
        const char *name;
        uint32_t (*expect)(const __u64 *args);
} ruled[] = {
    {"clone", expect_clone},
    {"socket", expect_socket},
    {"socketpair", expect_socket},
    {"ioctl", expect_ioctl},
    {"prctl", expect_prctl},
    {"personality", expect_personality},
    {"setrlimit", expect_setrlimit},
    {"prlimit64", expect_prlimit},
    {"sched_setscheduler", expect_scheduler},
    {"sched_setparam", expect_scheduler},
    {"sched_setattr", expect_scheduler},
    {"setpriority", expect_priority},
    {"ioprio_set", expect_io_priority},
    {"mknod", expect_mknod},
    {"mknodat", expect_mknodat},
    {"move_pages", expect_move_pages},
};

struct expectation {
        uint32_t (*expect)(const __u64 *args); /* or NULL: */
        uint32_t action;
};

static struct expectation expectation_of(uint32_t number)
{
        char *name =
            number < NUMBERS ? seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number) : NULL;
        struct expectation result = {.action = FAIL(ENOSYS)};
        for (size_t i = 0; name && i < ARRAY_SIZE(ruled); i++)
                if (strcmp(ruled[i].name, name) == 0)
                        result.expect = ruled[i].expect;
        if (name && listed(allowed, name))
                result.action = SECCOMP_RET_ALLOW;
        else if (name && listed(refused, name))
                result.action = FAIL(EPERM);
        else if (name && listed(reported, name))
                result.action = SECCOMP_RET_USER_NOTIF;
        free(name);
#ifdef __x86_64__
        if ((number & 0x40000000U) && number != UINT32_MAX)
                result.action = SECCOMP_RET_KILL_PROCESS;
#endif
        return result;
}

struct machine {
        const struct seccomp_program *program;
        size_t steps; /* of the last run */
        size_t longest;
};

/*
 * The subset of classic BPF that the kernel can evaluate
 * when it loads a filter: anything else is a failure.
 */
static uint32_t run(struct machine *machine, const struct seccomp_data *data)
{
        uint32_t accumulator = 0;
        machine->steps = 0;
        for (size_t at = 0; at < machine->program->length; at++) {
                const struct sock_filter *op = &machine->program->code[at];
                machine->steps++;
                switch (op->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        assert_true(op->k % 4 == 0 && op->k + 4 <= sizeof *data);
                        memcpy(&accumulator, (const char *)data + op->k, 4);
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        accumulator &= op->k;
                        break;
                case BPF_JMP | BPF_JA:
                        at += op->k;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        at += accumulator == op->k ? op->jt : op->jf;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        at += accumulator >= op->k ? op->jt : op->jf;
                        break;
                case BPF_RET | BPF_K:
                        machine->longest = MAX(machine->longest, machine->steps);
                        return op->k;
                default:
                        fail_msg("instruction %zu: code 0x%x", at, op->code);
                }
        }
        fail_msg("the program runs off its end");
        return 0;
}

static void check(
    struct machine machines[2], const struct seccomp_data *data, const struct expectation *expectation)
{
        uint32_t wanted = expectation->expect ? expectation->expect(data->args) : expectation->action;
        for (size_t m = 0; m < 2; m++) {
                if (m == 1 && wanted == SECCOMP_RET_USER_NOTIF)
                        wanted = FAIL(EPERM);
                uint32_t got = run(&machines[m], data);
                if (got != wanted)
                        fail_msg("number %d, arguments %#llx %#llx %#llx: got %#x, want %#x", data->nr,
                            (unsigned long long)data->args[0], (unsigned long long)data->args[1],
                            (unsigned long long)data->args[2], got, wanted);
        }
}

/*
 * Low halves that mean something to some rule, with
 * neighbours; each also comes with something in the high half.
 */
static const uint32_t interesting[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 15, 16, 17, 22, 29, 35, 38, 39, 40,
    41, 44, 47, 59, 132, 136, 262, 0x7e, 0x80, 0x11, 0x800, 0x801, 0x80001, 0x80802, 0x80003, 0x1000, 0x11b6,
    0x2000, 0x2180, 0x4000, 0x41ff, 0x6000, 0x61b0, 0x8000, 0x81a4, 0xa000, 0xc000, 0xf000, 0x18000, 0x12180,
    0x5401, 0x5402, 0x5412, 0x5413, 0x541c, 0x5421, 0x8933, 0x8946, 0x40049409, 0x80086601, 0x20000,
    0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80000000, 0x1000011, 0x3d0f00,
    0x4111, 0x40000, 0x400000, 0x53564d41, 0x59616d61, 0xffffffff};
static const uint64_t highs[] = {0, 1, 0x10000000, 0xffffffff};

static uint64_t argument_number(size_t i)
{
        return highs[i % ARRAY_SIZE(highs)] << 32 | interesting[i / ARRAY_SIZE(highs)];
}
#define ARGUMENTS (ARRAY_SIZE(interesting) * ARRAY_SIZE(highs))

static void every_number(void **state)
{
        struct machine machines[2] = {
            {.program = seccomp_program(true)}, {.program = seccomp_program(false)}};
        size_t by_rule = 0;
        for (uint32_t number = 0; number < NUMBERS; number++) {
                struct expectation expectation = expectation_of(number);
                struct seccomp_data data = {.nr = (int)number, .arch = NATIVE};
                by_rule += expectation.expect != NULL;
                /*
                 * Two arguments take all pairs of values; the third
                 * takes few, or all where a rule reads it alone.
                 */
                static const uint64_t third[] = {
                    0, 1, 6, 17, 132, UINT64_C(0x100000000), UINT64_C(0x100000006)};
                size_t step = expectation.expect ? 1 : 41;
                for (size_t a = 0; a < ARGUMENTS; a += step)
                        for (size_t b = 0; b < ARGUMENTS; b += step)
                                for (size_t c = 0; c < ARRAY_SIZE(third); c++) {
                                        data.args[0] = argument_number(a);
                                        data.args[1] = argument_number(b);
                                        data.args[2] = third[c];
                                        check(machines, &data, &expectation);
                                }
                for (size_t c = 0; c < ARGUMENTS; c++) {
                        data.args[2] = argument_number(c);
                        check(machines, &data, &expectation);
                }
        }
        assert_int_equal(by_rule, seccomp_syscall_resolve_name("mknod") >= 0 ? 16 : 15);
        print_message("filters: %u instructions with notify, %u without; longest path %zu\n",
            machines[0].program->length, machines[1].program->length, machines[0].longest);
        assert_true(machines[0].program->length <= 400);
        assert_true(machines[0].longest <= 64);
}

static void every_low_ioctl_and_prctl(void **state)
{
        struct machine machines[2] = {
            {.program = seccomp_program(true)}, {.program = seccomp_program(false)}};
        struct seccomp_data data = {.arch = NATIVE};
        static const char *const names[] = {"ioctl", "prctl", "socket", "personality", "prlimit64",
            "mknodat", "sched_setattr", "setpriority", "ioprio_set"};
        for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
                data.nr = seccomp_syscall_resolve_name(names[n]);
                assert_true(data.nr >= 0);
                struct expectation expectation = expectation_of((uint32_t)data.nr);
                for (uint64_t value = 0; value < 0x20000; value++)
                        for (size_t h = 0; h < ARRAY_SIZE(highs); h++) {
                                data.args[0] = data.args[1] = data.args[2] = highs[h] << 32 | value;
                                check(machines, &data, &expectation);
                        }
        }
}

static void hot_calls_are_near(void **state)
{
        struct machine machine = {.program = seccomp_program(true)};
        static const char *const hot[] = {
            "read", "write", "close", "mmap", "futex", "openat", "munmap", "brk"};
        for (size_t i = 0; i < ARRAY_SIZE(hot); i++) {
                struct seccomp_data data = {.nr = seccomp_syscall_resolve_name(hot[i]), .arch = NATIVE};
                assert_int_equal(run(&machine, &data), SECCOMP_RET_ALLOW);
                if (machine.steps > 12)
                        fail_msg("%s takes %zu steps", hot[i], machine.steps);
        }
}

static void foreign_conventions(void **state)
{
        struct machine machines[2] = {
            {.program = seccomp_program(true)}, {.program = seccomp_program(false)}};
        static const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_MIPS64, 0, UINT32_MAX,
            NATIVE ^ 1U, NATIVE == AUDIT_ARCH_X86_64 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64};
        struct expectation killed = {.action = SECCOMP_RET_KILL_PROCESS};
        for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
                for (int number = -1; number < NUMBERS; number++) {
                        struct seccomp_data data = {.nr = number, .arch = foreign[i]};
                        check(machines, &data, &killed);
                }
        static const uint32_t bases[] = {
            0x40000000, 0x7ffff000, 0x80000000, 0xc0000000, 0xfffff000, 0x3ffff000};
        for (size_t i = 0; i < ARRAY_SIZE(bases); i++)
                for (uint32_t low = 0; low < 0x1000; low++) {
                        struct seccomp_data data = {.nr = (int)(bases[i] + low), .arch = NATIVE};
                        struct expectation expectation = expectation_of(bases[i] + low);
                        check(machines, &data, &expectation);
                }
}

/* The cases that other filters got wrong, spelled out: threats by name, not by list. */
static void known_bypasses(void **state)
{
        static const struct {
                const char *name;
                uint64_t args[3];
                uint32_t action;
        } cases[] = {
            {"socket", {0x100000028, 1, 0}, FAIL(EAFNOSUPPORT)},      /* AF_VSOCK */
            {"socket", {0x10000000a, 3, 0}, FAIL(EPERM)},             /* AF_INET6, raw */
            {"socket", {38, 5, 0}, FAIL(EAFNOSUPPORT)},               /* AF_ALG */
            {"socket", {16, 3, 0}, FAIL(EAFNOSUPPORT)},               /* AF_NETLINK */
            {"socket", {17, 3, 0}, FAIL(EAFNOSUPPORT)},               /* AF_PACKET */
            {"socket", {44, 3, 0}, FAIL(EAFNOSUPPORT)},               /* AF_XDP */
            {"socket", {2, 0x80003, 1}, FAIL(EPERM)},                 /* raw ICMP */
            {"socket", {2, 2, 1}, FAIL(EPERM)},                       /* ping */
            {"socket", {2, 0x80801, 6}, SECCOMP_RET_ALLOW},           /* TCP */
            {"ioctl", {0, 0x5412, 0}, FAIL(ENOTTY)},                  /* TIOCSTI */
            {"ioctl", {0, 0x100005412, 0}, FAIL(ENOTTY)},             /* the same */
            {"ioctl", {0, 0x541c, 0}, FAIL(ENOTTY)},                  /* TIOCLINUX */
            {"clone", {0x10000011, 0, 0}, SECCOMP_RET_USER_NOTIF},    /* CLONE_NEWUSER */
            {"clone", {0x110000011, 0, 0}, SECCOMP_RET_USER_NOTIF},   /* with garbage above */
            {"clone", {0x1000000000000011, 0, 0}, SECCOMP_RET_ALLOW}, /* only garbage: a plain fork */
            {"clone", {0x3d0f00, 0, 0}, SECCOMP_RET_ALLOW},           /* a thread */
            {"clone", {0x4111, 0, 0}, SECCOMP_RET_ALLOW},             /* posix_spawn */
            {"clone3", {0, 88, 0}, FAIL(ENOSYS)},
            {"prctl", {0x100000016, 2, 0}, FAIL(EPERM)},        /* PR_SET_SECCOMP */
            {"prlimit64", {0, 4, 0x7fff00000000}, FAIL(EPERM)}, /* the pointer's low half is 0 */
            {"prlimit64", {0, 0x100000004, 0x1000}, FAIL(EPERM)},
            {"prlimit64", {0, 4, 0}, SECCOMP_RET_ALLOW},
            {"sched_setscheduler", {0x100000001, 5}, FAIL(EPERM)},
            {"sched_setscheduler", {2, 5}, SECCOMP_RET_ALLOW},
            {"setpriority", {0, 0x100000001, 19}, FAIL(EPERM)},
            {"setpriority", {2, 0, 19}, FAIL(EPERM)},
            {"prlimit64", {0x100000001, 7, 0x1000}, FAIL(EPERM)}, /* the init's limits */
            {"setrlimit", {0x100000004, 0x1000, 0}, FAIL(EPERM)},
            {"mknodat", {0, 0, 0x12180}, SECCOMP_RET_USER_NOTIF}, /* S_IFCHR with garbage above 16 bits */
            {"io_uring_setup", {8, 0, 0}, SECCOMP_RET_USER_NOTIF},
            {"open_by_handle_at", {0, 0, 0}, SECCOMP_RET_USER_NOTIF},
            {"ptrace", {16, 1, 0}, SECCOMP_RET_USER_NOTIF},
            {"splice", {0, 0, 0}, FAIL(ENOSYS)},
        };
        struct machine machine = {.program = seccomp_program(true)};
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                int number = seccomp_syscall_resolve_name(cases[i].name);
                assert_true(number >= 0);
                struct seccomp_data data = {.nr = number, .arch = NATIVE};
                memcpy(data.args, cases[i].args, sizeof cases[i].args);
                uint32_t got = run(&machine, &data);
                if (got != cases[i].action)
                        fail_msg("case %zu, %s: got %#x, want %#x", i, cases[i].name, got, cases[i].action);
        }
}

static void names_and_digest(void **state)
{
        for (int number = 0; number < NUMBERS; number++) {
                char *theirs = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
                const char *ours = seccomp_syscall_name(number);
                if (theirs && !ours && number <= NEWEST)
                        fail_msg("the table does not name %s (%d)", theirs, number);
                if (theirs && ours)
                        assert_string_equal(ours, theirs);
                free(theirs);
        }
        assert_null(seccomp_syscall_name(-1));
        assert_null(seccomp_syscall_name(1000000));
        char digest[SHA256_HEX_SIZE];
        const struct seccomp_program *program = seccomp_program(true);
        sha256_hex(program->code, program->length * sizeof program->code[0], digest);
        assert_string_equal(seccomp_profile_sha256(), digest);
        assert_string_equal(seccomp_profile_name, "default");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(every_number),
            cmocka_unit_test(every_low_ioctl_and_prctl),
            cmocka_unit_test(hot_calls_are_near),
            cmocka_unit_test(foreign_conventions),
            cmocka_unit_test(known_bypasses),
            cmocka_unit_test(names_and_digest),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
