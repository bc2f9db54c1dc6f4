/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers made ahead of need: for each kind (everything that a container is made of) that was asked for
 * lately, so many wait as the spec says. A thread of the pool's own makes them, one at a time, and looks
 * after them; a run takes one away, and gives none back: no container is used twice.
 *
 * Each has a record in the ledger like any other, so what a killed process leaves behind is found. The
 * record claims next to nothing of the host, since nothing runs in it; a run claims its share as ever.
 *
 * Functions may be called from any one thread at a time. Closing removes all that still wait.
 */
#pragma once

#include "sandbox/backend.h"
#include "state/ledger.h"

struct ready_pool;

struct ready_container {
        struct container *container; /* CREATED was told; nothing was executed */
        struct ledger_entry *entry;
        struct container_spec *spec; /* what it was made by; must outlive it. Free with ready_spec_free() */
};

/* Takes the ledger over, also on failure. The backend must outlive the pool. */
int ready_open(const struct container_ops *ops, struct backend *backend, struct ledger *ledger,
    struct ready_pool **ret, struct error *err);
struct ready_pool *ready_close(struct ready_pool *pool);

/*
 * From now on `spec->ready` containers of this kind wait. Fails quietly: then none do. A run that begins now
 * is not to be slowed by their making: it starts when ready_go_on() says that it is over, or in two seconds.
 */
void ready_want(struct ready_pool *pool, const struct container_spec *spec);

/* Takes one of this kind away, one that is ready if possible. False: there is none. */
bool ready_take(struct ready_pool *pool, const struct container_spec *spec, struct ready_container *ret);

void ready_go_on(struct ready_pool *pool);

struct container_spec *ready_spec_free(struct container_spec *spec);

/* How many of this kind (NULL: of any) wait and are ready. */
unsigned ready_count(struct ready_pool *pool, const struct container_spec *spec);
