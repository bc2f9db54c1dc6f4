/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cache.h"

#include "util/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define PART_NAME_SIZE 64
#define STALE_SECONDS 3600
#define CACHED_FILES_MAX 100000

struct cache {
        int directory;
        uint64_t max_bytes;
};

struct cache_writer {
        struct cache *cache;
        struct digest digest;
        struct hasher *hasher;
        int fd;
        uint64_t size;
        bool published;
        char part[PART_NAME_SIZE];
};

int cache_open(
    const char *path, uint64_t max_bytes, uint32_t uid, uint32_t gid, struct cache **ret, struct error *err)
{
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return error_set(err, ERROR_STATE, errno, NULL, "cache.directory: making %s", path);
        _cleanup_(closep) int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat info;
        if (directory < 0 || fstat(directory, &info) < 0)
                return error_set(err, ERROR_STATE, errno, NULL, "cache.directory: opening %s", path);
        if (info.st_mode & 022)
                return error_set(err, ERROR_STATE, 0, "chmod go-w it, or name another directory",
                    "cache.directory: %s can be written by others", path);
        if (uid != 0 && (info.st_uid != uid || info.st_gid != gid) && fchown(directory, uid, gid) < 0)
                return error_set(err, ERROR_STATE, errno, NULL, "cache.directory: giving away %s", path);
        struct cache *cache = calloc(1, sizeof *cache);
        if (!cache)
                return error_oom(err);
        cache->directory = take_fd(&directory);
        cache->max_bytes = max_bytes;
        *ret = cache;
        return 0;
}

struct cache *cache_close(struct cache *cache)
{
        if (!cache)
                return NULL;
        close_and_forget(&cache->directory);
        free(cache);
        return NULL;
}

int cache_directory(const struct cache *cache)
{
        return cache->directory;
}

static bool file_matches(int fd, const struct digest *digest)
{
        struct hasher *hasher = hasher_new(digest);
        char *buffer = malloc(1U << 18);
        ssize_t n = -1;
        bool good = false;
        if (hasher && buffer) {
                while ((n = read(fd, buffer, 1U << 18)) > 0)
                        if (hasher_update(hasher, buffer, (size_t)n) < 0)
                                break;
                good = n == 0 && hasher_matches(hasher);
        }
        free(buffer);
        hasher_free(hasher);
        return good;
}

int cache_find(const struct cache *cache, const struct digest *digest, int *ret_fd, uint64_t *ret_size)
{
        _cleanup_(closep) int fd =
            openat(cache->directory, digest->text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat info;
        if (fd < 0)
                return -errno;
        if (fstat(fd, &info) < 0)
                return -errno;
        if (!S_ISREG(info.st_mode) || !file_matches(fd, digest)) {
                (void)unlinkat(cache->directory, digest->text, 0);
                return -ENOENT;
        }
        (void)futimens(fd, NULL); /* used now: cache_trim() goes by it */
        *ret_size = (uint64_t)info.st_size;
        *ret_fd = take_fd(&fd);
        return 0;
}

/* ---- Trimming ---- */

struct cached {
        char name[DIGEST_TEXT_SIZE];
        uint64_t size;
        struct timespec used;
};

static int older_first(const void *a, const void *b)
{
        const struct timespec *x = &((const struct cached *)a)->used, *y = &((const struct cached *)b)->used;
        if (x->tv_sec != y->tv_sec)
                return x->tv_sec < y->tv_sec ? -1 : 1;
        return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static void closedirp(DIR **directory)
{
        if (*directory)
                (void)closedir(*directory);
}

/* All files of the cache; unfinished ones that nobody can still be writing are removed on the way. */
static size_t scan(const struct cache *cache, struct cached *files, uint64_t *ret_bytes)
{
        int fd = openat(cache->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_(closedirp) DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
        size_t count = 0;
        *ret_bytes = 0;
        if (!directory) {
                closep(&fd);
                return 0;
        }
        time_t now = time(NULL);
        for (struct dirent *entry = readdir(directory); entry && count < CACHED_FILES_MAX;
             entry = readdir(directory)) {
                struct stat info;
                size_t length = strlen(entry->d_name);
                if (fstatat(cache->directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
                    !S_ISREG(info.st_mode))
                        continue;
                if (strncmp(entry->d_name, "part-", 5) == 0) {
                        if (info.st_mtime < now - STALE_SECONDS)
                                (void)unlinkat(cache->directory, entry->d_name, 0);
                        continue;
                }
                if (length >= DIGEST_TEXT_SIZE)
                        continue;
                memcpy(files[count].name, entry->d_name, length + 1);
                files[count].size = (uint64_t)info.st_size;
                files[count].used = info.st_mtim;
                *ret_bytes += files[count++].size;
        }
        return count;
}

void cache_trim(const struct cache *cache)
{
        struct cached *files = calloc(CACHED_FILES_MAX, sizeof *files);
        if (!files)
                return;
        uint64_t bytes;
        size_t count = scan(cache, files, &bytes);
        if (bytes > cache->max_bytes || count == CACHED_FILES_MAX) {
                qsort(files, count, sizeof *files, older_first);
                /* A tenth more than needed, so that not every fetch has to do this. */
                uint64_t goal = cache->max_bytes - cache->max_bytes / 10;
                for (size_t i = 0; i < count && bytes > goal; i++)
                        if (unlinkat(cache->directory, files[i].name, 0) == 0)
                                bytes -= files[i].size;
        }
        free(files);
}

/* ---- Writing ---- */

/* An empty file under a new name: the descriptor, or -errno. */
static int new_part(const struct cache *cache, char ret_name[PART_NAME_SIZE])
{
        uint64_t random = 0;
        if (getrandom(&random, sizeof random, 0) != sizeof random)
                return -EIO;
        /* Other gateways write here too, perhaps from pid namespaces of their own. */
        (void)snprintf(ret_name, PART_NAME_SIZE, "part-%016llx", (unsigned long long)random);
        int fd = openat(cache->directory, ret_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        return fd < 0 ? -errno : fd;
}

int cache_scratch(struct cache *cache, int *ret_fd)
{
        char name[PART_NAME_SIZE];
        int fd = new_part(cache, name);
        if (fd < 0)
                return fd;
        (void)unlinkat(cache->directory, name, 0);
        *ret_fd = fd;
        return 0;
}

int cache_writer_begin(struct cache *cache, const struct digest *digest, struct cache_writer **ret)
{
        struct cache_writer *writer = calloc(1, sizeof *writer);
        if (!writer)
                return -ENOMEM;
        writer->cache = cache;
        writer->digest = *digest;
        writer->hasher = hasher_new(digest);
        writer->fd = new_part(cache, writer->part);
        if (!writer->hasher || writer->fd < 0) {
                int r = writer->fd < 0 ? writer->fd : -ENOMEM;
                writer->published = writer->fd < 0; /* nothing to remove */
                cache_writer_free(writer);
                return r;
        }
        *ret = writer;
        return 0;
}

int cache_writer_append(struct cache_writer *writer, const void *data, size_t size)
{
        int r = fd_write_all(writer->fd, data, size);
        if (r == 0)
                r = hasher_update(writer->hasher, data, size);
        writer->size += size;
        return r;
}

int cache_writer_commit(struct cache_writer *writer, int *ret_fd, uint64_t *ret_size)
{
        if (!hasher_matches(writer->hasher))
                return -EBADMSG;
        int directory = writer->cache->directory;
        if (fchmod(writer->fd, 0444) < 0)
                return -errno;
        _cleanup_(closep) int fd = openat(directory, writer->part, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (renameat(directory, writer->part, directory, writer->digest.text) < 0)
                return -errno;
        writer->published = true;
        *ret_size = writer->size;
        *ret_fd = take_fd(&fd);
        return 0;
}

struct cache_writer *cache_writer_free(struct cache_writer *writer)
{
        if (!writer)
                return NULL;
        if (!writer->published)
                (void)unlinkat(writer->cache->directory, writer->part, 0);
        close_and_forget(&writer->fd);
        hasher_free(writer->hasher);
        free(writer);
        return NULL;
}
