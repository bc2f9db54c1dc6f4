/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to look at a container's usage, and which looks to keep. No clock and no descriptors of its own: the
 * executor asks when to wake, and hands in each reading.
 *
 * Looks happen every monitoring interval, and sooner when the CPU time that is left could be used up before
 * then; only the former become samples. The result holds a bounded number of samples: when they are full,
 * every second one goes and from then on only every second new one is kept, so that they stay evenly spread.
 */
#pragma once

#include "sandbox/result.h"

struct monitor {
        uint64_t started, interval; /* nanoseconds, as all times here */
        uint64_t next_sample, next_check;
        uint64_t cpu_limit;
        unsigned parallel; /* CPUs that the program can use at once */
        uint64_t max_samples, stride, seen;
        uint64_t last_cpu, last_time; /* of the sample before, for the percentage */
};

void monitor_start(struct monitor *monitor, const struct container_spec *spec, uint64_t now);

/* When to look next. */
uint64_t monitor_next(const struct monitor *monitor);

/*
 * Takes a reading. Returns whether it is a sample, which is then in *ret_sample and, thinned, in the result;
 * *ret_cpu_percent is of one CPU, since the sample before. -ENOMEM when it could not be kept.
 */
int monitor_look(struct monitor *monitor, const struct usage *usage, uint64_t now, struct result *result,
    struct run_sample *ret_sample, double *ret_cpu_percent);
