/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/output_dir.h"

#include "sandbox/text.h"
#include "util/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* A name for the file while it is written. O_EXCL makes sure of it; a few tries suffice. */
#define TEMPORARY_TRIES 16

static int fail(struct error *err, int errnum, const char *path, size_t path_size, const char *what)
{
        char escaped[512];
        return error_set(err, ERROR_OUTPUT, errnum, NULL, "output file \"%s\": %s",
            text_escape(path, path_size, escaped, sizeof escaped), what);
}

/* Takes the next part of the path: a name that can only mean something inside its folder. */
static int next_part(const char *path, size_t path_size, size_t *at, char part[NAME_MAX + 1], bool *ret_last)
{
        const char *begin = path + *at;
        const char *slash = memchr(begin, '/', path_size - *at);
        size_t size = slash ? (size_t)(slash - begin) : path_size - *at;
        if (size == 0 || memchr(begin, '\0', size))
                return -EINVAL;
        if (size > NAME_MAX)
                return -ENAMETOOLONG;
        memcpy(part, begin, size);
        part[size] = '\0';
        if (strcmp(part, ".") == 0 || strcmp(part, "..") == 0)
                return -EINVAL;
        *at += size + 1;
        *ret_last = !slash;
        return 0;
}

static int enter(int dirfd, const char *name)
{
        if (mkdirat(dirfd, name, 0777) < 0 && errno != EEXIST)
                return -errno;
        int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static int write_beside(int dirfd, const char *temporary, unsigned mode, const void *data, size_t size)
{
        _cleanup_(closep) int fd = openat(
            dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode & 0777) | 0600);
        if (fd < 0)
                return -errno;
        int r = fd_write_all(fd, data, size);
        if (r < 0)
                (void)unlinkat(dirfd, temporary, 0);
        return r;
}

static int put_in_place(int dirfd, const char *name, unsigned mode, const void *data, size_t size)
{
        struct stat st;
        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
                return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;

        char temporary[64];
        int r = -EEXIST;
        for (unsigned i = 0; r == -EEXIST && i < TEMPORARY_TRIES; i++) {
                (void)snprintf(temporary, sizeof temporary, ".mai-output.%d.%u", (int)getpid(), i);
                r = write_beside(dirfd, temporary, mode, data, size);
        }
        if (r < 0)
                return r;
        if (renameat(dirfd, temporary, dirfd, name) < 0) {
                r = -errno;
                (void)unlinkat(dirfd, temporary, 0);
        }
        return r;
}

int output_dir_write(int dirfd, const char *path, size_t path_size, unsigned mode, const void *data,
    size_t size, struct error *err)
{
        _cleanup_(closep) int folder = -1;
        size_t at = 0;
        for (unsigned depth = 0; depth <= OUTPUT_DEPTH_MAX; depth++) {
                char part[NAME_MAX + 1];
                bool last;
                int r = at > path_size ? -EINVAL : next_part(path, path_size, &at, part, &last);
                if (r < 0)
                        return fail(err, -r, path, path_size, "not a name that may be written");
                int here = folder >= 0 ? folder : dirfd;
                if (last) {
                        r = put_in_place(here, part, mode, data, size);
                        return r < 0 ? fail(err, -r, path, path_size, "not written") : 0;
                }
                int inner = enter(here, part);
                if (inner < 0)
                        return fail(err, -inner, path, path_size,
                            "a folder on its way is in the way or can't be made");
                close_and_forget(&folder);
                folder = inner;
        }
        return fail(err, ELOOP, path, path_size, "too many folders");
}

int output_dir_open(const char *path, int *ret_fd, struct error *err)
{
        static const char hint[] = "name a directory that you may write to with --output-dir";
        if (path[0] == '\0')
                return error_set(err, ERROR_OUTPUT, ENOENT, hint, "output directory \"\"");
        _cleanup_(freep) char *copy = strdup(path);
        if (!copy)
                return error_oom(err);
        /* Parents first; whatever goes wrong with one shows when the last is opened. */
        for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                (void)mkdir(copy, 0777);
                *slash = '/';
        }
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
                return error_set(err, ERROR_OUTPUT, errno, hint, "output directory %s can't be made", path);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return error_set(err, ERROR_OUTPUT, errno, hint, "output directory %s", path);
        *ret_fd = fd;
        return 0;
}
