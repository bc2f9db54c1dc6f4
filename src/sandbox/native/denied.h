/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that no ordinary program makes wait for an answer from here: it is always EPERM, and they are
 * counted. The kernel's notification tells the number; arguments are not looked at, so there is nothing to
 * race.
 */
#pragma once

#include "util/common.h"

/* Distinct calls told apart; what comes on top is counted under the last name. */
#define DENIED_NAMES_MAX 32

struct denied {
        int listener; /* -1: none */
        struct {
                const char *name; /* static */
                uint64_t count;
        } calls[DENIED_NAMES_MAX];
        size_t call_count;
};
#define DENIED_INIT                                                                                         \
        {                                                                                                   \
                .listener = -1                                                                              \
        }

/* Answers one waiting call. Returns the index in `calls` of what it was, or -errno (-EAGAIN: none waits). */
int denied_answer(struct denied *denied);
