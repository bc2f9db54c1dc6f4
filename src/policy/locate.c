/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the policy file and decides whether to believe it. Never looks in the current directory by itself:
 * that may be a checkout of the very code that is to be locked up.
 */
#include "policy/model.h"
#include "util/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#define SYSTEM_POLICY "/etc/mai-sandbox/sandbox.yaml"
#define USER_POLICY ".config/mai-sandbox/sandbox.yaml"

static int refuse(const char *path, const char *hint, struct error *err, const char *what)
{
        return error_set(err, ERROR_POLICY, 0, hint, "%s: %s", path, what);
}

static bool owner_trusted(const struct stat *info)
{
        return info->st_uid == 0 || info->st_uid == geteuid();
}

/*
 * Opens without waiting (it may be a FIFO) and without taking a terminal. A symbolic link is
 * followed only if it belongs to somebody who could have written the policy itself.
 */
static int open_policy(const char *path, int *ret_fd, struct error *err)
{
        const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
        int fd = open(path, flags | O_NOFOLLOW);
        if (fd < 0 && errno == ELOOP) {
                struct stat link;
                if (lstat(path, &link) < 0)
                        return -errno;
                if (!owner_trusted(&link))
                        return refuse(path, "give the path of the file itself", err,
                            "the policy is a symbolic link that belongs to someone else");
                fd = open(path, flags);
        }
        if (fd < 0)
                return -errno;
        *ret_fd = fd;
        return 0;
}

/* On the open descriptor, so that what is checked is what is read. */
static int check_file(const char *path, int fd, struct error *err)
{
        struct stat info;
        if (fstat(fd, &info) < 0)
                return error_set(err, ERROR_POLICY, errno, NULL, "%s: looking at the policy file", path);
        if (!S_ISREG(info.st_mode))
                return refuse(path, NULL, err, "the policy is not a regular file");
        if (!owner_trusted(&info))
                return refuse(path, "chown it to yourself or root, after reading it", err,
                    "the policy file belongs to someone else than you or root");
        if (info.st_mode & (S_IWGRP | S_IWOTH))
                return refuse(path, "chmod go-w it, after reading it", err,
                    "the policy file may be written by its group or by others");
        if (info.st_size > (off_t)POLICY_SIZE_MAX)
                return refuse(path, NULL, err, "the policy file has more than 1 MiB");
        return 0;
}

/* -ENOENT with *err untouched when there is no such file. */
static int read_policy(const char *path, char **ret_text, size_t *ret_size, struct error *err)
{
        _cleanup_(closep) int fd = -1;
        struct error refused = {};
        int r = open_policy(path, &fd, &refused);
        if (refused.code != ERROR_NONE) {
                error_move(err, &refused);
                return r;
        }
        if (r == -ENOENT || r == -ENOTDIR)
                return -ENOENT;
        if (r < 0) {
                (void)error_set(err, ERROR_POLICY, -r, NULL, "%s: opening the policy file", path);
                return r == -ENOENT ? -EIO : r;
        }
        r = check_file(path, fd, err);
        if (r < 0)
                return r;
        r = fd_read_whole(fd, POLICY_SIZE_MAX, ret_text, ret_size);
        if (r < 0)
                return error_set(err, ERROR_POLICY, -r, NULL, "%s: reading the policy file", path);
        return 0;
}

/* A file that was named has to exist. */
static int read_named(
    const char *path, const char *by, char **ret_path, char **ret_text, size_t *ret_size, struct error *err)
{
        _cleanup_(freep) char *copy = strdup(path);
        if (!copy)
                return error_oom(err);
        int r = read_policy(path, ret_text, ret_size, err);
        if (r == -ENOENT)
                return error_set(
                    err, ERROR_POLICY, ENOENT, NULL, "%s: opening the policy file that %s names", path, by);
        if (r == 0)
                *ret_path = TAKE_PTR(copy);
        return r;
}

int policy_locate(const char *path, char **ret_path, char **ret_text, size_t *ret_size, struct error *err)
{
        if (path)
                return read_named(path, "--policy", ret_path, ret_text, ret_size, err);

        const char *named = secure_getenv("MAI_SANDBOX_POLICY");
        if (named && *named != '\0') {
                if (*named != '/')
                        return refuse(named, "write it from the root: /…", err,
                            "$MAI_SANDBOX_POLICY is not an absolute path");
                return read_named(named, "$MAI_SANDBOX_POLICY", ret_path, ret_text, ret_size, err);
        }

        _cleanup_(freep) char *user = NULL;
        const char *home = secure_getenv("HOME");
        if (home && *home == '/' && asprintf(&user, "%s/" USER_POLICY, home) < 0) {
                user = NULL;
                return error_oom(err);
        }
        const char *const candidates[] = {user, SYSTEM_POLICY};
        for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
                if (!candidates[i])
                        continue;
                _cleanup_(freep) char *copy = strdup(candidates[i]);
                if (!copy)
                        return error_oom(err);
                int r = read_policy(candidates[i], ret_text, ret_size, err);
                if (r == 0)
                        *ret_path = TAKE_PTR(copy);
                if (r != -ENOENT)
                        return r;
        }
        return 0;
}
