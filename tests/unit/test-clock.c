/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "util/clock.h"

#include <time.h>

static void known_times(void **state)
{
        static const struct {
                uint64_t seconds;
                unsigned nsec;
                const char *text;
        } cases[] = {
            {0, 0, "1970-01-01T00:00:00.000000Z"},
            {951782399, 999999999, "2000-02-28T23:59:59.999999Z"},
            {951782400, 1000, "2000-02-29T00:00:00.000001Z"},
            {1714979289, 123456789, "2024-05-06T07:08:09.123456Z"},
            {4107542400, 0, "2100-03-01T00:00:00.000000Z"},
            {253402300799, 0, "9999-12-31T23:59:59.000000Z"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[CLOCK_RFC3339_SIZE];
                clock_format_rfc3339(cases[i].seconds, cases[i].nsec, text);
                assert_string_equal(text, cases[i].text);
        }
}

static void every_day_as_libc_says(void **state)
{
        for (uint64_t seconds = 43201; seconds < UINT64_C(8000000000); seconds += 86400 + 61) {
                char text[CLOCK_RFC3339_SIZE], expected[CLOCK_RFC3339_SIZE];
                time_t t = (time_t)seconds;
                struct tm tm;
                assert_non_null(gmtime_r(&t, &tm));
                assert_true(strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.000000Z", &tm) > 0);
                clock_format_rfc3339(seconds, 0, text);
                assert_string_equal(text, expected);
        }
}

static void the_present(void **state)
{
        char text[CLOCK_RFC3339_SIZE], expected[CLOCK_RFC3339_SIZE];
        time_t before = time(NULL);
        clock_wall_rfc3339(text);
        clock_format_rfc3339((uint64_t)before, 0, expected);
        assert_int_equal(strlen(text), 27);
        assert_true(strcmp(expected, text) <= 0);
        clock_format_rfc3339((uint64_t)before + 60, 0, expected);
        assert_true(strcmp(expected, text) > 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(known_times),
            cmocka_unit_test(every_day_as_libc_says),
            cmocka_unit_test(the_present),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
