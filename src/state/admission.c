/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims: the queue's waiting, the messages, and the making
 * of a record. Who may start is decided in decision.c.
 */
#include "state/ledger_internal.h"
#include "util/clock.h"
#include "util/parse.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/random.h>

/* A holder that is killed drops its flock, of which nobody is told: so look now and then as well. */
#define LOOK_INTERVAL_MSEC 1000U
#define LOOK_INTERVAL_BLIND_MSEC 100U /* without inotify: the user's instances are all in use */

/* A run's place in the queue, if it has one. */
struct place {
        struct ledger *ledger;
        int fd;      /* holds the waiting record; -1: not in the queue */
        int inotify; /* -1: none */
        char name[RECORD_NAME_SIZE];
};

static void place_leave(struct place *place)
{
        if (place->fd >= 0)
                (void)unlinkat(place->ledger->dirfd, place->name, 0);
        close_and_forget(&place->fd);
        close_and_forget(&place->inotify);
}

static void scan_clearp(struct scan *scan)
{
        scan_clear(scan);
}

static uint64_t to_micro(double cpus)
{
        if (!(cpus > 0))
                return 0;
        return cpus < 1e12 ? (uint64_t)(cpus * 1e6 + 0.5) : UINT64_MAX;
}

static int copy_word(char *to, size_t size, const char *word, const char *what, struct error *err)
{
        if (!word || word[0] == '\0' || strlen(word) >= size)
                return error_set(err, ERROR_INTERNAL, EINVAL, NULL,
                    "%s \"%s\" must have 1 to %zu characters", what, word ? word : "", size - 1);
        memcpy(to, word, strlen(word) + 1);
        return 0;
}

static int to_data(
    const struct ledger_claim *claim, uint64_t now, struct record_data *ret, struct error *err)
{
        struct record_data data = {
            .pid = (uint64_t)getpid(),
            .micro_cpus = to_micro(claim->cpus),
            .memory = claim->memory,
            .ticket = UINT64_MAX, /* behind everyone, as long as it has none */
            .level_concurrency = claim->level_concurrency,
            .share_micro_cpus = to_micro(claim->host_cpu_share),
            .share_memory = claim->host_mem_share,
        };
        uint64_t patience = claim->queue_timeout > 0 ? UINT64_MAX - now : 0;
        if (claim->queue_timeout < (double)patience / 1e9)
                patience = claim->queue_timeout > 0 ? (uint64_t)(claim->queue_timeout * 1e9) : 0;
        data.deadline = now + patience;
        int status =
            copy_word(data.trust_level, sizeof data.trust_level, claim->trust_level, "the trust level", err);
        if (status == 0)
                status = copy_word(data.backend, sizeof data.backend, claim->backend, "the backend", err);
        if (status == 0)
                *ret = data;
        return status;
}

/* What is full, for a person: how much of what is in use, and which key says so. */
static void describe(
    const struct record_data *claim, const struct decision *decision, char *text, size_t size)
{
        char used[FORMAT_SIZE_MAX], share[FORMAT_SIZE_MAX], wanted[FORMAT_SIZE_MAX];
        switch (decision->shortage) {
        case SHORT_OF_LEVEL:
                (void)snprintf(text, size,
                    "trust level \"%s\" has %" PRIu64 " runs of at most %" PRIu64
                    " at once (max_concurrent)",
                    claim->trust_level, decision->level_runs, claim->level_concurrency);
                break;
        case SHORT_OF_MEMORY:
                (void)snprintf(text, size,
                    "memory for sandboxes is full (allocation.mem_share): %s of %s in use by %" PRIu64
                    " runs, and this run needs %s (mem_limit)",
                    format_size(decision->memory, used), format_size(claim->share_memory, share),
                    decision->runs, format_size(claim->memory, wanted));
                break;
        default:
                (void)snprintf(text, size,
                    "CPUs for sandboxes are full (allocation.cpu_share): %g of %g in use by %" PRIu64
                    " runs, and this run needs %g (cpu_count)",
                    (double)decision->micro_cpus / 1e6, (double)claim->share_micro_cpus / 1e6,
                    decision->runs, (double)claim->micro_cpus / 1e6);
                break;
        }
}

static const char *const shortage_hints[SHORTAGE_COUNT_] = {
    [SHORT_OF_CPU] = "try again later, ask for less cpu_count, or raise allocation.cpu_share in the policy",
    [SHORT_OF_MEMORY] =
        "try again later, ask for less mem_limit, or raise allocation.mem_share in the policy",
    [SHORT_OF_LEVEL] = "try again later, or raise max_concurrent of this trust level in the policy",
};

static int set_busy(
    const struct record_data *claim, const struct decision *decision, const char *why, struct error *err)
{
        char full[400], ahead[64] = "";
        describe(claim, decision, full, sizeof full);
        if (decision->ahead > 0)
                (void)snprintf(
                    ahead, sizeof ahead, ", with %" PRIu64 " runs waiting ahead", decision->ahead);
        (void)error_set(
            err, ERROR_BUSY, 0, shortage_hints[decision->shortage], "%s%s; %s", full, ahead, why);
        return -EBUSY;
}

/*
 * The smallest slot that no record has, dead or alive: what used it may not be gone while its record is
 * there. Of n records, one of the first n + 1 slots is free.
 */
static int find_slot(const struct scan *scan, uint64_t *ret, struct error *err)
{
        size_t count = scan->record_count + 1;
        _cleanup_(freep) bool *used = calloc(count, sizeof *used);
        if (!used)
                return error_oom(err);
        for (size_t i = 0; i < scan->record_count; i++)
                if (!scan->records[i].claimed && scan->records[i].data.slot < count)
                        used[scan->records[i].data.slot] = true;
        uint64_t slot = 0;
        while (used[slot])
                slot++;
        if (slot < RECORD_SLOTS) {
                *ret = slot;
                return 0;
        }
        (void)error_set(err, ERROR_BUSY, 0, "wait for other runs to end, or run `mai-sandbox prune`",
            "all %u slots for containers are in use", RECORD_SLOTS);
        return -EBUSY;
}

static int make_id(char ret_id[LEDGER_ID_SIZE], struct error *err)
{
        static const char digits[] = "0123456789abcdef";
        uint8_t bytes[(LEDGER_ID_SIZE - 1) / 2];
        ssize_t n;
        do {
                n = getrandom(bytes, sizeof bytes, 0);
        } while (n < 0 && errno == EINTR);
        if (n != (ssize_t)sizeof bytes)
                return error_set(err, ERROR_INTERNAL, n < 0 ? errno : EIO, NULL, "cannot get random bytes");
        for (size_t i = 0; i < sizeof bytes; i++) {
                ret_id[2 * i] = digits[bytes[i] >> 4];
                ret_id[2 * i + 1] = digits[bytes[i] & 15];
        }
        ret_id[LEDGER_ID_SIZE - 1] = '\0';
        return 0;
}

/* Makes the record of an admitted run. `lock` is held. */
static int admit(struct ledger *ledger, const struct scan *scan, const struct record_data *claim,
    struct ledger_entry **ret, struct error *err)
{
        _cleanup_(freep) struct ledger_entry *entry = malloc(sizeof *entry);
        if (!entry)
                return error_oom(err);
        *entry = (struct ledger_entry){.ledger = ledger, .fd = -1, .data = *claim};
        int status = find_slot(scan, &entry->data.slot, err);
        if (status == 0)
                status = make_id(entry->data.id, err);
        if (status < 0)
                return status;
        memcpy(entry->data.boot_id, ledger_boot_id(ledger), sizeof entry->data.boot_id);
        clock_wall_rfc3339(entry->data.started_at);
        entry->fd = ledger_write_file(ledger, RECORD_CONTAINER, &entry->data, entry->name, err);
        if (entry->fd < 0)
                return entry->fd;
        *ret = TAKE_PTR(entry);
        return 0;
}

/* Joins the queue at its end, or says why not. `lock` is held. */
static int enqueue(const struct ledger_claim *claim, const struct scan *scan,
    const struct decision *decision, struct record_data *data, uint64_t now, struct place *place,
    struct error *err)
{
        if (!claim->queue_when_full)
                return set_busy(data, decision, "the policy says to reject runs then", err);
        uint64_t waiting = 0;
        for (size_t i = 0; i < scan->waiter_count; i++)
                waiting += scan->waiters[i].deadline > now;
        if (waiting >= claim->queue_length) {
                char why[128];
                (void)snprintf(why, sizeof why,
                    "the queue is full too: %" PRIu64 " of at most %" PRIu64
                    " waiting (allocation.queue_length)",
                    waiting, claim->queue_length);
                return set_busy(data, decision, why, err);
        }
        data->ticket = scan->waiter_count > 0 ? scan->waiters[scan->waiter_count - 1].ticket + 1 : 1;
        int fd = ledger_write_file(place->ledger, RECORD_WAITING, data, place->name, err);
        if (fd < 0)
                return fd;
        place->fd = fd;
        /* Before `lock` is let go: no removal is missed. */
        place->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (place->inotify >= 0 &&
            inotify_add_watch(place->inotify, place->ledger->path, IN_DELETE | IN_ONLYDIR) < 0)
                close_and_forget(&place->inotify);
        return 0;
}

static int set_cancelled(struct error *err)
{
        (void)error_set(err, ERROR_CANCELLED, 0, NULL, "cancelled while waiting for a share of the host");
        return -ECANCELED;
}

/* Until something was removed, or it is time to look again. */
static int wait_for_change(const struct place *place, int cancel_fd, uint64_t deadline, struct error *err)
{
        uint64_t now = clock_now();
        uint64_t left = deadline > now ? (deadline - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC : 0;
        uint64_t look = place->inotify >= 0 ? LOOK_INTERVAL_MSEC : LOOK_INTERVAL_BLIND_MSEC;
        struct pollfd pollfds[2] = {
            {.fd = place->inotify, .events = POLLIN}, {.fd = cancel_fd, .events = POLLIN}};
        if (poll(pollfds, ARRAY_SIZE(pollfds), (int)MIN(left, look)) < 0 && errno != EINTR)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "cannot wait for a share of the host");
        if (ledger_cancelled(cancel_fd))
                return set_cancelled(err);
        char events[4096];
        while (place->inotify >= 0 && read(place->inotify, events, sizeof events) > 0)
                ; /* what was removed does not matter */
        return 0;
}

/* One look at the directory: *ret is set when the run was admitted; in the queue otherwise. */
static int try_once(const struct ledger_claim *claim, struct record_data *data, int cancel_fd,
    struct place *place, struct ledger_entry **ret, struct decision *ret_decision, struct error *err)
{
        _cleanup_(closep) int lock = ledger_lock(place->ledger, cancel_fd, err);
        if (lock < 0)
                return lock;
        _cleanup_(scan_clearp) struct scan scan;
        int status = scan_directory(place->ledger, &scan, err);
        if (status < 0)
                return status;
        uint64_t now = clock_now();
        status = admission_decide(&scan, data, now, ret_decision, err);
        if (status < 0)
                return status;
        if (ret_decision->shortage != SHORT_OF_NOTHING)
                return place->fd >= 0 ? 0 : enqueue(claim, &scan, ret_decision, data, now, place, err);
        status = admit(place->ledger, &scan, data, ret, err);
        place_leave(place); /* still under `lock`: the run is never seen twice, nor not at all */
        return status;
}

int ledger_claim(struct ledger *ledger, const struct ledger_claim *claim, int cancel_fd,
    struct ledger_entry **ret, struct error *err)
{
        uint64_t begin = clock_now();
        struct record_data data;
        int status = to_data(claim, begin, &data, err);
        if (status < 0)
                return status;
        _cleanup_(place_leave) struct place place = {.ledger = ledger, .fd = -1, .inotify = -1};
        struct ledger_entry *entry = NULL;
        struct decision decision;
        bool waited = false;
        for (;;) {
                status = try_once(claim, &data, cancel_fd, &place, &entry, &decision, err);
                if (status < 0)
                        return status;
                if (entry)
                        break;
                waited = true;
                if (clock_now() >= data.deadline) {
                        char why[96];
                        (void)snprintf(why, sizeof why,
                            "waited %g seconds in the queue (allocation.queue_timeout)",
                            claim->queue_timeout);
                        return set_busy(&data, &decision, why, err);
                }
                status = wait_for_change(&place, cancel_fd, data.deadline, err);
                if (status < 0)
                        return status;
        }
        entry->waited = waited ? nsec_to_sec(clock_now() - begin) : 0;
        *ret = entry;
        return 0;
}
