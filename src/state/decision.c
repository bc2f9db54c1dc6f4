/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may start. First come, first served: a run that lacks CPUs or memory holds up everyone behind it, so
 * that a large one gets its turn. One that only waits for another of its own trust level holds up nobody.
 */
#include "state/ledger_internal.h"

static uint64_t add(uint64_t a, uint64_t b)
{
        return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* What lives, as this claim sees it. */
static void count(const struct scan *scan, const struct record_data *claim, struct decision *ret)
{
        *ret = (struct decision){};
        for (size_t i = 0; i < scan->record_count; i++) {
                const struct scan_record *record = &scan->records[i];
                if (!record->live)
                        continue;
                ret->runs++;
                ret->micro_cpus = add(ret->micro_cpus, record->data.micro_cpus);
                ret->memory = add(ret->memory, record->data.memory);
                ret->level_runs += strcmp(record->data.trust_level, claim->trust_level) == 0;
        }
}

static enum shortage find_shortage(const struct record_data *claim, const struct decision *used)
{
        if (used->level_runs >= MAX(claim->level_concurrency, (uint64_t)1))
                return SHORT_OF_LEVEL;
        if (used->runs == 0)
                return SHORT_OF_NOTHING; /* alone, a run may be larger than the share: it would never start
                                            else */
        if (add(used->micro_cpus, claim->micro_cpus) > claim->share_micro_cpus)
                return SHORT_OF_CPU;
        if (add(used->memory, claim->memory) > claim->share_memory)
                return SHORT_OF_MEMORY;
        return SHORT_OF_NOTHING;
}

int admission_decide(struct scan *scan, const struct record_data *claim, uint64_t now, struct decision *ret,
    struct error *err)
{
        struct decision used;
        uint64_t ahead = 0;
        enum shortage before = SHORT_OF_NOTHING; /* of somebody ahead */
        for (size_t i = 0; i < scan->waiter_count && scan->waiters[i].ticket < claim->ticket; i++) {
                const struct record_data *waiter = &scan->waiters[i];
                if (waiter->deadline <= now)
                        continue;
                ahead++;
                if (before != SHORT_OF_NOTHING)
                        continue; /* only counting now */
                count(scan, waiter, &used);
                enum shortage shortage = find_shortage(waiter, &used);
                if (shortage == SHORT_OF_NOTHING) {
                        /* It is about to start, in whatever order the processes wake up. */
                        struct scan_record *place = scan_add_record(scan);
                        if (!place)
                                return error_oom(err);
                        place->data = *waiter;
                        place->live = true;
                        place->claimed = true;
                } else if (shortage != SHORT_OF_LEVEL) {
                        before = shortage;
                }
        }
        count(scan, claim, &used);
        used.ahead = ahead;
        used.shortage = find_shortage(claim, &used);
        if (used.shortage == SHORT_OF_NOTHING)
                used.shortage = before;
        *ret = used;
        return 0;
}
