/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: one record per live container under /run/mai-sandbox (root) or $XDG_RUNTIME_DIR/mai-sandbox,
 * shared by all processes of one user. It is what admission counts and what `prune` finds after a SIGKILL.
 *
 * Invariants: a record file exists from before the first resource of its container is made until after the
 * last is gone; it is held by an exclusive flock while its supervisor lives, so an unlocked record is a dead
 * one; its slot number (and with it the host uid base + slot) is unique among records. `lock` in the same
 * directory serialises changes. The directory is made with mode 0700, and refused if it belongs to someone
 * else.
 */
#pragma once

#include "policy/spec.h"
#include "util/error.h"

#define LEDGER_ID_SIZE 33

struct ledger;       /* the open directory; one per process is enough; not shared between threads */
struct ledger_entry; /* our own live record */

struct ledger_claim {
        double cpus;
        uint64_t memory;
        const char *trust_level;
        const char *backend;
        uint64_t level_concurrency;
        double host_cpu_share;
        uint64_t host_mem_share;
        bool queue_when_full;
        uint64_t queue_length;
        double queue_timeout;
};

int ledger_open(struct ledger **ret, struct error *err);
struct ledger *ledger_close(struct ledger *ledger);

/*
 * Claims a share of the host, waiting in the (first come, first served) queue as the claim says. `cancel_fd`
 * (or -1) ends the wait with ERROR_CANCELLED when it becomes readable. ERROR_BUSY names what was full, the
 * limit and the key. Dead records do not count and are left for ledger_each_dead(). A claim larger than the
 * share by itself is admitted when nothing else runs.
 */
int ledger_claim(struct ledger *ledger, const struct ledger_claim *claim, int cancel_fd,
    struct ledger_entry **ret, struct error *err);

const char *ledger_entry_id(const struct ledger_entry *entry); /* 32 characters of [0-9a-f], random */
unsigned ledger_entry_slot(const struct ledger_entry *entry);  /* smallest free, 0 … 65535 */
double ledger_entry_waited(const struct ledger_entry *entry);  /* seconds in the queue */

/* Removes our record: the container is gone entirely. Frees the entry. */
struct ledger_entry *ledger_release(struct ledger_entry *entry);

/* Drops our hold but leaves the record for `prune`: something could not be removed. Frees the entry. */
struct ledger_entry *ledger_abandon(struct ledger_entry *entry);

struct ledger_record {
        char id[LEDGER_ID_SIZE];
        char backend[16];
        char trust_level[64];
        unsigned slot;
        pid_t pid; /* of the supervisor */
        bool live; /* its supervisor lives */
        bool same_boot;
        double cpus;
        uint64_t memory;
        char started_at[32];
};

/* Calls `visit` for every record (live and dead). Stops at the first non-zero return, which it passes on. */
int ledger_each(struct ledger *ledger, int (*visit)(const struct ledger_record *record, void *user),
    void *user, struct error *err);

/*
 * Calls `clean` for every dead record with that record locked by us; a return of 0 removes the record,
 * negative keeps it. *ret_cleaned counts removals. Cheap when there are none (one directory listing): called
 * at each start.
 */
int ledger_each_dead(struct ledger *ledger, int (*clean)(const struct ledger_record *record, void *user),
    void *user, unsigned *ret_cleaned, struct error *err);

/*
 * Did the last claim find dead records? It has read them anyway, so that whoever cleans up at each start
 * needs ledger_each_dead() only then.
 */
bool ledger_saw_dead(const struct ledger *ledger);
