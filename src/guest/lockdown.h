/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes every power away from the calling process, once and for all, in the order in which it must happen.
 * The init does it to itself, and the program's process inherits it: there is no moment at which the program
 * could have more.
 */
#pragma once

#include "protocol/failure.h"

struct lockdown_config {
        uint32_t uid, gid;
        uint64_t open_files;
        /* What stands in for a cgroup that can't be had; 0: nothing needs to. */
        uint64_t processes;     /* of the container, the init included */
        uint64_t data_bytes;    /* of one process */
        uint64_t cpu_seconds;   /* of one process */
        uint64_t capabilities;  /* kept; 0 unless the policy says unsafe */
        bool seccomp;           /* false: unconfined (unsafe) */
        bool notify;            /* with a listener, which the supervisor gets */
        bool landlock_optional; /* degraded by name */
        bool groups_optional;
        const char *const *writable; /* directories that Landlock leaves writable; NULL-terminated */
};

struct lockdown_state {
        int listener;      /* seccomp notifications, or -1 */
        int landlock_abi;  /* 0: not in force */
        unsigned degraded; /* bits of enum enforcement (policy/spec.h) */
        bool no_ambient;   /* the kernel knows of no ambient capabilities */
};

int lockdown(
    const struct lockdown_config *config, struct lockdown_state *ret, struct setup_failure *failure);
