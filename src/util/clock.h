/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time, in nanoseconds. The monotonic clock is used for
 * every limit, so a wall clock that jumps changes nothing.
 */
#pragma once

#include "util/common.h"

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_now(void);

/* Seconds as a double, for results. */
static inline double nsec_to_sec(uint64_t nsec)
{
        return (double)nsec / 1e9;
}

/* Writes the wall-clock time as RFC 3339 with microseconds in UTC, e.g. 2024-05-06T07:08:09.123456Z. */
#define CLOCK_RFC3339_SIZE 32
void clock_wall_rfc3339(char buffer[CLOCK_RFC3339_SIZE]);

/* The same for a given time since 1970, to the end of 9999. */
void clock_format_rfc3339(uint64_t seconds, unsigned nsec, char buffer[CLOCK_RFC3339_SIZE]);
