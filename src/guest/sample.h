/* SPDX-License-Identifier: Apache-2.0 */
/* What the container uses now, measured from inside: its own cgroup where that is visible, else /proc. */
#pragma once

#include "guest/cgroup_view.h"

struct sampler {
        struct cgroup_view cgroup;
        const char *const *writable;     /* directories, NULL-terminated */
        uint64_t memory_peak, pids_peak; /* seen so far */
        /* What the kernel remembered when we came: the peak of whoever made the container, until there is a
         * higher one. */
        uint64_t memory_peak_before, pids_peak_before;
        struct guest_counts counts; /* told last */
};

void sampler_open(struct sampler *sampler, const char *const *writable);
void sampler_read(struct sampler *sampler, struct guest_sample *ret);

/* True, and *ret filled in, when a count has changed since it was true last. */
bool sampler_counts(struct sampler *sampler, struct guest_counts *ret);
