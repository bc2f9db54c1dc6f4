/* SPDX-License-Identifier: Apache-2.0 */
#include "util/clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec read_clock(clockid_t clock)
{
        struct timespec ts = {};
#ifdef __GLIBC__
        (void)clock_gettime(clock, &ts);
#else
        /*
         * In the launcher and the init, which musl links and which look at the clock once or twice: not
         * through the vDSO. That is faster from the second use on only. The first maps its pages, which took
         * 0.9 ms where page faults are dear (a paravirtual machine).
         */
        (void)syscall(SYS_clock_gettime, clock, &ts);
#endif
        return ts;
}

uint64_t clock_now(void)
{
        struct timespec ts = read_clock(CLOCK_MONOTONIC);
        return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static bool is_leap_year(unsigned year)
{
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/*
 * By hand: gmtime_r() reads the time zone's file on its first call, although UTC needs none, and touches
 * enough fresh pages of libc to cost a tenth of a millisecond, which a short-lived process pays each time.
 */
void clock_format_rfc3339(uint64_t seconds, unsigned nsec, char buffer[CLOCK_RFC3339_SIZE])
{
        static const unsigned char month_days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        const uint64_t day_seconds = UINT64_C(24) * 60 * 60;
        uint64_t days = MIN(seconds / day_seconds, UINT64_C(2932896)); /* to the end of 9999 */
        unsigned rest = (unsigned)(seconds % day_seconds);
        unsigned year = 1970;
        for (unsigned length; days >= (length = is_leap_year(year) ? 366 : 365); year++)
                days -= length;
        unsigned month = 0;
        for (unsigned length; days >= (length = month_days[month] + (month == 1 && is_leap_year(year)));
             month++)
                days -= length;
        (void)snprintf(buffer, CLOCK_RFC3339_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", year % 10000,
            (month + 1) % 100, ((unsigned)days + 1) % 100, rest / 3600 % 100, rest / 60 % 60, rest % 60,
            nsec / 1000 % 1000000U);
}

void clock_wall_rfc3339(char buffer[CLOCK_RFC3339_SIZE])
{
        struct timespec ts = read_clock(CLOCK_REALTIME);
        clock_format_rfc3339(ts.tv_sec > 0 ? (uint64_t)ts.tv_sec : 0, (unsigned)ts.tv_nsec, buffer);
}
