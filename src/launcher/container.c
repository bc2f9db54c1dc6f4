/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/container.h"

#include "launcher/child.h"
#include "launcher/tree.h"
#include "protocol/enforcement.h"
#include "util/fd.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* On the host a sandbox is the first to go when memory runs out. */
#define OOM_SCORE "1000"

static int write_proc(const struct host *host, pid_t pid, const char *file, const char *text,
    const char *setting, struct setup_failure *failure)
{
        char path[48];
        (void)snprintf(path, sizeof path, "%d/%s", (int)pid, file);
        int r = fd_write_file(host->proc, path, text);
        return r < 0 ? failure_set(failure, -r, setting, NULL, "writing %s of the container's init", file)
                     : 0;
}

/* One uid and one gid inside, each on a host id that is neither root's nor another container's. */
static int write_maps(const struct host *host, const struct launcher_create *create,
    const struct container *c, struct setup_failure *failure)
{
        pid_t pid = c->pid;
        char text[64];
        int r = write_proc(host, pid, "oom_score_adj", OOM_SCORE, NULL, failure);
        (void)snprintf(text, sizeof text, "%u %u 1\n", create->gid, c->host_gid);
        if (r == 0)
                r = write_proc(host, pid, "gid_map", text, "user", failure);
        (void)snprintf(text, sizeof text, "%u %u 1\n", create->uid, c->host_uid);
        if (r == 0)
                r = write_proc(host, pid, "uid_map", text, "user", failure);
        return r;
}

/*
 * Acts as another id, with every capability kept. Who owns a user namespace is who its creator acts as, and
 * what the program takes of the kernel's per-user stocks (inotify instances, user namespaces, message
 * queues) is charged to the owner as well: that must be nobody else's, least of all root's, whose services
 * need theirs.
 */
static int act_as(uint32_t uid)
{
        return syscall(SYS_setresuid, -1, uid, -1) < 0 ? -errno : 0;
}

/*
 * A child in namespaces of its own, which its own id of the host owns, and in the v2 group from its first
 * instruction. The network namespace is ours: the launcher sits in an empty one, so that the child has no
 * power over it. The cgroup namespace is taken by the child once it is where it belongs.
 */
static pid_t clone_child(const struct container *container, int *ret_pidfd)
{
        struct clone_args args = {
            .flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD,
            .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
            .exit_signal = SIGCHLD,
        };
        if (container->cgroup.directories[CONTROLLER_UNIFIED] >= 0) {
                args.flags |= CLONE_INTO_CGROUP;
                args.cgroup = (uint64_t)container->cgroup.directories[CONTROLLER_UNIFIED];
        }
        if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 || act_as(container->host_uid) < 0)
                return -1;
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
        if (pid == 0)
                return 0; /* in its own namespace, with all of that one's capabilities */
        int error = errno;
        if (act_as(0) < 0)
                _exit(1); /* can't be; and nothing could go on */
        errno = error;
        return pid;
}

/* What an ordinary user most often lacks, in one go rather than one after the other. */
static int refuse_both(
    const struct host *host, const struct launcher_create *create, struct setup_failure *failure)
{
        const uint32_t both = 1U << ENFORCE_CGROUP | 1U << ENFORCE_UID;
        if (host->cgroups.version != 0 || host->ids.whole_host || host->ids.uids.count > 0 ||
            (create->degraded_allowed & both) != 0)
                return 0;
        return failure_unenforced(failure, 0, "mem_limit",
            "run as root; or install uidmap with a range in /etc/subuid and /etc/subgid, and run in a "
            "delegated "
            "cgroup (systemd-run --user --scope -p Delegate=yes COMMAND); or pass --allow-degraded cgroup "
            "--allow-degraded uid",
            "can't be enforced, nor can pids_limit, cpu_count, cpu_time: %s; and all runs would share the "
            "caller's own uid",
            host->cgroups.problem);
}

/* Everything that can fail; the caller cleans up. */
static int create_steps(const struct host *host, const struct launcher_create *create, int guest,
    struct container *c, struct setup_failure *failure)
{
        /* 1. Ids, names and read-only flags that had to wait for the request. */
        int r = refuse_both(host, create, failure);
        if (r == 0)
                r = ids_choose(&host->ids, create, &c->host_uid, &c->host_gid, &c->degraded, failure);
        if (r == 0)
                r = tree_finish(create, host->image, failure);
        if (r < 0)
                return r;
        /* 2. The v2 group, which clone3 puts the child into; on a pure v2 host with all its limits. Where
         * there is no group to be had, this is the refusal. */
        if (host->cgroups.version != 1)
                r = cgroup_make(&host->cgroups, create, &c->cgroup, failure);
        else
                r = cgroup_make_unified(&host->cgroups, create, &c->cgroup, failure);
        if (r < 0 && r != -ENOENT)
                return r;

        /* 3. The child. It waits on `go` for each of its two steps. */
        int go[2];
        if (pipe2(go, O_CLOEXEC) < 0)
                return failure_set(failure, errno, NULL, NULL, "making a pipe");
        /* Known before there are groups: on v1 they are made while the child is at work. */
        bool no_cgroup = host->cgroups.version == 0;
        c->pid = clone_child(c, &c->pidfd);
        if (c->pid == 0) {
                (void)close(go[1]);
                child_main(create, no_cgroup, guest, go[0]);
        }
        int clone_error = errno;
        (void)close(go[0]);
        _cleanup_(closep) int open_go = go[1];
        if (c->pid < 0) {
                c->pidfd = -1;
                return failure_set(failure, clone_error, NULL,
                    clone_error == EPERM ? "allow user namespaces (sysctl kernel.unprivileged_userns_clone, "
                                           "kernel.apparmor_restrict_unprivileged_userns)"
                                         : NULL,
                    "making the namespaces");
        }

        /* 4. Its ids; then it may build its mounts, while we see to the limits. */
        r = write_maps(host, create, c, failure);
        if (r < 0)
                return r;
        if (write(open_go, "m", 1) != 1)
                return failure_set(failure, errno, NULL, NULL, "the container's init is gone");

        /* 5. Limits first, then entry, then the word that they hold. */
        if (host->cgroups.version == 1) {
                r = cgroup_make(&host->cgroups, create, &c->cgroup, failure);
                if (r < 0)
                        return r;
                r = cgroup_attach(&c->cgroup, c->pid, failure);
                if (r < 0)
                        return r;
        }
        if (write(open_go, "l", 1) != 1)
                return failure_set(failure, errno, NULL, NULL, "the container's init is gone");
        c->degraded |= c->cgroup.degraded;
        return 0;
}

int container_create(const struct host *host, const struct launcher_create *create, int guest,
    struct container *ret, struct setup_failure *failure)
{
        struct container c = CONTAINER_INIT;
        int r = create_steps(host, create, guest, &c, failure);
        if (r < 0) {
                struct launcher_destroyed ignored = {};
                container_destroy(host, &c, &ignored);
                return r;
        }
        *ret = c;
        return 0;
}

void container_destroy(const struct host *host, struct container *c, struct launcher_destroyed *ret)
{
        ret->complete = 1;
        if (c->pidfd >= 0) {
                /* PID 1's end is the end of everything in its namespace; waiting for it waits for all of
                 * them. */
                (void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
                siginfo_t info;
                while (waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED) < 0 && errno == EINTR) {
                }
                close_and_forget(&c->pidfd);
        }
        unsigned killed = 0;
        if (cgroup_destroy(&host->cgroups, &c->cgroup, &killed, ret->leftover) < 0)
                ret->complete = 0;
        ret->processes_killed = killed;
        *c = (struct container)CONTAINER_INIT;
}
