/* SPDX-License-Identifier: Apache-2.0 */
#include "util/clock.h"

#include <time.h>

uint64_t clock_now(void)
{
        struct timespec ts;
        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

void clock_wall_rfc3339(char buffer[CLOCK_RFC3339_SIZE])
{
        struct timespec ts;
        struct tm tm;
        (void)clock_gettime(CLOCK_REALTIME, &ts);
        (void)gmtime_r(&ts.tv_sec, &tm);
        char stem[24];
        (void)strftime(stem, sizeof stem, "%Y-%m-%dT%H:%M:%S", &tm);
        (void)snprintf(buffer, CLOCK_RFC3339_SIZE, "%.19s.%06uZ", stem, (unsigned)(ts.tv_nsec / 1000) % 1000000U);
}
