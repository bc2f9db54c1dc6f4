/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ids of the host a container gets, and how the launcher comes to the privileges that making one
 * takes.
 *
 * As root of the machine it has them, and takes the id that it is told. As an ordinary user it makes a user
 * namespace of its own, in which it is root: with the user's range of subordinate ids where newuidmap and
 * newgidmap grant one, else with the user's own id alone. The same rules then hold as for somebody who is
 * root of a user namespace that another made (an unprivileged container): a container gets an id of the
 * largest range that is mapped.
 */
#pragma once

#include "protocol/failure.h"
#include "protocol/launcher.h"

/* Ids of the launcher's own user namespace: `count` of them from `first`. */
struct id_range {
        uint32_t first, count;
};

struct ids {
        bool whole_host; /* every id of the host is ours to give */
        bool own_id;     /* id 0 here is an ordinary user's own on the host */
        struct id_range uids, gids;
        char problem[128]; /* why there is no range */
};

/*
 * Makes this process root of a user namespace, if it is not root already: it comes back from a fresh start
 * of this same program then, with `again` set. That start is not for show: the kernel lets the user look at
 * processes (what is enforced on them) only if their memory was set up inside of the user's own namespace.
 * `note` is the word handed to that start, or NULL; `word` another argument that it gets again, or NULL.
 */
int ids_become_root(const char *note, const char *word, struct ids *ret, struct setup_failure *failure);

/*
 * The ids of our namespace that the container of this slot gets. ENFORCE_UID goes into *degraded when it
 * must be the caller's own, which needs to be allowed by name.
 */
int ids_choose(const struct ids *ids, const struct launcher_create *create, uint32_t *ret_uid,
    uint32_t *ret_gid, uint32_t *degraded, struct setup_failure *failure);
