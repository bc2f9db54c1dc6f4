/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/files.h"

#include "protocol/guest.h"
#include "util/fd.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define NO_WAY_OUT (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/*
 * Without openat2 (gVisor): a path that stays below by its words alone. There is no link to follow, since
 * nothing has run yet and we make none.
 */
static int open_plain(int directory, const char *path, int flags, mode_t mode)
{
        for (const char *at = path;;) {
                const char *end = strchrnul(at, '/');
                size_t size = (size_t)(end - at);
                if (size == 0 || (size == 1 && at[0] == '.') ||
                    (size == 2 && at[0] == '.' && at[1] == '.')) {
                        errno = EXDEV;
                        return -1;
                }
                if (!*end)
                        return openat(directory, path, flags, mode);
                at = end + 1;
        }
}

static int open_beneath(int directory, const char *path, uint64_t flags, uint64_t mode)
{
        struct open_how how = {.flags = flags | O_CLOEXEC, .mode = mode, .resolve = NO_WAY_OUT};
        int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
        return fd < 0 && errno == ENOSYS ? open_plain(directory, path, (int)how.flags, (mode_t)mode) : fd;
}

/* Makes every directory that `path` goes through. The working directory is still ours alone: nobody races
 * us. */
static int make_parents(int workdir, char *path)
{
        for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                int r = mkdirat(workdir, path, 0755);
                *slash = '/';
                if (r < 0 && errno != EEXIST)
                        return -errno;
        }
        return 0;
}

/* The limit to name for an error, if it is one that a limit explains. */
static const char *limit_behind(int errnum)
{
        return errnum == ENOSPC || errnum == EDQUOT ? "disk_limit or inode_limit" : NULL;
}

int put_begin(
    struct put_state *put, int workdir, const char *payload, uint32_t size, struct setup_failure *failure)
{
        struct guest_put_file head;
        char path[GUEST_PATH_MAX];
        if (size < sizeof head || put->left > 0)
                return failure_set(failure, EBADMSG, NULL, NULL, "a file's header is out of place");
        memcpy(&head, payload, sizeof head);
        if (head.path_size != size - sizeof head || head.path_size == 0 || head.path_size >= sizeof path)
                return failure_set(failure, EBADMSG, NULL, NULL, "a file's path has a wrong size");
        memcpy(path, payload + sizeof head, head.path_size);
        path[head.path_size] = '\0';

        close_and_forget(&put->fd);
        int r = make_parents(workdir, path);
        if (r < 0)
                return failure_set(
                    failure, -r, limit_behind(-r), NULL, "making the directories of input file %s", path);
        put->fd = open_beneath(workdir, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, head.mode & 0777);
        if (put->fd < 0)
                return failure_set(failure, errno, limit_behind(errno), NULL, "making input file %s", path);
        put->left = head.size;
        return 0;
}

int put_data(struct put_state *put, const char *payload, uint32_t size, struct setup_failure *failure)
{
        if (put->fd < 0 || size > put->left)
                return failure_set(failure, EBADMSG, NULL, NULL, "more file data than announced");
        int r = fd_write_all(put->fd, payload, size);
        if (r < 0)
                return failure_set(failure, -r, "disk_limit", "raise disk_limit or pass smaller files",
                    "writing an input file");
        put->left -= size;
        if (put->left == 0)
                close_and_forget(&put->fd);
        return 0;
}
