/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched_setaffinity() on behalf of a program: within the CPUs that its container was given, as a cpuset
 * would have it.
 */
#pragma once

#include "util/common.h"

#include <linux/seccomp.h>

/*
 * Does what the waiting call asks for, for the calling thread or process alone. `listener` tells whether the
 * caller is still the one that asked. Returns 0, or the -errno that the caller is to see.
 */
int affinity_broker(int listener, const struct seccomp_notif *call, const uint64_t *cpus, size_t words);
