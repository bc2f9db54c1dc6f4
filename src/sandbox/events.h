/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a result: what was refused or noticed without ending the run. Bounded: events of one kind
 * with one detail are one entry with a count, and when RUN_EVENTS_MAX entries are full, the last counts
 * those left out.
 */
#pragma once

#include "sandbox/result.h"

struct event_note {
        const char *kind;       /* static */
        const char *detail_key; /* static, or NULL */
        const char *detail;     /* any bytes; cut to what an entry holds */
        size_t detail_size;
        const char *reason; /* a word, copied; or NULL */
        uint64_t count;
        bool has_bytes;
        uint64_t bytes; /* to be added */
        bool so_far;    /* `count` is the total so far, not what is to be added */
};

/*
 * Adds it to the result. *ret_news is the entry if a listener should hear of it: the first time, and each
 * time that the count has doubled since; else NULL. -ENOMEM.
 */
int events_note(
    struct result *result, double t, const struct event_note *note, const struct run_event **ret_news);

/* All counts of one kind together. */
uint64_t events_total(const struct result *result, const char *kind);
