/* SPDX-License-Identifier: Apache-2.0 */
/* What arguments decide. The comment above a rule says how wide the kernel reads what the rule looks at. */
#include "seccomp/rules.h"

#include <asm/ioctls.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define ALL_BITS UINT32_MAX

#define EQUAL(arg, expected)                                                                                \
        {                                                                                                   \
                TEST_EQUAL, (arg), ALL_BITS, (uint32_t)(expected)                                           \
        }
#define MASKED(arg, bits, expected)                                                                         \
        {                                                                                                   \
                TEST_EQUAL, (arg), (uint32_t)(bits), (uint32_t)(expected)                                   \
        }
#define DIFFERS(arg, expected)                                                                              \
        {                                                                                                   \
                TEST_NOT_EQUAL, (arg), ALL_BITS, (uint32_t)(expected)                                       \
        }
#define ANY_BIT(arg, bits)                                                                                  \
        {                                                                                                   \
                TEST_ANY_BIT, (arg), (uint32_t)(bits), 0                                                    \
        }
#define IS_NULL(arg)                                                                                        \
        {                                                                                                   \
                TEST_NULL, (arg), 0, 0                                                                      \
        }

/* clang-format off */
#define WHEN(verdict, test)       {{test}, 1, verdict}
#define WHEN2(verdict, one, two)  {{one, two}, 2, verdict}
#define ALLOW_ARG(arg, value)     WHEN(VERDICT_ALLOW, EQUAL(arg, value))

#define RULE(name, clauses, other, words) \
        const struct seccomp_rule name = {words, clauses, ARRAY_SIZE(clauses), other}

/*
 * clone(unsigned long flags, ...). Newer kernels cut the flags to 32 bits, older ones know no flag above:
 * every bit that makes a namespace lies in the low half on all of them. The lowest byte is the exit
 * signal here, so CLONE_NEWTIME (0x80) does not exist for this call.
 */
#define NAMESPACE_FLAGS \
        (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
                CLONE_NEWNET)
static const struct seccomp_clause clone_clauses[] = {
        WHEN(VERDICT_NOTIFY, ANY_BIT(0, NAMESPACE_FLAGS)),
};
RULE(seccomp_rule_clone, clone_clauses, VERDICT_ALLOW, "without any namespace flag; else notify");

/*
 * socket(int family, int type, int protocol), and socketpair the same. The protocol matters too:
 * SOCK_STREAM also opens SCTP, MPTCP and SMC, SOCK_DGRAM also ping sockets, UDP-Lite and L2TP.
 */
#define TYPE_BITS (~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))
static const struct seccomp_clause socket_clauses[] = {
        ALLOW_ARG(0, AF_UNIX),
        WHEN2(VERDICT_EAFNOSUPPORT, DIFFERS(0, AF_INET), DIFFERS(0, AF_INET6)),
        WHEN2(VERDICT_ALLOW, MASKED(1, TYPE_BITS, SOCK_STREAM), EQUAL(2, 0)),
        WHEN2(VERDICT_ALLOW, MASKED(1, TYPE_BITS, SOCK_STREAM), EQUAL(2, IPPROTO_TCP)),
        WHEN2(VERDICT_ALLOW, MASKED(1, TYPE_BITS, SOCK_DGRAM), EQUAL(2, 0)),
        WHEN2(VERDICT_ALLOW, MASKED(1, TYPE_BITS, SOCK_DGRAM), EQUAL(2, IPPROTO_UDP)),
};
RULE(seccomp_rule_socket, socket_clauses, VERDICT_EPERM,
        "AF_UNIX; AF_INET and AF_INET6 for TCP and UDP, other types and protocols EPERM; "
        "other families EAFNOSUPPORT");

/*
 * ioctl(unsigned int fd, unsigned int cmd, unsigned long arg). TIOCSTI and TIOCLINUX type into a
 * terminal.
 */
static const struct seccomp_clause ioctl_clauses[] = {
        ALLOW_ARG(1, TCGETS), /* isatty(), first: every opened text file asks */
        ALLOW_ARG(1, FIOCLEX), ALLOW_ARG(1, FIONCLEX), ALLOW_ARG(1, FIONBIO), ALLOW_ARG(1, FIONREAD),
        ALLOW_ARG(1, FIOASYNC), ALLOW_ARG(1, TIOCGWINSZ), ALLOW_ARG(1, TIOCGPGRP), ALLOW_ARG(1, TIOCOUTQ),
        ALLOW_ARG(1, SIOCATMARK), ALLOW_ARG(1, SIOCGIFNAME), ALLOW_ARG(1, SIOCGIFCONF),
        ALLOW_ARG(1, SIOCGIFFLAGS), ALLOW_ARG(1, SIOCGIFADDR), ALLOW_ARG(1, SIOCGIFBRDADDR),
        ALLOW_ARG(1, SIOCGIFNETMASK), ALLOW_ARG(1, SIOCGIFMTU), ALLOW_ARG(1, SIOCGIFHWADDR),
        ALLOW_ARG(1, SIOCGIFINDEX), ALLOW_ARG(1, FS_IOC_GETFLAGS),
};
RULE(seccomp_rule_ioctl, ioctl_clauses, VERDICT_ENOTTY,
        "questions about terminals, pipes, sockets, interfaces and file flags, and the close-on-exec and "
        "non-blocking marks; else ENOTTY");

/*
 * prctl(int option, ...). Not here, on purpose: PR_SET_SECCOMP (a filter of the program's own outranks
 * ours, and could hide from the supervisor what ours reports), PR_SET_MM (rewrites what /proc says of the
 * process), PR_SET_PTRACER, PR_SET_SYSCALL_USER_DISPATCH, PR_SET_TSC, speculation controls (they also
 * switch mitigations off), the capability and securebits setters.
 */
static const struct seccomp_clause prctl_clauses[] = {
        ALLOW_ARG(0, PR_SET_NAME), ALLOW_ARG(0, PR_GET_NAME), ALLOW_ARG(0, PR_SET_VMA),
        ALLOW_ARG(0, PR_SET_PDEATHSIG), ALLOW_ARG(0, PR_GET_PDEATHSIG), ALLOW_ARG(0, PR_GET_DUMPABLE),
        ALLOW_ARG(0, PR_SET_DUMPABLE), ALLOW_ARG(0, PR_GET_KEEPCAPS), ALLOW_ARG(0, PR_GET_TIMING),
        ALLOW_ARG(0, PR_GET_SECCOMP), ALLOW_ARG(0, PR_CAPBSET_READ), ALLOW_ARG(0, PR_GET_TSC),
        ALLOW_ARG(0, PR_GET_SECUREBITS), ALLOW_ARG(0, PR_SET_TIMERSLACK),
        ALLOW_ARG(0, PR_GET_TIMERSLACK), ALLOW_ARG(0, PR_MCE_KILL_GET),
        ALLOW_ARG(0, PR_SET_CHILD_SUBREAPER), ALLOW_ARG(0, PR_GET_CHILD_SUBREAPER),
        ALLOW_ARG(0, PR_SET_NO_NEW_PRIVS), ALLOW_ARG(0, PR_GET_NO_NEW_PRIVS),
        ALLOW_ARG(0, PR_GET_TID_ADDRESS), ALLOW_ARG(0, PR_SET_THP_DISABLE),
        ALLOW_ARG(0, PR_GET_THP_DISABLE), ALLOW_ARG(0, PR_GET_SPECULATION_CTRL),
        WHEN2(VERDICT_ALLOW, EQUAL(0, PR_CAP_AMBIENT), EQUAL(1, PR_CAP_AMBIENT_IS_SET)),
};
RULE(seccomp_rule_prctl, prctl_clauses, VERDICT_EPERM,
        "names, parent-death signal, dumpable, subreaper, timer slack, huge pages, no_new_privs, and "
        "questions; else EPERM");

/* personality(unsigned int). Other values switch address randomisation off or make data executable. */
static const struct seccomp_clause personality_clauses[] = {
        ALLOW_ARG(0, 0),
        ALLOW_ARG(0, 0xffffffff), /* the question */
};
RULE(seccomp_rule_personality, personality_clauses, VERDICT_EPERM,
        "only the default one and the question; else EPERM");

/*
 * setrlimit(unsigned int resource, ...). RLIMIT_CORE is 1, which keeps piped core handlers of the host
 * away; 0 does not.
 */
static const struct seccomp_clause setrlimit_clauses[] = {
        WHEN(VERDICT_EPERM, EQUAL(0, RLIMIT_CORE)),
};
RULE(seccomp_rule_setrlimit, setrlimit_clauses, VERDICT_ALLOW, "all but RLIMIT_CORE, which is EPERM");

/*
 * prlimit64(pid_t pid, unsigned int resource, const struct rlimit64 *new, ...). Reading is free. The
 * container's init runs as the same user, and a limit set on it (RLIMIT_CPU, RLIMIT_NOFILE) would end or
 * cripple it.
 */
static const struct seccomp_clause prlimit_clauses[] = {
        WHEN(VERDICT_ALLOW, IS_NULL(2)),
        WHEN(VERDICT_EPERM, EQUAL(1, RLIMIT_CORE)),
        WHEN(VERDICT_EPERM, EQUAL(0, 1)),
};
RULE(seccomp_rule_prlimit, prlimit_clauses, VERDICT_ALLOW,
        "reading; setting all but RLIMIT_CORE, and not for process 1, which are EPERM");

/*
 * sched_setscheduler(pid_t pid, ...), sched_setparam and sched_setattr the same. The container's init runs as
 * the same user: in the idle class, beside a few busy processes, it would answer nothing in time.
 */
static const struct seccomp_clause scheduler_clauses[] = {
        WHEN(VERDICT_EPERM, EQUAL(0, 1)),
};
RULE(seccomp_rule_scheduler, scheduler_clauses, VERDICT_ALLOW, "not for process 1, which is EPERM");

/*
 * setpriority(int which, int who, ...), and ioprio_set(int which, int who, ...) with other numbers. Of processes and of
 * groups; all processes of the user would include the init.
 */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_WHO_PGRP 2
static const struct seccomp_clause priority_clauses[] = {
        WHEN(VERDICT_EPERM, EQUAL(1, 1)),
        WHEN(VERDICT_ALLOW, EQUAL(0, PRIO_PROCESS)),
        WHEN(VERDICT_ALLOW, EQUAL(0, PRIO_PGRP)),
};
static const struct seccomp_clause io_priority_clauses[] = {
        WHEN(VERDICT_EPERM, EQUAL(1, 1)),
        WHEN(VERDICT_ALLOW, EQUAL(0, IOPRIO_WHO_PROCESS)),
        WHEN(VERDICT_ALLOW, EQUAL(0, IOPRIO_WHO_PGRP)),
};
#define PRIORITY_TEXT "of processes and groups but 1, which is EPERM, as all processes of a user are"
RULE(seccomp_rule_priority, priority_clauses, VERDICT_EPERM, PRIORITY_TEXT);
RULE(seccomp_rule_io_priority, io_priority_clauses, VERDICT_EPERM, PRIORITY_TEXT);

/* mknod(path, umode_t mode, dev): 16 bits of mode are read. mkfifo() is this call. */
#define MKNOD_CLAUSES(arg) { \
        WHEN(VERDICT_ALLOW, MASKED(arg, S_IFMT, S_IFIFO)), \
        WHEN(VERDICT_ALLOW, MASKED(arg, S_IFMT, S_IFREG)), \
        WHEN(VERDICT_ALLOW, MASKED(arg, S_IFMT, S_IFSOCK)), \
        WHEN(VERDICT_ALLOW, MASKED(arg, S_IFMT, 0)), \
}
static const struct seccomp_clause mknod_clauses[] = MKNOD_CLAUSES(1);
static const struct seccomp_clause mknodat_clauses[] = MKNOD_CLAUSES(2);
#define MKNOD_TEXT "FIFOs, sockets and plain files; devices notify"
RULE(seccomp_rule_mknod, mknod_clauses, VERDICT_NOTIFY, MKNOD_TEXT);
RULE(seccomp_rule_mknodat, mknodat_clauses, VERDICT_NOTIFY, MKNOD_TEXT);

/* move_pages(pid_t pid, ...) */
static const struct seccomp_clause own_pages_clauses[] = {
        ALLOW_ARG(0, 0),
};
RULE(seccomp_rule_own_pages, own_pages_clauses, VERDICT_EPERM,
        "only of the calling process (pid 0); else EPERM");
