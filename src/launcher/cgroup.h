/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups: one child group per container in every hierarchy that we may write to, made next to where
 * we stand ourselves, so that limits on us hold for our containers too. v1 (a hierarchy per controller), v2,
 * and hybrid hosts (v1 controllers beside an empty v2 hierarchy, which is still good for cgroup.kill).
 *
 * Invariant: every limit is written, and read as accepted, before a process enters.
 */
#pragma once

#include "protocol/launcher.h"

/* The hierarchies of this host; found once. */
struct cgroup_host {
        int version;                    /* 1, 2, or 0: none usable */
        int parents[CONTROLLER_COUNT_]; /* directories to make children in; -1: not there. On v2 all are the
                                           same one */
        char paths[CONTROLLER_COUNT_][LAUNCHER_PATH_SIZE]; /* the same, relative to the hierarchy's root */
        uint32_t controllers;                              /* bits of those that are there */
        bool cpuacct_in_cpu;                               /* v1: both controllers on one hierarchy */
        char problem[160];                                 /* why version is 0 */
};

struct cgroup {
        char name[64];
        int version;
        uint32_t controllers;
        int directories[CONTROLLER_COUNT_]; /* -1: none. On v2 only CONTROLLER_UNIFIED is set */
        uint32_t degraded;                  /* bits of enum enforcement */
};
#define CGROUP_INIT                                                                                         \
        {                                                                                                   \
                .directories = { -1, -1, -1, -1, -1 }                                                       \
        }

/* Looks at /proc/self/cgroup and the mounts below /sys/fs/cgroup. Never fails: see version and problem. */
void cgroup_find_host(struct cgroup_host *ret);

/*
 * The group on the v2 hierarchy alone, so that clone3 can put
 * the child there. 0 or -errno; -ENOENT: no such hierarchy.
 */
int cgroup_make_unified(const struct cgroup_host *host, const struct launcher_create *create,
    struct cgroup *cgroup, struct setup_failure *failure);

/* Makes the remaining groups and writes all limits. */
int cgroup_make(const struct cgroup_host *host, const struct launcher_create *create, struct cgroup *cgroup,
    struct setup_failure *failure);

/* Puts a process into every group it is not in yet. */
int cgroup_attach(const struct cgroup *cgroup, pid_t pid, struct setup_failure *failure);

/*
 * Kills whatever is left in it, waits (bounded), and removes the
 * groups. *ret_killed counts. 0, or -errno and what is left.
 */
int cgroup_destroy(const struct cgroup_host *host, struct cgroup *cgroup, unsigned *ret_killed,
    char leftover[LAUNCHER_PATH_SIZE]);

/*
 * Removes the groups of a container whose supervisor died, wherever below the hierarchies they are (it may
 * have stood in another group than we do). 0 also if there are none.
 */
int cgroup_prune(
    const struct cgroup_host *host, const char *id, unsigned *ret_killed, char leftover[LAUNCHER_PATH_SIZE]);
