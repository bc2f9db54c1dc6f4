/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the ledger's directory: whose flock is held, and what is in use. */
#include "state/ledger_internal.h"
#include "util/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>

void scan_clear(struct scan *scan)
{
        free(scan->records);
        free(scan->waiters);
        scan->records = NULL;
        scan->waiters = NULL;
        scan->record_count = scan->record_room = 0;
        scan->waiter_count = scan->waiter_room = 0;
}

/* Makes room for one more element of `size`; false if out of memory. */
static bool make_room(void **array, size_t count, size_t *room, size_t size)
{
        if (count < *room)
                return true;
        size_t wanted = MAX(*room * 2, (size_t)16);
        void *bigger = realloc(*array, wanted * size);
        if (!bigger)
                return false;
        *array = bigger;
        *room = wanted;
        return true;
}

struct scan_record *scan_add_record(struct scan *scan)
{
        if (!make_room(
                (void **)&scan->records, scan->record_count, &scan->record_room, sizeof *scan->records))
                return NULL;
        struct scan_record *record = &scan->records[scan->record_count++];
        *record = (struct scan_record){};
        return record;
}

/*
 * Reads one file and tells whether its flock is held. The test takes a shared lock: `lock` is ours, so that
 * it can meet nobody who would take this for an owner, and closing drops it. Returns 1 for held, 0 for not
 * held, -ENOENT for a file that is gone by now. A file that can't be opened for what it is (a link, wrong
 * mode: not made by us) counts as not held.
 */
static int examine(int dirfd, const char *name, char text[RECORD_TEXT_MAX])
{
        text[0] = '\0';
        _cleanup_(closep) int fd =
            openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return errno == ELOOP || errno == EACCES || errno == ENXIO ? 0 : -errno;
        bool held = false;
        if (flock(fd, LOCK_SH | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                held = true;
        }
        ssize_t size = fd_pread_small(fd, text, RECORD_TEXT_MAX);
        if (size < 0)
                text[0] = '\0'; /* a directory, a pipe, a bad disk: damaged */
        return held;
}

static int take_container(struct ledger *ledger, const char *name, const struct record_data *from_name,
    struct scan *scan, struct error *err)
{
        char text[RECORD_TEXT_MAX];
        int held = examine(ledger->dirfd, name, text);
        if (held == -ENOENT)
                return 0;
        if (held < 0)
                return error_set(err, ERROR_STATE, -held, NULL, "cannot read %s/%s", ledger->path, name);
        struct scan_record *record = scan_add_record(scan);
        if (!record)
                return error_oom(err);
        record->live = held > 0;
        record->damaged = record_parse(RECORD_CONTAINER, text, &record->data) < 0 ||
                          strcmp(record->data.id, from_name->id) != 0 ||
                          record->data.slot != from_name->slot ||
                          strcmp(record->data.backend, from_name->backend) != 0;
        if (record->damaged)
                record->data = *from_name;
        memcpy(record->name, name, strlen(name) + 1); /* a name that parses fits */
        scan->dead_count += !record->live;
        return 0;
}

static int take_waiter(struct ledger *ledger, const char *name, const struct record_data *from_name,
    struct scan *scan, struct error *err)
{
        char text[RECORD_TEXT_MAX];
        int held = examine(ledger->dirfd, name, text);
        if (held == -ENOENT)
                return 0;
        if (held < 0)
                return error_set(err, ERROR_STATE, -held, NULL, "cannot read %s/%s", ledger->path, name);
        struct record_data data;
        if (held == 0 || record_parse(RECORD_WAITING, text, &data) < 0 || data.ticket != from_name->ticket) {
                (void)unlinkat(
                    ledger->dirfd, name, 0); /* a dead one stands in nobody's way, removed or not */
                return 0;
        }
        if (!make_room(
                (void **)&scan->waiters, scan->waiter_count, &scan->waiter_room, sizeof *scan->waiters))
                return error_oom(err);
        scan->waiters[scan->waiter_count++] = data;
        return 0;
}

static int by_ticket(const void *a, const void *b)
{
        const struct record_data *left = a, *right = b;
        return left->ticket < right->ticket ? -1 : left->ticket > right->ticket;
}

int scan_directory(struct ledger *ledger, struct scan *scan, struct error *err)
{
        memset(scan, 0, sizeof *scan);
        if (lseek(ledger->dirfd, 0, SEEK_SET) < 0)
                return error_set(err, ERROR_STATE, errno, NULL, "cannot read %s", ledger->path);
        _Alignas(struct dirent64) char
            buffer[2048]; /* small: each fresh page of the stack costs a short process more than a call */
        for (;;) {
                ssize_t n = getdents64(ledger->dirfd, buffer, sizeof buffer);
                if (n < 0)
                        return error_set(err, ERROR_STATE, errno, NULL, "cannot read %s", ledger->path);
                if (n == 0)
                        break;
                for (ssize_t at = 0; at < n;) {
                        const struct dirent64 *entry = (const void *)(buffer + at);
                        at += entry->d_reclen;
                        struct record_data from_name = {};
                        int status = 0;
                        switch (record_name_parse(entry->d_name, &from_name)) {
                        case RECORD_CONTAINER:
                                status = take_container(ledger, entry->d_name, &from_name, scan, err);
                                break;
                        case RECORD_WAITING:
                                status = take_waiter(ledger, entry->d_name, &from_name, scan, err);
                                break;
                        case RECORD_OTHER:
                                break;
                        }
                        if (status < 0)
                                return status;
                }
        }
        if (scan->waiter_count > 1)
                qsort(scan->waiters, scan->waiter_count, sizeof *scan->waiters, by_ticket);
        ledger->saw_dead = scan->dead_count > 0;
        return 0;
}
