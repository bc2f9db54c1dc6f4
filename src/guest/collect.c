/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/collect.h"

#include "guest/init.h"
#include "util/strbuf.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define NO_WAY_OUT (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)
/* Directory entries looked at in all: a million names in a tree must not keep us for long. */
#define ENTRIES_MAX 200000U

struct collection {
        struct link *link;
        const struct guest_collect *limits;
        char *buffer;
        struct guest_collected done;
        uint64_t entries;
        struct strbuf path;   /* of the directory or file at hand, relative to the working directory */
        struct strbuf inodes; /* uint64_t each: files with several names that were sent already */
};

/* Without openat2 (gVisor): a name that readdir() gave has no slash, so it is enough not to follow it. */
static int open_entry(int directory, const char *name, int flags)
{
        struct stat above, entry;
        _cleanup_(closep) int fd = openat(directory, name, flags);
        if (fd < 0 || fstat(directory, &above) < 0 || fstat(fd, &entry) < 0)
                return -1;
        if (above.st_dev != entry.st_dev) {
                errno = EXDEV;
                return -1;
        }
        return take_fd(&fd);
}

static int open_beneath(int directory, const char *name, uint64_t flags)
{
        struct open_how how = {.flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, .resolve = NO_WAY_OUT};
        int fd = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
        return fd < 0 && errno == ENOSYS ? open_entry(directory, name, (int)how.flags) : fd;
}

static int skip(struct collection *c, enum guest_skip_reason reason)
{
        if (++c->done.skipped > GUEST_SKIPS_MAX)
                return 0;
        struct guest_file_skipped head = {.reason = reason, .path_size = (uint32_t)c->path.size};
        return link_send(c->link, GUEST_FILE_SKIPPED, &head, sizeof head, c->path.data, c->path.size);
}

static bool seen_before(struct collection *c, uint64_t inode)
{
        for (size_t at = 0; at < c->inodes.size; at += sizeof inode)
                if (memcmp(c->inodes.data + at, &inode, sizeof inode) == 0)
                        return true;
        (void)strbuf_append(&c->inodes, &inode, sizeof inode);
        return false;
}

static int send_content(struct collection *c, int file, uint64_t size)
{
        uint64_t left = size;
        while (left > 0) {
                ssize_t n = read(file, c->buffer, MIN(left, (uint64_t)GUEST_DATA_CHUNK));
                if (n <= 0) {
                        /* Nobody is alive to change it, so this is the file system failing: zeros keep the
                         * count right. */
                        n = (ssize_t)MIN(left, (uint64_t)GUEST_DATA_CHUNK);
                        memset(c->buffer, 0, (size_t)n);
                }
                int r = link_send(c->link, GUEST_FILE_DATA, c->buffer, (size_t)n, NULL, 0);
                if (r < 0)
                        return r;
                left -= (uint64_t)n;
        }
        return 0;
}

static int take_file(struct collection *c, int directory, const char *name, const struct stat *seen)
{
        uint64_t size = (uint64_t)seen->st_size;
        if (c->done.files >= c->limits->max_files)
                return skip(c, GUEST_SKIP_TOO_MANY);
        if (size > c->limits->max_bytes - c->done.bytes)
                return skip(c, GUEST_SKIP_TOO_LARGE);
        if (seen->st_nlink > 1 && seen_before(c, (uint64_t)seen->st_ino))
                return skip(c, GUEST_SKIP_HARD_LINK);

        int fd = open_beneath(directory, name, O_RDONLY);
        if (fd < 0 && errno == EACCES) {
                /* The program made it unreadable for itself; it is the owner's file, and we are the owner.
                 */
                (void)fchmodat(directory, name, 0600, 0);
                fd = open_beneath(directory, name, O_RDONLY);
        }
        _cleanup_(closep) int file = fd;
        struct stat now;
        if (file < 0 || fstat(file, &now) < 0 || !S_ISREG(now.st_mode) || now.st_ino != seen->st_ino)
                return skip(c, GUEST_SKIP_UNREADABLE);

        struct guest_file head = {
            .size = size,
            .mtime_nsec = (int64_t)now.st_mtim.tv_sec * (int64_t)NSEC_PER_SEC + now.st_mtim.tv_nsec,
            .mode = seen->st_mode & 0777,
            .path_size = (uint32_t)c->path.size,
        };
        int r = link_send(c->link, GUEST_FILE, &head, sizeof head, c->path.data, c->path.size);
        if (r < 0)
                return r;
        c->done.files++;
        c->done.bytes += size;
        return send_content(c, file, size);
}

static int walk(struct collection *c, int directory, unsigned depth);

static int take_entry(struct collection *c, int directory, const char *name, unsigned depth)
{
        struct stat seen;
        if (fstatat(directory, name, &seen, AT_SYMLINK_NOFOLLOW) < 0)
                return skip(c, GUEST_SKIP_UNREADABLE);
        if (S_ISREG(seen.st_mode))
                return take_file(c, directory, name, &seen);
        if (!S_ISDIR(seen.st_mode))
                return skip(c, GUEST_SKIP_NOT_REGULAR);
        if (depth + 1 >= c->limits->max_depth)
                return skip(c, GUEST_SKIP_TOO_DEEP);
        int child = open_beneath(directory, name, O_RDONLY | O_DIRECTORY);
        if (child < 0 && errno == EACCES) {
                (void)fchmodat(directory, name, 0700, 0);
                child = open_beneath(directory, name, O_RDONLY | O_DIRECTORY);
        }
        if (child < 0)
                return skip(c, GUEST_SKIP_UNREADABLE);
        return walk(c, child, depth + 1); /* which closes it */
}

/* Takes over `directory`. Recursion is bounded by max_depth. */
static int walk(struct collection *c, int directory, unsigned depth)
{
        DIR *stream = fdopendir(directory);
        if (!stream) {
                (void)close(directory);
                return skip(c, GUEST_SKIP_UNREADABLE);
        }
        size_t base = c->path.size;
        int r = 0;
        struct dirent *entry;
        while (r == 0 && (entry = readdir(stream)) != NULL) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                if (++c->entries > ENTRIES_MAX) {
                        c->done.skipped++;
                        break;
                }
                if ((base > 0 && strbuf_append(&c->path, "/", 1) < 0) ||
                    strbuf_append_text(&c->path, entry->d_name) < 0)
                        c->done.skipped++; /* a path too long to name */
                else
                        r = take_entry(c, dirfd(stream), entry->d_name, depth);
                c->path.size = base;
                if (c->path.data)
                        c->path.data[base] = '\0';
        }
        (void)closedir(stream);
        return r;
}

int collect_files(struct link *link, int workdir, const struct guest_collect *limits, char *buffer)
{
        struct collection c = {
            .link = link,
            .limits = limits,
            .buffer = buffer,
            .path = STRBUF_INIT(GUEST_PATH_MAX - 1),
            .inodes = STRBUF_INIT(sizeof(uint64_t) * ENTRIES_MAX),
        };
        (void)chmod(GUEST_WORKDIR, 0700); /* which the program may have closed to itself, and so to us */
        int top = openat(workdir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = top < 0 ? 0 : walk(&c, top, 0);
        if (r == 0)
                r = link_send(link, GUEST_COLLECTED, &c.done, sizeof c.done, NULL, 0);
        strbuf_clear(&c.path);
        strbuf_clear(&c.inodes);
        return r;
}
