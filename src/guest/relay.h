/* SPDX-License-Identifier: Apache-2.0 */
/* The init's extension for containers that somebody else builds: streams, samples and evidence in frames. */
#pragma once

#include "guest/init.h"
#include "guest/sample.h"
#include "guest/streams.h"

struct relay {
        struct queue *queue;
        struct streams streams;
        struct sampler sampler;
        const char *const *writable;
        uint64_t period;      /* nanoseconds between samples; 0: none */
        uint64_t next_sample; /* 0: not running */
        int announced; /* where the program's process says that it is at the gate; -1: has, or not yet */
        int landlock_abi;
        bool no_ambient;
        struct init_extension extension;
};

/* 0 or -errno. `writable` must outlive it. */
int relay_init(struct relay *relay, struct queue *queue, const struct guest_configure *configure,
    const char *const *writable);
