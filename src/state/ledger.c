/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's directory, its lock, and what is done with
 * records once they exist. Claims are in admission.c.
 */
#include "state/ledger_internal.h"
#include "util/clock.h"
#include "util/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#define DIRECTORY_NAME "mai-sandbox"
#define LOCK_NAME "lock"
#define NEW_NAME "new"

static void ledger_closep(struct ledger **ledger)
{
        (void)ledger_close(*ledger);
}

static void scan_clearp(struct scan *scan)
{
        scan_clear(scan);
}

static int open_directory(const char *path, struct error *err)
{
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int fd = open(path, flags);
        if (fd < 0 && errno == ENOENT) {
                if (mkdir(path, 0700) < 0 && errno != EEXIST)
                        return error_set(err, ERROR_STATE, errno,
                            "it needs an existing parent directory that you can write to, and free space",
                            "cannot make the state directory %s", path);
                fd = open(path, flags);
        }
        if (fd >= 0)
                return fd;
        if (errno == ENOTDIR || errno == ELOOP)
                return error_set(err, ERROR_STATE, errno, "remove it: a directory is made in its place",
                    "the state directory %s is a symbolic link or no directory", path);
        return error_set(err, ERROR_STATE, errno, NULL, "cannot open the state directory %s", path);
}

int ledger_open_at(const char *parent_path, const char *name, struct ledger **ret, struct error *err)
{
        _cleanup_(ledger_closep) struct ledger *ledger = malloc(sizeof *ledger);
        if (!ledger)
                return error_oom(err);
        *ledger = (struct ledger){.dirfd = -1};
        if (asprintf(&ledger->path, "%s/%s", parent_path, name) < 0) {
                ledger->path = NULL;
                return error_oom(err);
        }
        ledger->dirfd = open_directory(ledger->path, err);
        if (ledger->dirfd < 0)
                return ledger->dirfd;
        struct stat st;
        if (fstat(ledger->dirfd, &st) < 0)
                return error_set(err, ERROR_STATE, errno, NULL, "cannot examine %s", ledger->path);
        /* Whoever can write here could make us remove the resources of a record of his invention. */
        if (st.st_uid != geteuid())
                return error_set(err, ERROR_STATE, EPERM, "remove it: a new one is made in its place",
                    "the state directory %s belongs to uid %u, not to uid %u", ledger->path, st.st_uid,
                    geteuid());
        if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
                return error_set(err, ERROR_STATE, EPERM, "remove it: a new one is made in its place",
                    "the state directory %s is writable by others (mode %04o)", ledger->path,
                    (unsigned)st.st_mode & 07777);
        *ret = TAKE_PTR(ledger);
        return 0;
}

int ledger_open(struct ledger **ret, struct error *err)
{
        if (geteuid() == 0)
                return ledger_open_at("/run", DIRECTORY_NAME, ret, err);
        const char *parent = getenv("XDG_RUNTIME_DIR");
        if (!parent || parent[0] != '/')
                return error_set(err, ERROR_STATE, ENOENT,
                    "log in through a session that sets it, or set it to a directory of your own with mode "
                    "0700",
                    "XDG_RUNTIME_DIR, where running sandboxes are recorded, is %s",
                    parent && parent[0] != '\0' ? "no absolute path" : "not set");
        int status = ledger_open_at(parent, DIRECTORY_NAME, ret, err);
        return status < 0 ? error_wrap(err, "XDG_RUNTIME_DIR") : 0;
}

struct ledger *ledger_close(struct ledger *ledger)
{
        if (!ledger)
                return NULL;
        closep(&ledger->dirfd);
        free(ledger->path);
        free(ledger);
        return NULL;
}

const char *ledger_boot_id(struct ledger *ledger)
{
        if (ledger->boot_id[0] == '\0' && fd_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id",
                                              ledger->boot_id, sizeof ledger->boot_id) < 0)
                ledger->boot_id[0] = '\0';
        return ledger->boot_id;
}

bool ledger_saw_dead(const struct ledger *ledger)
{
        return ledger->saw_dead;
}

bool ledger_cancelled(int cancel_fd)
{
        struct pollfd pollfd = {.fd = cancel_fd, .events = POLLIN};
        return cancel_fd >= 0 && poll(&pollfd, 1, 0) > 0;
}

/*
 * flock() itself can be waited for without bound only, and a process stopped by Ctrl-Z inside would hang all
 * others: so this tries, and sleeps between. The lock's owner may have been removed from the directory
 * meanwhile (a cleaner of old files): then it protects nothing, and a new one is made.
 */
int ledger_lock(struct ledger *ledger, int cancel_fd, struct error *err)
{
        uint64_t begin = 0;
        long pause = 50000;
        for (;;) {
                _cleanup_(closep) int fd = openat(ledger->dirfd, LOCK_NAME,
                    O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
                if (fd < 0)
                        return error_set(err, ERROR_STATE, errno,
                            errno == ENOENT ? "the directory was removed while in use: start again" : NULL,
                            "cannot open %s/" LOCK_NAME, ledger->path);
                struct stat st;
                if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
                        if (fstat(fd, &st) < 0)
                                return error_set(err, ERROR_STATE, errno, NULL,
                                    "cannot examine %s/" LOCK_NAME, ledger->path);
                        if (st.st_nlink > 0)
                                return take_fd(&fd);
                        continue;
                }
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return error_set(
                            err, ERROR_STATE, errno, NULL, "cannot lock %s/" LOCK_NAME, ledger->path);
                uint64_t now = clock_now();
                if (begin == 0)
                        begin = now;
                if (now - begin > LEDGER_LOCK_PATIENCE)
                        return error_set(err, ERROR_STATE, EAGAIN,
                            "look for a stopped mai-sandbox process (state T in ps), and continue or kill "
                            "it",
                            "%s/" LOCK_NAME " is held by another process for %u seconds", ledger->path,
                            (unsigned)(LEDGER_LOCK_PATIENCE / NSEC_PER_SEC));
                struct pollfd pollfd = {.fd = cancel_fd, .events = POLLIN};
                struct timespec timeout = {.tv_nsec = pause};
                if (ppoll(&pollfd, 1, &timeout, NULL) > 0) {
                        (void)error_set(err, ERROR_CANCELLED, 0, NULL,
                            "cancelled while waiting for other runs to start");
                        return -ECANCELED;
                }
                pause = MIN(pause * 2, 5000000L);
        }
}

int ledger_write_file(struct ledger *ledger, enum record_kind kind, const struct record_data *data,
    char ret_name[RECORD_NAME_SIZE], struct error *err)
{
        char text[RECORD_TEXT_MAX];
        int size = record_format(kind, data, text);
        if (size < 0)
                return error_set(err, ERROR_INTERNAL, -size, NULL, "a value that no record can hold");
        const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
        _cleanup_(closep) int fd = openat(ledger->dirfd, NEW_NAME, flags, 0600);
        if (fd < 0 && errno == EEXIST) {
                /* Who held the lock before us died while writing. */
                (void)unlinkat(ledger->dirfd, NEW_NAME, 0);
                fd = openat(ledger->dirfd, NEW_NAME, flags, 0600);
        }
        char name[RECORD_NAME_SIZE];
        record_name_format(kind, data, name);
        int status = fd < 0 ? -errno : 0;
        if (status == 0)
                status = fd_write_all(fd, text, (size_t)size);
        if (status == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
                status = -errno;
        if (status == 0 && renameat(ledger->dirfd, NEW_NAME, ledger->dirfd, name) < 0)
                status = -errno;
        if (status < 0) {
                (void)unlinkat(ledger->dirfd, NEW_NAME, 0);
                return error_set(err, ERROR_STATE, -status,
                    status == -ENOSPC || status == -EDQUOT ? "free some space or inodes on that file system"
                                                           : NULL,
                    "cannot record this run in %s", ledger->path);
        }
        memcpy(ret_name, name, sizeof name);
        return take_fd(&fd);
}

const char *ledger_entry_id(const struct ledger_entry *entry)
{
        return entry->data.id;
}

unsigned ledger_entry_slot(const struct ledger_entry *entry)
{
        return (unsigned)entry->data.slot;
}

double ledger_entry_waited(const struct ledger_entry *entry)
{
        return entry->waited;
}

struct ledger_entry *ledger_abandon(struct ledger_entry *entry)
{
        if (!entry)
                return NULL;
        closep(&entry->fd);
        free(entry);
        return NULL;
}

struct ledger_entry *ledger_release(struct ledger_entry *entry)
{
        /* Without `lock`: removing one name is atomic, and whoever reads meanwhile copes with it. */
        if (entry)
                (void)unlinkat(entry->ledger->dirfd, entry->name, 0);
        return ledger_abandon(entry);
}

static struct ledger_record to_public(struct ledger *ledger, const struct scan_record *record)
{
        const struct record_data *data = &record->data;
        struct ledger_record public = {
            .slot = (unsigned)data->slot,
            .pid = data->pid <= INT32_MAX ? (pid_t)data->pid : 0,
            .live = record->live,
            /* A damaged record does not say: what it stands for may exist. */
            .same_boot = record->damaged || strcmp(data->boot_id, ledger_boot_id(ledger)) == 0,
            .cpus = (double)data->micro_cpus / 1e6,
            .memory = data->memory,
        };
        memcpy(public.id, data->id, sizeof public.id);
        memcpy(public.backend, data->backend, sizeof public.backend);
        memcpy(public.trust_level, data->trust_level, sizeof public.trust_level);
        memcpy(public.started_at, data->started_at, sizeof public.started_at);
        return public;
}

static int scan_locked(struct ledger *ledger, struct scan *scan, struct error *err)
{
        _cleanup_(closep) int lock = ledger_lock(ledger, -1, err);
        return lock < 0 ? lock : scan_directory(ledger, scan, err);
}

static int by_age(const void *a, const void *b)
{
        const struct scan_record *left = a, *right = b;
        int order = strcmp(left->data.started_at, right->data.started_at);
        return order != 0 ? order : strcmp(left->data.id, right->data.id);
}

int ledger_each(struct ledger *ledger, int (*visit)(const struct ledger_record *record, void *user),
    void *user, struct error *err)
{
        _cleanup_(scan_clearp) struct scan scan = {};
        int status = scan_locked(ledger, &scan, err);
        if (status < 0)
                return status;
        if (scan.record_count > 1)
                qsort(scan.records, scan.record_count, sizeof *scan.records, by_age);
        for (size_t i = 0; i < scan.record_count && status == 0; i++) {
                struct ledger_record public = to_public(ledger, &scan.records[i]);
                status = visit(&public, user);
        }
        return status;
}

/*
 * Takes over a dead record: the descriptor that holds it, -ENOENT when it is gone or somebody else has it,
 * or another -errno with `err` set. Under `lock`, so that our lock is not mistaken for an owner's and no
 * reader's test for ours.
 */
static int take_dead(struct ledger *ledger, const char *name, struct error *err)
{
        _cleanup_(closep) int lock = ledger_lock(ledger, -1, err);
        if (lock < 0)
                return lock == -ENOENT ? -EIO : lock;
        _cleanup_(closep) int fd =
            openat(ledger->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
                return error_set(err, ERROR_STATE, errno, NULL, "cannot open %s/%s", ledger->path, name);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
                return -ENOENT;
        struct stat st;
        if (fstat(fd, &st) < 0 || st.st_nlink == 0)
                return -ENOENT;
        return take_fd(&fd);
}

int ledger_each_dead(struct ledger *ledger, int (*clean)(const struct ledger_record *record, void *user),
    void *user, unsigned *ret_cleaned, struct error *err)
{
        _cleanup_(scan_clearp) struct scan scan = {};
        int status = scan_locked(ledger, &scan, err);
        if (status < 0)
                return status;
        unsigned cleaned = 0;
        for (size_t i = 0; i < scan.record_count; i++) {
                const struct scan_record *record = &scan.records[i];
                if (record->live)
                        continue;
                _cleanup_(closep) int fd = take_dead(ledger, record->name, err);
                if (fd == -ENOENT)
                        continue;
                if (fd < 0)
                        return fd;
                struct ledger_record public = to_public(ledger, record);
                if (clean(&public, user) != 0)
                        continue;
                /*
                 * Its descriptor is still locked: nobody else
                 * cleans it, and its slot stays taken until now.
                 */
                if (unlinkat(ledger->dirfd, record->name, 0) == 0)
                        cleaned++;
        }
        if (ret_cleaned)
                *ret_cleaned = cleaned;
        return 0;
}
