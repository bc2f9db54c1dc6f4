/* SPDX-License-Identifier: Apache-2.0 */
#include "api/doctor.h"

#include "util/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP2_MAGIC 0x63677270

static void add_word(char *text, size_t size, const char *word)
{
        size_t used = strlen(text);
        if (used + strlen(word) + 2 <= size)
                (void)snprintf(text + used, size - used, "%s%s", used ? " " : "", word);
}

/* On v1 every controller is a directory, and "unified" the empty v2 hierarchy beside them. */
static void read_cgroups(struct host_facts *facts)
{
        struct statfs fs;
        if (statfs(CGROUP_ROOT, &fs) < 0)
                return;
        if ((unsigned long)fs.f_type == CGROUP2_MAGIC) {
                facts->cgroup_version = 2;
                ssize_t n = fd_read_small(AT_FDCWD, CGROUP_ROOT "/cgroup.controllers", facts->controllers,
                    sizeof facts->controllers);
                if (n > 0 && facts->controllers[n - 1] == '\n')
                        facts->controllers[n - 1] = '\0';
                return;
        }
        static const char *const names[] = {"memory", "pids", "cpu", "cpuacct", "cpuset"};
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                char path[64];
                (void)snprintf(path, sizeof path, CGROUP_ROOT "/%s/cgroup.procs", names[i]);
                if (access(path, F_OK) < 0)
                        continue;
                facts->cgroup_version = 1;
                add_word(facts->controllers, sizeof facts->controllers, names[i]);
        }
}

/* Tried, since a handful of settings and security modules have a say. In a child: it can't be undone. */
static void try_user_namespace(struct host_facts *facts)
{
        pid_t pid = fork();
        if (pid == 0)
                _exit(unshare(CLONE_NEWUSER) < 0 ? errno & 0xff : 0);
        int status = 0;
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        if (pid < 0 || !WIFEXITED(status))
                return;
        facts->user_namespaces_error = WEXITSTATUS(status);
        facts->user_namespaces = facts->user_namespaces_error == 0;
}

void host_facts_read(struct host_facts *ret)
{
        struct host_facts facts = {.uid = (unsigned)geteuid()};
        struct utsname name;
        if (uname(&name) == 0)
                (void)snprintf(facts.kernel, sizeof facts.kernel, "%.16s %.100s %.30s", name.sysname,
                    name.release, name.machine);
        read_cgroups(&facts);
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        facts.landlock_abi = abi > 0 ? (int)abi : 0;
        struct seccomp_notif_sizes sizes;
        facts.seccomp_notify = syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0;
        try_user_namespace(&facts);
        *ret = facts;
}
