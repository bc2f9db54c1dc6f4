/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates, records and removes containers, whichever backend makes them: claims a share of the host in the
 * ledger before anything is made, lets go of it when everything is gone, and cleans up after dead
 * supervisors.
 */
#pragma once

#include "sandbox/backend.h"
#include "state/ledger.h"

struct container_manager;

struct managed_container {
        const struct container_ops *ops;
        struct container *container;
        struct ledger_entry *entry; /* of the container */
        /* Where it had been made ahead of need: CREATED was told; the run's own share; what it was made by.
         */
        bool was_ready;
        struct ledger_entry *share;
        struct container_spec *kind;
};

/*
 * Opens the native backend ahead of need. That it can't be opened, or the ledger's directory can't be used,
 * is told by the first create() or prune() that needs them.
 */
int container_manager_open(struct container_manager **ret, struct error *err);
struct container_manager *container_manager_close(struct container_manager *manager);

/*
 * Waits for admission, then starts to create the container. The spec must outlive it. Dead containers found
 * on the way are removed first.
 */
int container_manager_create(struct container_manager *manager, const struct container_spec *spec,
    int cancel_fd, struct managed_container *ret, double *ret_waited, struct error *err);

/* How many containers wait that were made ahead of need (docker.ready). */
unsigned container_manager_ready(struct container_manager *manager);

/* After DESTROYED (complete) or a failure: forgets it, and frees the container. */
void container_manager_release(
    struct container_manager *manager, struct managed_container *managed, bool complete);

/*
 * Removes what dead supervisors left. *ret_removed counts what was removed also when something else was
 * kept, which makes this fail with the first reason.
 */
int container_manager_prune(struct container_manager *manager, unsigned *ret_removed, struct error *err);
