/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for the program's process while it waits at the gate, read back from the kernel by the init. */
#pragma once

#include "guest/cgroup_view.h"

#include <sys/types.h>

/*
 * `writable` are the configured paths, NULL-terminated. What can't be read is marked as unknown, never as
 * safe: the supervisor decides.
 */
void evidence_read(pid_t pid, int landlock_abi, const char *const *writable,
    const struct cgroup_view *cgroup, struct guest_evidence *ret);
