/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/ids.h"

#include "protocol/enforcement.h"
#include "util/fd.h"
#include "util/parse.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What /etc/subuid and /etc/passwd may hold and still be read. */
#define TABLE_MAX (1U << 20)

/* What the fresh start is told. */
#define NOTE_RANGE "range"
#define NOTE_NO_TABLE "no-table"
#define NOTE_NO_HELPER "no-helper"

static const struct {
        const char *note, *problem;
} problems[] = {
    {NOTE_NO_TABLE, "/etc/subuid and /etc/subgid give this user no range"},
    {NOTE_NO_HELPER, "newuidmap and newgidmap (package uidmap) are missing or refused"},
};

#define RANGE_HINT                                                                                          \
        "install uidmap and give the user a range (usermod --add-subuids 100000-165535 --add-subgids "      \
        "100000-165535 NAME), or pass --allow-degraded uid"

/* ---- The tables of subordinate ids ---- */

static int read_table(const char *path, char **ret)
{
        size_t size;
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd_read_whole(fd, TABLE_MAX, ret, &size);
}

/* Cuts the line at `*at` into fields at its colons, and moves on. Returns how many, or -1 at the end. */
static int next_line(char **at, char *fields[8])
{
        char *line = *at;
        if (*line == '\0')
                return -1;
        char *end = strchrnul(line, '\n');
        *at = *end ? end + 1 : end;
        *end = '\0';
        int count = 0;
        while (count < 8) {
                fields[count++] = line;
                char *colon = strchr(line, ':');
                if (!colon)
                        break;
                *colon = '\0';
                line = colon + 1;
        }
        return count;
}

/* The user's name by /etc/passwd alone: a static program has no other directory to ask. "" if unknown. */
static void user_name(uid_t uid, char *name, size_t size)
{
        _cleanup_(freep) char *table = NULL;
        char *fields[8];
        name[0] = '\0';
        if (read_table("/etc/passwd", &table) < 0 || !table)
                return;
        char *at = table;
        for (int n; (n = next_line(&at, fields)) >= 0;) {
                uint64_t found;
                if (n >= 3 && parse_u64(fields[2], &found) && found == uid) {
                        (void)snprintf(name, size, "%s", fields[0]);
                        return;
                }
        }
}

/* The largest range of NAME:FIRST:COUNT lines; the name may be the number. count is 0 if there is none. */
static struct id_range largest_range(const char *path, const char *name, const char *number)
{
        struct id_range best = {};
        _cleanup_(freep) char *table = NULL;
        char *fields[8];
        if (read_table(path, &table) < 0 || !table)
                return best;
        char *at = table;
        for (int n; (n = next_line(&at, fields)) >= 0;) {
                uint64_t first, count;
                bool ours = (*name && strcmp(fields[0], name) == 0) || strcmp(fields[0], number) == 0;
                if (n >= 3 && ours && parse_u64(fields[1], &first) && parse_u64(fields[2], &count) &&
                    first > 0 && first + count < UINT32_MAX && count > best.count)
                        best = (struct id_range){(uint32_t)first, (uint32_t)count};
        }
        return best;
}

/* ---- A user namespace of our own ---- */

static bool run_helper(char *const argv[])
{
        char *const environment[] = {NULL};
        pid_t pid = fork();
        if (pid == 0) {
                (void)execve(argv[0], argv, environment);
                _exit(127);
        }
        int status = -1;
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* In a child that stays behind in the old namespace, where the helpers' privileges count. */
_Noreturn static void map_from_outside(
    int go, pid_t target, uid_t uid, struct id_range uids, struct id_range gids)
{
        char pid[16], own[16], first_uid[16], uid_count[16], first_gid[16], gid_count[16], word;
        if (fd_read_all(go, &word, 1) < 0)
                _exit(1);
        (void)snprintf(pid, sizeof pid, "%d", (int)target);
        (void)snprintf(own, sizeof own, "%u", uid);
        (void)snprintf(first_uid, sizeof first_uid, "%u", uids.first);
        (void)snprintf(uid_count, sizeof uid_count, "%u", uids.count);
        (void)snprintf(first_gid, sizeof first_gid, "%u", gids.first);
        (void)snprintf(gid_count, sizeof gid_count, "%u", gids.count);
        /*
         * Our own uid stays, as 0: it owns the delegated cgroup. Our own gid does not: without it the kernel
         * lets supplementary groups be dropped.
         */
        char *const map_gids[] = {
            (char *)"/usr/bin/newgidmap", pid, (char *)"0", first_gid, gid_count, NULL};
        char *const map_uids[] = {(char *)"/usr/bin/newuidmap", pid, (char *)"0", own, (char *)"1",
            (char *)"1", first_uid, uid_count, NULL};
        _exit(run_helper(map_gids) && run_helper(map_uids) ? 0 : 1);
}

static int map_own_id(uid_t uid, gid_t gid, struct setup_failure *failure)
{
        char text[32];
        int r = fd_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
        (void)snprintf(text, sizeof text, "0 %u 1\n", gid);
        if (r == 0)
                r = fd_write_file(AT_FDCWD, "/proc/self/gid_map", text);
        (void)snprintf(text, sizeof text, "0 %u 1\n", uid);
        if (r == 0)
                r = fd_write_file(AT_FDCWD, "/proc/self/uid_map", text);
        return r < 0 ? failure_set(failure, -r, "user", NULL, "mapping the caller's own id") : 0;
}

/* Unshares, and has the ids mapped. *ret_note says how that went. */
static int make_namespace(const char **ret_note, struct setup_failure *failure)
{
        uid_t uid = geteuid();
        gid_t gid = getegid();
        char name[64], number[16];
        (void)snprintf(number, sizeof number, "%u", uid);
        user_name(uid, name, sizeof name);
        struct id_range uids = largest_range("/etc/subuid", name, number);
        struct id_range gids = largest_range("/etc/subgid", name, number);
        bool range = uids.count > 0 && gids.count > 1;

        int go[2] = {-1, -1};
        pid_t helper = 0;
        if (range) {
                pid_t self = getpid();
                if (pipe2(go, O_CLOEXEC) < 0)
                        return failure_set(failure, errno, NULL, NULL, "making a pipe");
                helper = fork();
                if (helper == 0) {
                        (void)close(go[1]);
                        map_from_outside(go[0], self, uid, uids, gids);
                }
                (void)close(go[0]);
        }
        _cleanup_(closep) int open_go = go[1];
        if (unshare(CLONE_NEWUSER) < 0)
                return failure_unenforced(failure, errno, "user",
                    "run as root, or allow it: sysctl kernel.unprivileged_userns_clone=1, "
                    "kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces",
                    "making a user namespace as uid %u", uid);
        if (!range) {
                *ret_note = NOTE_NO_TABLE;
                return map_own_id(uid, gid, failure);
        }
        int status = -1;
        (void)!write(open_go, "g", 1);
        while (helper > 0 && waitpid(helper, &status, 0) < 0 && errno == EINTR) {
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                *ret_note = NOTE_RANGE;
                return 0;
        }
        *ret_note = NOTE_NO_HELPER;
        return map_own_id(uid, gid, failure);
}

/* Becomes root of the new namespace and starts this program afresh. Returns only on failure. */
static int start_again(const char *note, const char *word, struct setup_failure *failure)
{
        char *const argv[] = {(char *)"mai-sandbox-launcher", (char *)note, (char *)word, NULL};
        char *const environment[] = {NULL};
        if (strcmp(note, NOTE_RANGE) == 0 && setgroups(0, NULL) < 0)
                return failure_set(failure, errno, "user", NULL, "dropping supplementary groups");
        if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0)
                return failure_set(failure, errno, "user", NULL, "becoming root of the user namespace");
        (void)execve("/proc/self/exe", argv, environment);
        return failure_set(failure, errno, NULL, "mount /proc", "starting the launcher again");
}

/* ---- Which ids there are ---- */

/* The largest range in a map of ours, without id 0; *ret_whole: it is the host's own map. */
static int read_map(const char *path, struct id_range *ret, bool *ret_whole)
{
        char text[4096];
        ssize_t n = fd_read_small(AT_FDCWD, path, text, sizeof text);
        if (n < 0)
                return (int)n;
        *ret = (struct id_range){};
        *ret_whole = false;
        for (const char *line = text; *line;) {
                int64_t fields[3];
                if (parse_integers(line, fields, 3) == 3) {
                        uint32_t inside = (uint32_t)fields[0], outside = (uint32_t)fields[1],
                                 count = (uint32_t)fields[2];
                        *ret_whole = *ret_whole || (inside == 0 && outside == 0 && count == UINT32_MAX);
                        unsigned skipped = inside == 0 ? 1 : 0;
                        if (count - skipped > ret->count)
                                *ret = (struct id_range){inside + skipped, count - skipped};
                }
                const char *end = strchrnul(line, '\n');
                line = *end ? end + 1 : end;
        }
        return 0;
}

int ids_become_root(const char *note, const char *word, struct ids *ret, struct setup_failure *failure)
{
        struct ids ids = {.own_id = note != NULL};
        if (geteuid() != 0) {
                if (note)
                        return failure_set(failure, EPERM, "user", NULL, "not root of our own namespace");
                const char *how = NULL;
                int r = make_namespace(&how, failure);
                return r < 0 || !how ? r : start_again(how, word, failure);
        }
        bool whole_gids = false;
        int r = read_map("/proc/self/uid_map", &ids.uids, &ids.whole_host);
        if (r == 0)
                r = read_map("/proc/self/gid_map", &ids.gids, &whole_gids);
        if (r < 0)
                return failure_set(failure, -r, "user", "mount /proc", "reading our own id maps");
        ids.whole_host = ids.whole_host && whole_gids;
        (void)snprintf(ids.problem, sizeof ids.problem, "this user namespace maps no range of ids");
        for (size_t i = 0; note && i < ARRAY_SIZE(problems); i++)
                if (strcmp(problems[i].note, note) == 0)
                        (void)snprintf(ids.problem, sizeof ids.problem, "%s", problems[i].problem);
        *ret = ids;
        return 0;
}

int ids_choose(const struct ids *ids, const struct launcher_create *create, uint32_t *ret_uid,
    uint32_t *ret_gid, uint32_t *degraded, struct setup_failure *failure)
{
        if (ids->whole_host) {
                if (create->host_uid == 0 || create->host_gid == 0)
                        return failure_set(failure, EPERM, "user", "set native.uid_base to another",
                            "host uid 0 can't be given to a container");
                *ret_uid = create->host_uid;
                *ret_gid = create->host_gid;
                return 0;
        }
        /* From the end of the range: container engines use it from the beginning. */
        if (create->slot < ids->uids.count && create->slot < ids->gids.count) {
                *ret_uid = ids->uids.first + ids->uids.count - 1 - create->slot;
                *ret_gid = ids->gids.first + ids->gids.count - 1 - create->slot;
                return 0;
        }
        if (ids->uids.count > 0 && ids->gids.count > 0)
                return failure_unenforced(failure, 0, "user", "give the user a larger range of ids",
                    "%u ids are too few for so many containers at once",
                    MIN(ids->uids.count, ids->gids.count));
        if (!ids->own_id)
                return failure_unenforced(failure, 0, "user",
                    "run it as an ordinary user, or map a range of ids",
                    "%s, and id 0 can't be given to a container", ids->problem);
        if (!(create->degraded_allowed & (1U << ENFORCE_UID)))
                return failure_unenforced(failure, 0, "user", RANGE_HINT,
                    "all runs would share the caller's own uid on the host: %s", ids->problem);
        *degraded |= 1U << ENFORCE_UID;
        *ret_uid = 0;
        *ret_gid = 0;
        return 0;
}
