/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the ledger share; nobody else includes this but its tests. */
#pragma once

#include "state/record.h"

struct ledger {
        int dirfd;
        char *path;                        /* for messages, and for inotify */
        char boot_id[RECORD_BOOT_ID_SIZE]; /* read when first needed; "" before */
        bool saw_dead;
};

struct ledger_entry {
        struct ledger *ledger; /* must outlive the entry */
        int fd;                /* holds the flock */
        char name[RECORD_NAME_SIZE];
        struct record_data data;
        double waited;
};

/*
 * Opens `name` in the directory `parent_path`, making it if
 * it is missing. Tests choose their own place with this.
 */
int ledger_open_at(const char *parent_path, const char *name, struct ledger **ret, struct error *err);

/* This boot's name; "" if it can't be read. */
const char *ledger_boot_id(struct ledger *ledger);

/*
 * Takes `lock`: a descriptor to be closed, or -errno. It is held for some tens of microseconds; who holds it
 * longer is stopped, so the wait is bounded. `cancel_fd` as in ledger_claim().
 */
int ledger_lock(struct ledger *ledger, int cancel_fd, struct error *err);

/* The wait that ledger_lock() allows, in nanoseconds. */
#define LEDGER_LOCK_PATIENCE (30 * NSEC_PER_SEC)

/* Is there anything to read on cancel_fd (or did it end)? Never for -1. */
bool ledger_cancelled(int cancel_fd);

/* One container's record as found. */
struct scan_record {
        struct record_data data; /* of a damaged record: what the name tells */
        char name[RECORD_NAME_SIZE];
        bool live;
        bool damaged;
        bool
            claimed; /* not a record: a place that the decision sets aside for somebody ahead in the queue */
};

struct scan {
        struct scan_record *records; /* live and dead */
        size_t record_count, record_room;
        struct record_data *waiters; /* live, in order of arrival */
        size_t waiter_count, waiter_room;
        size_t dead_count;
};

/*
 * Reads the directory; `lock` must be held. Removes what
 * dead waiters left. Clear the scan also after a failure.
 */
int scan_directory(struct ledger *ledger, struct scan *scan, struct error *err);
void scan_clear(struct scan *scan);

/* Room for one more record; the others move. NULL if out of memory. */
struct scan_record *scan_add_record(struct scan *scan);

/*
 * Writes a file under its final name, already flocked; `lock` must be held. Returns the descriptor that
 * holds the flock, or -errno.
 */
int ledger_write_file(struct ledger *ledger, enum record_kind kind, const struct record_data *data,
    char ret_name[RECORD_NAME_SIZE], struct error *err);

/* What keeps a run from starting. */
enum shortage { SHORT_OF_NOTHING, SHORT_OF_CPU, SHORT_OF_MEMORY, SHORT_OF_LEVEL, SHORTAGE_COUNT_ };

struct decision {
        enum shortage shortage;
        uint64_t micro_cpus, memory, runs, level_runs; /* in use, or set aside for those ahead */
        uint64_t ahead;                                /* runs of the queue before this one */
};

/*
 * May this run start, given what lives and who waits before it (tickets below its own)? Changes the scan:
 * what those before it will take is set aside. `now` is the monotonic clock.
 */
int admission_decide(struct scan *scan, const struct record_data *claim, uint64_t now, struct decision *ret,
    struct error *err);
