/* SPDX-License-Identifier: Apache-2.0 */
#include "util/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* A directory at this depth is moved up to the top instead of being descended into. */
#define DEPTH_MAX 32U

struct removal {
        int top;        /* the outermost directory */
        unsigned moved; /* names given to what was moved there */
        bool again;     /* something was moved: the top has to be looked through once more */
};

static void closedirp(DIR **directory)
{
        if (*directory)
                (void)closedir(*directory);
}

/* For reading and changing; a directory of ours that has no mode bits for that is given them. */
static int open_directory(int parent, const char *name)
{
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int fd = openat(parent, name, flags);
        if (fd < 0 && errno == EACCES) {
                _cleanup_(closep) int place =
                    openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                char path[32];
                (void)snprintf(path, sizeof path, "/proc/self/fd/%d", place);
                if (place < 0 || chmod(path, 0700) < 0)
                        return -EACCES;
                fd = openat(parent, name, flags);
        }
        if (fd < 0)
                return -errno;
        struct stat st;
        if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
                (void)fchmod(fd, 0700);
        return fd;
}

static int move_up(struct removal *removal, int parent, const char *name)
{
        char target[32];
        for (;;) {
                (void)snprintf(target, sizeof target, ".removed-%u", removal->moved++);
                if (syscall(SYS_renameat2, parent, name, removal->top, target, RENAME_NOREPLACE) == 0)
                        break;
                if (errno != EEXIST)
                        return -errno;
        }
        removal->again = true;
        return 0;
}

static int remove_entry(struct removal *removal, int parent, const char *name, unsigned depth);

static int empty(struct removal *removal, int directory, unsigned depth)
{
        int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_(closedirp) DIR *listing = copy < 0 ? NULL : fdopendir(copy);
        if (!listing) {
                int error = errno;
                closep(&copy);
                return -error;
        }
        for (;;) {
                errno = 0;
                const struct dirent *entry = readdir(listing);
                if (!entry)
                        return -errno;
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                int r = remove_entry(removal, directory, entry->d_name, depth);
                if (r < 0)
                        return r;
        }
}

/* The depth is bounded, see DEPTH_MAX. */
// NOLINTNEXTLINE(misc-no-recursion)
static int remove_entry(struct removal *removal, int parent, const char *name, unsigned depth)
{
        if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR)
                return -errno;
        _cleanup_(closep) int fd = open_directory(parent, name);
        if (fd < 0)
                return fd;
        if (depth >= DEPTH_MAX)
                return move_up(removal, parent, name);
        int r = empty(removal, fd, depth + 1);
        if (r < 0)
                return r;
        return unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

int remove_children(int directory)
{
        struct removal removal = {.top = directory};
        do {
                removal.again = false;
                int r = empty(&removal, directory, 0);
                if (r < 0)
                        return r;
        } while (removal.again);
        return 0;
}

int remove_tree(int directory, const char *name)
{
        if (unlinkat(directory, name, 0) == 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR)
                return -errno;
        _cleanup_(closep) int top = open_directory(directory, name);
        if (top < 0)
                return top;
        int r = remove_children(top);
        if (r < 0)
                return r;
        return unlinkat(directory, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}
