/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that no ordinary program makes wait for an answer from here: it is always EPERM, and they are
 * counted. The kernel's notification tells the number; arguments are not looked at, so there is nothing to
 * race. The one call that is done for the caller instead is sched_setaffinity (affinity.h).
 */
#pragma once

#include "protocol/launcher.h"

/* Distinct calls told apart; what comes on top is counted under the last name. */
#define DENIED_NAMES_MAX 32

/* Affinity calls done for a container. Each costs the host time that no limit of the container counts. */
#define BROKERED_CALLS_MAX 10000U

struct denied {
        int listener;                      /* -1: none */
        uint64_t cpus[LAUNCHER_CPU_WORDS]; /* that the container may use */
        struct {
                const char *name; /* static */
                uint64_t count;
        } calls[DENIED_NAMES_MAX];
        size_t call_count;
        unsigned brokered_count;
};
#define DENIED_INIT                                                                                         \
        {                                                                                                   \
                .listener = -1                                                                              \
        }

/*
 * Answers one waiting call. Returns the index in `calls` of what it was, or -errno (-EAGAIN: none waits, or
 * it was not one to count).
 */
int denied_answer(struct denied *denied);
