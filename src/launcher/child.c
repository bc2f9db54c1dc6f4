/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/child.h"

#include "guest/init.h"
#include "launcher/tree.h"
#include "protocol/enforcement.h"
#include "util/defence.h"
#include "util/fd.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Where the descriptors go that the init keeps; everything from FIRST_UNUSED_FD on is closed. */
enum { KEPT_GUEST = 4, KEPT_GO, FIRST_UNUSED_FD };

/* The launcher's word, or its end. */
static void wait_for(int go, char word)
{
        char got = 0;
        if (fd_read_all(go, &got, 1) < 0 || got != word)
                _exit(1); /* it failed, and has said why; or it died */
}

/* The container's ids, before anything is made: a file made with an unmapped id fails with EOVERFLOW. */
static int take_ids(const struct launcher_create *create, struct setup_failure *failure)
{
        if (syscall(SYS_setresgid, create->gid, create->gid, create->gid) < 0 ||
            syscall(SYS_setresuid, create->uid, create->uid, create->uid) < 0)
                return failure_set(
                    failure, errno, "user", NULL, "becoming uid %u gid %u", create->uid, create->gid);
        /* Changing ids clears it (and we set it here first of all, since no id was mapped before). */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        return 0;
}

/* Nothing of the caller's session: no terminal to push input into (CVE-2017-5226), no keys. */
static int leave_session(struct setup_failure *failure)
{
        (void)setsid();
        if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS && errno != EDQUOT)
                return failure_set(failure, errno, NULL, NULL, "joining a new session keyring");
        return 0;
}

/*
 * Moves the two descriptors that stay to fixed numbers, out of each other's way, and closes all others,
 * among them whatever the caller had open (CVE-2024-21626). 0-2 are /dev/null since the launcher's start.
 */
static int keep_descriptors(int guest, int *go, struct setup_failure *failure)
{
        int high_guest = fcntl(guest, F_DUPFD_CLOEXEC, FIRST_UNUSED_FD);
        int high_go = fcntl(*go, F_DUPFD_CLOEXEC, FIRST_UNUSED_FD);
        if (high_guest < 0 || high_go < 0 || dup3(high_guest, KEPT_GUEST, O_CLOEXEC) < 0 ||
            dup3(high_go, KEPT_GO, O_CLOEXEC) < 0)
                return failure_set(failure, errno, NULL, NULL, "keeping descriptors");
        *go = KEPT_GO;
        if (DEFENCE("close-fds") && (fd_close_from(FIRST_UNUSED_FD) < 0 || close(LAUNCHER_SOCKET_FD) < 0))
                return failure_set(failure, errno, NULL, NULL, "closing descriptors");
        return 0;
}

/*
 * The CPUs that the container sees. Not by a cpuset: writing one rebuilds the scheduling domains of the
 * whole host, which takes milliseconds. The filter keeps the program from widening it.
 */
static int take_cpus(const struct launcher_create *create, struct setup_failure *failure)
{
        cpu_set_t set;
        CPU_ZERO(&set);
        for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpu < LAUNCHER_CPU_WORDS * 64; cpu++)
                if (create->cpus[cpu / 64] >> (cpu % 64) & 1)
                        CPU_SET(cpu, &set);
        return sched_setaffinity(0, sizeof set, &set) < 0
                   ? failure_set(failure, errno, "cpu_count", NULL, "restricting the CPUs")
                   : 0;
}

/* The working directory must be inside: a host directory as cwd is a way out (CVE-2024-21626). */
static int verify_inside(struct setup_failure *failure)
{
        char path[64];
        struct stat here, there;
        if (chdir(GUEST_WORKDIR) < 0 || !getcwd(path, sizeof path) || strcmp(path, GUEST_WORKDIR) != 0 ||
            stat(".", &here) < 0 || stat(GUEST_WORKDIR, &there) < 0 || here.st_dev != there.st_dev ||
            here.st_ino != there.st_ino)
                return failure_set(
                    failure, errno, NULL, NULL, "the working directory is not the container's");
        return 0;
}

_Noreturn void child_main(const struct launcher_create *create, bool no_cgroup, int guest, int go)
{
        struct setup_failure failure;
        uint32_t degraded = 0;
        struct link link = {.ops = &socket_link_ops, .in = guest};

        /* 1. Whoever made us gone means we go. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)umask(0);
        int r = keep_descriptors(guest, &go, &failure);
        if (r < 0)
                init_fail(&link, &failure);
        link.in = KEPT_GUEST;
        wait_for(go, 'm');

        /* 2. Who we are, what we are called, where we are. */
        r = take_ids(create, &failure);
        if (r == 0 && sethostname(create->hostname, strlen(create->hostname)) < 0)
                r = failure_set(&failure, errno, NULL, NULL, "naming the container");
        if (r == 0)
                r = tree_enter(create, &degraded, &failure);
        if (r == 0)
                r = leave_session(&failure);
        if (r == 0)
                r = verify_inside(&failure);
        if (r == 0)
                r = take_cpus(create, &failure);
        if (r < 0)
                init_fail(&link, &failure);

        /* 3. Not a step further before every limit holds. Only now is our cgroup the one to be the root of
         * the view. */
        wait_for(go, 'l');
        (void)close(go);
        if (unshare(CLONE_NEWCGROUP) < 0 && errno != EINVAL) {
                (void)failure_set(&failure, errno, NULL, NULL, "making a cgroup namespace");
                init_fail(&link, &failure);
        }

        /* 4. The init, which gives up everything. */
        (void)umask(022);
        struct init_config config = {
            .link = &link,
            .die_with_parent = true,
            .lockdown =
                {
                    .uid = create->uid,
                    .gid = create->gid,
                    .open_files = create->open_files,
                    .capabilities = create->capabilities,
                    .notify = true,
                    .processes = no_cgroup ? create->pids : 0,
                    .data_bytes = no_cgroup ? create->memory_bytes : 0,
                    .cpu_seconds = no_cgroup ? create->cpu_seconds : 0,
                    .seccomp = !(create->flags & LAUNCHER_SECCOMP_UNCONFINED),
                    .landlock_optional = create->degraded_allowed & (1U << ENFORCE_LANDLOCK),
                    .groups_optional = create->degraded_allowed & (1U << ENFORCE_GROUPS),
                    .writable = tree_writable,
                },
            .degraded = degraded,
        };
        init_main(&config);
}
