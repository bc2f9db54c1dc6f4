/* SPDX-License-Identifier: Apache-2.0 */
#include "image/store.h"

#include "util/fd.h"
#include "util/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define SYSTEM_PARENT "/var/lib"
#define DRAFT_PREFIX ".new-"
#define OLD_PREFIX ".old-"

#define LOCK_TRIES 100U
#define LOCK_PAUSE_NSEC 5000000L

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void image_store_close(struct image_store *store)
{
        close_and_forget(&store->directory);
        free(store->path);
        store->path = NULL;
}

/* ---- The directory ---- */

/* Below what is the user's; for root, of the machine. */
static int parent_path(char **ret, struct error *err)
{
        const char *data = geteuid() == 0 ? SYSTEM_PARENT : getenv("XDG_DATA_HOME");
        const char *home = getenv("HOME");
        int n;
        if (data && data[0] == '/')
                n = asprintf(ret, "%s", data);
        else if (home && home[0] == '/')
                n = asprintf(ret, "%s/.local/share", home);
        else
                return error_set(err, ERROR_IMAGE, 0, "set HOME, or XDG_DATA_HOME",
                    "HOME, below which images are kept, is not set");
        return n < 0 ? error_oom(err) : 0;
}

/* What somebody else could write to would be what runs are made of. */
static int check_own(int fd, const char *path, struct error *err)
{
        struct stat st;
        if (fstat(fd, &st) < 0)
                return error_set(err, ERROR_IMAGE, errno, NULL, "looking at %s", path);
        if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
                return error_set(err, ERROR_IMAGE, EPERM, "move it away: a new one is made in its place",
                    "%s belongs to uid %u with mode %04o, and must be writable by uid %u alone", path,
                    st.st_uid, (unsigned)st.st_mode & 07777, geteuid());
        return 0;
}

/* Opens `path`, all of whose parts may have to be made. -ENOENT without an error if not `make`. */
static int open_directories(char *path, bool make, struct error *err)
{
        int fd = open(path, DIRECTORY_FLAGS);
        if (fd >= 0 || (errno == ENOENT && !make))
                return fd >= 0 ? fd : -ENOENT;
        for (char *at = path + 1; errno == ENOENT; at++) {
                at = strchrnul(at, '/');
                char kept = *at;
                *at = '\0';
                int r = mkdir(path, geteuid() == 0 ? 0755 : 0700) < 0 && errno != EEXIST ? -errno : 0;
                *at = kept;
                if (r < 0)
                        return error_set(
                            err, ERROR_IMAGE, -r, NULL, "making the directory of images, %s", path);
                if (!kept)
                        break;
                errno = ENOENT;
        }
        fd = open(path, DIRECTORY_FLAGS);
        return fd < 0 ? error_set(err, ERROR_IMAGE, errno, NULL, "opening the directory of images, %s", path)
                      : fd;
}

int image_store_open(bool make, struct image_store *ret, struct error *err)
{
        _cleanup_(freep) char *parent = NULL;
        _cleanup_(image_store_close) struct image_store store = IMAGE_STORE_INIT;
        int r = parent_path(&parent, err);
        if (r < 0)
                return r;
        if (asprintf(&store.path, "%s/mai-sandbox/images", parent) < 0) {
                store.path = NULL;
                return error_oom(err);
        }
        store.directory = open_directories(store.path, make, err);
        if (store.directory < 0 && (make || store.directory != -ENOENT))
                return store.directory;
        if (store.directory >= 0) {
                r = check_own(store.directory, store.path, err);
                if (r < 0)
                        return r;
        }
        *ret = store;
        store = (struct image_store)IMAGE_STORE_INIT;
        return 0;
}

/* ---- Using ---- */

static int no_such_image(const char *name, struct error *err)
{
        return error_set(err, ERROR_IMAGE, 0,
            "see `mai-sandbox image ls`; get it with `mai-sandbox image import FILE NAME` or `image pull`",
            "image: there is no image \"%s\"", name);
}

/*
 * Locks the directory; between opening and locking it may have been removed or replaced. To use it one waits
 * a little: whoever lists images holds the exclusive lock for a moment.
 */
static int open_locked(const struct image_store *store, const char *file_name, int operation, int *ret_fd)
{
        for (unsigned tries = 0; tries < LOCK_TRIES; tries++) {
                struct stat here, there;
                _cleanup_(closep) int fd = openat(store->directory, file_name, DIRECTORY_FLAGS);
                if (fd < 0)
                        return -errno;
                if (flock(fd, operation | LOCK_NB) < 0) {
                        if (errno != EWOULDBLOCK || operation != LOCK_SH)
                                return -errno;
                        (void)nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NSEC}, NULL);
                        continue;
                }
                if (fstat(fd, &here) == 0 && fstatat(store->directory, file_name, &there, 0) == 0 &&
                    here.st_ino == there.st_ino && here.st_dev == there.st_dev) {
                        *ret_fd = take_fd(&fd);
                        return 0;
                }
        }
        return -EWOULDBLOCK;
}

int image_store_use(const struct image_store *store, const char *name, int *ret_fd, struct image_info *ret,
    struct error *err)
{
        char file_name[IMAGE_FILE_NAME_SIZE];
        _cleanup_(closep) int fd = -1;
        int r = image_name_check(name, err);
        if (r < 0)
                return r;
        image_name_encode(name, file_name);
        r = store->directory < 0 ? -ENOENT : open_locked(store, file_name, LOCK_SH, &fd);
        if (r == -ENOENT || r == -EWOULDBLOCK) /* somebody is removing it */
                return no_such_image(name, err);
        if (r < 0)
                return error_set(err, ERROR_IMAGE, -r, NULL, "opening the image \"%s\"", name);
        r = image_info_read(fd, ret, err);
        if (r == 0)
                *ret_fd = take_fd(&fd);
        return r;
}

int image_use(const char *name, int *ret_fd, struct image_info *ret, struct error *err)
{
        _cleanup_(image_store_close) struct image_store store = IMAGE_STORE_INIT;
        int r = image_store_open(false, &store, err);
        return r < 0 ? r : image_store_use(&store, name, ret_fd, ret, err);
}

/* Names in the directory, but for those that begin with a dot. */
static int is_image(const struct dirent *entry)
{
        return entry->d_name[0] != '.';
}

static int is_leftover(const struct dirent *entry)
{
        return strncmp(entry->d_name, DRAFT_PREFIX, sizeof DRAFT_PREFIX - 1) == 0 ||
               strncmp(entry->d_name, OLD_PREFIX, sizeof OLD_PREFIX - 1) == 0;
}

static void free_entries(struct dirent **entries, int count)
{
        for (int i = 0; i < count; i++)
                free(entries[i]);
        free((void *)entries);
}

int image_store_list(const struct image_store *store, image_visitor visit, void *user, struct error *err)
{
        struct dirent **entries = NULL;
        int count =
            store->directory < 0 ? 0 : scandirat(store->directory, ".", &entries, is_image, alphasort);
        if (count < 0)
                return error_set(err, ERROR_IMAGE, errno, NULL, "reading %s", store->path);
        int r = 0;
        for (int i = 0; i < count && r == 0; i++) {
                struct image_info info;
                _cleanup_(closep) int fd = openat(store->directory, entries[i]->d_name, DIRECTORY_FLAGS);
                if (fd < 0 || image_info_read(fd, &info, NULL) < 0)
                        continue; /* gone meanwhile, or none of ours */
                bool in_use = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
                (void)flock(fd, LOCK_UN);
                r = visit(&info, in_use, user);
        }
        free_entries(entries, count);
        return r;
}

/* Moves it out of sight and removes it; `fd` holds the exclusive lock. */
static int remove_locked(const struct image_store *store, const char *file_name)
{
        char old[40];
        uint64_t word = 0;
        if (getrandom(&word, sizeof word, 0) < 0)
                return -errno;
        (void)snprintf(old, sizeof old, OLD_PREFIX "%016llx", (unsigned long long)word);
        if (renameat(store->directory, file_name, store->directory, old) < 0)
                return -errno;
        return remove_tree(store->directory, old);
}

int image_store_remove(const struct image_store *store, const char *name, struct error *err)
{
        char file_name[IMAGE_FILE_NAME_SIZE];
        _cleanup_(closep) int fd = -1;
        int r = image_name_check(name, err);
        if (r < 0)
                return r;
        image_name_encode(name, file_name);
        r = store->directory < 0 ? -ENOENT : open_locked(store, file_name, LOCK_EX, &fd);
        if (r == -ENOENT)
                return no_such_image(name, err);
        if (r == -EWOULDBLOCK)
                return error_set(
                    err, ERROR_BUSY, 0, "wait for its runs to end", "image: \"%s\" is in use", name);
        if (r == 0)
                r = remove_locked(store, file_name);
        return r < 0 ? error_set(err, ERROR_IMAGE, -r, NULL, "removing the image \"%s\"", name) : 0;
}

void image_store_prune(const struct image_store *store)
{
        struct dirent **entries = NULL;
        /* Its own opening, since a lock belongs to one. Whoever begins a draft holds the shared lock
         * meanwhile. */
        _cleanup_(closep) int lock =
            store->directory < 0 ? -1 : openat(store->directory, ".", DIRECTORY_FLAGS);
        if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
                return;
        int count = scandirat(lock, ".", &entries, is_leftover, NULL);
        for (int i = 0; i < count; i++) {
                _cleanup_(closep) int fd = -1;
                if (open_locked(store, entries[i]->d_name, LOCK_EX, &fd) == 0)
                        (void)remove_tree(store->directory, entries[i]->d_name);
        }
        free_entries(entries, count);
}

/* ---- Making ---- */

int image_draft_begin(const struct image_store *store, struct image_draft *ret, struct error *err)
{
        uint64_t word = 0;
        struct image_draft draft = {.fd = -1};
        _cleanup_(closep) int lock = openat(store->directory, ".", DIRECTORY_FLAGS);
        if (lock < 0 || getrandom(&word, sizeof word, 0) < 0 || flock(lock, LOCK_SH) < 0)
                return error_set(err, ERROR_IMAGE, errno, NULL, "opening %s", store->path);
        (void)snprintf(draft.name, sizeof draft.name, DRAFT_PREFIX "%016llx", (unsigned long long)word);
        if (mkdirat(store->directory, draft.name, 0755) < 0)
                return error_set(err, ERROR_IMAGE, errno, NULL, "making a directory in %s", store->path);
        int r = open_locked(store, draft.name, LOCK_EX, &draft.fd);
        if (r < 0) {
                (void)unlinkat(store->directory, draft.name, AT_REMOVEDIR);
                return error_set(err, ERROR_IMAGE, -r, NULL, "locking a directory in %s", store->path);
        }
        (void)fchmod(draft.fd, 0755); /* whatever the umask */
        *ret = draft;
        return 0;
}

int image_draft_commit(const struct image_store *store, struct image_draft *draft,
    const struct image_info *info, struct error *err)
{
        char file_name[IMAGE_FILE_NAME_SIZE];
        image_name_encode(info->name, file_name);
        int r = image_info_write(draft->fd, info, err);
        if (r < 0)
                return r;
        int dir = store->directory;
        if (syscall(SYS_renameat2, dir, draft->name, dir, file_name, RENAME_NOREPLACE) < 0) {
                if (errno != EEXIST ||
                    syscall(SYS_renameat2, dir, draft->name, dir, file_name, RENAME_EXCHANGE) < 0)
                        return error_set(
                            err, ERROR_IMAGE, errno, NULL, "naming the image \"%s\"", info->name);
                /* The one before has the draft's name now. Runs may still use it: then it goes later. */
                close_and_forget(&draft->fd);
                image_store_prune(store);
        }
        close_and_forget(&draft->fd);
        draft->name[0] = '\0';
        return 0;
}

void image_draft_drop(const struct image_store *store, struct image_draft *draft)
{
        if (draft->name[0])
                (void)remove_tree(store->directory, draft->name);
        close_and_forget(&draft->fd);
        draft->name[0] = '\0';
}
