/* SPDX-License-Identifier: Apache-2.0 */
/* One native container: the namespaces and the init in them, made and ended by the launcher. */
#pragma once

#include "launcher/cgroup.h"
#include "launcher/ids.h"

struct host {
        struct cgroup_host cgroups;
        struct ids ids;
        int proc;   /* the host's /proc */
        bool image; /* of an image, and not of the host, is the tree that was prepared */
};

struct container {
        struct cgroup cgroup;
        int pidfd; /* of the init; -1: none */
        pid_t pid;
        uint32_t host_uid, host_gid; /* as our own user namespace has them */
        uint32_t degraded;           /* bits of enum enforcement */
};
#define CONTAINER_INIT                                                                                      \
        {                                                                                                   \
                .cgroup = CGROUP_INIT, .pidfd = -1                                                          \
        }

/*
 * Makes it as the message says; `guest` is the init's end of the guest channel, which the caller closes. On
 * failure everything made is removed again. Nothing of the program runs before the library opens the gate.
 */
int container_create(const struct host *host, const struct launcher_create *create, int guest,
    struct container *ret, struct setup_failure *failure);

/* Kills every process of it and removes what was made. Bounded in time. */
void container_destroy(const struct host *host, struct container *container, struct launcher_destroyed *ret);
