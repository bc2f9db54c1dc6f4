/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The init's own cgroup, as far as its files are visible inside. Only a directory that is surely ours
 * counts: where the host's whole hierarchy is mounted, its root would be mistaken for the container.
 */
#pragma once

#include "protocol/guest.h"

enum cgroup_controller { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_CPUACCT, CGROUP_CONTROLLER_COUNT_ };

struct cgroup_view {
        int directories[CGROUP_CONTROLLER_COUNT_];           /* -1: not visible */
        enum guest_source sources[CGROUP_CONTROLLER_COUNT_]; /* V1, V2 or NONE */
};

void cgroup_view_open(struct cgroup_view *view);

/* The number behind `key` at the start of a line ("" for the file's only number); GUEST_NOT_MEASURED if the
 * file or the number is not there, or says "max". */
uint64_t cgroup_view_number(
    const struct cgroup_view *view, enum cgroup_controller controller, const char *file, const char *key);
