/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for the program's process while it waits at the gate, read back from the kernel by the init. */
#pragma once

#include "guest/cgroup_view.h"

#include <sys/types.h>

/* What the init knows of the time when it was not locked down yet. */
struct evidence_known {
        int landlock_abi;
        bool no_ambient; /* the kernel knows of no ambient capabilities */
};

/*
 * `writable` are the configured paths, NULL-terminated. What can't be read is marked as unknown, never as
 * safe: the supervisor decides.
 */
void evidence_read(pid_t pid, const struct evidence_known *known, const char *const *writable,
    const struct cgroup_view *cgroup, struct guest_evidence *ret);
