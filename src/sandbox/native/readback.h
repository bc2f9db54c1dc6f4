/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence about a native container: what the kernel says of the program's process, held at the gate. */
#pragma once

#include "sandbox/evidence.h"
#include "sandbox/native/meter.h"

#include <sys/types.h>

/* What can be read before the process exists: our own namespaces, the cgroup's limits. */
int readback_begin(struct evidence *evidence, const struct meter *meter, struct error *err);

/*
 * The rest, from /proc/PID. `cgroup_path` is where the
 * launcher says it put it; the kernel must say the same.
 */
int readback_process(struct evidence *evidence, pid_t pid, const struct meter *meter,
    const char *cgroup_path, struct error *err);
