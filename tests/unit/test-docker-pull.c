/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine says while it pulls, and what it is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sandbox/docker/json_lines.h"
#include "sandbox/docker/pull.h"

static void references(void **state)
{
        static const struct {
                const char *text, *name, *tag; /* name NULL: refused */
                bool by_digest;
        } cases[] = {
            {"debian", "debian", "latest", false},
            {"debian:12", "debian", "12", false},
            {"team/python:3.11-slim", "team/python", "3.11-slim", false},
            {"127.0.0.1:5000/python", "127.0.0.1:5000/python", "latest", false},
            {"127.0.0.1:5000/python:3", "127.0.0.1:5000/python", "3", false},
            {"r:1/p@sha256:ab", "r:1/p", "sha256:ab", true},
            {"r:1/p:3@sha256:ab", "r:1/p", "sha256:ab", true},
            {"", NULL, NULL, false},
            {":3", NULL, NULL, false},
            {"a:", NULL, NULL, false},
            {"a@", NULL, NULL, false},
            {"a@b@c", NULL, NULL, false},
            {"/a", NULL, NULL, false},
            {"a//b", NULL, NULL, false},
            {"../a", NULL, NULL, false},
            {"a b", NULL, NULL, false},
            {"a?fromSrc=x", NULL, NULL, false},
            {"a%2f", NULL, NULL, false},
            {"a\nb", NULL, NULL, false},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct image_reference reference = {};
                struct error err = {};
                int r = image_reference_parse(cases[i].text, &reference, &err);
                if (!cases[i].name) {
                        assert_true(r < 0);
                        assert_int_equal(err.code, ERROR_USAGE);
                        assert_non_null(err.hint);
                } else {
                        assert_int_equal(r, 0);
                        assert_string_equal(reference.name, cases[i].name);
                        assert_string_equal(reference.tag, cases[i].tag);
                        assert_int_equal(reference.by_digest, cases[i].by_digest);
                }
                error_clear(&err);
        }
        char longest[1000];
        memset(longest, 'a', sizeof longest);
        longest[sizeof longest - 1] = '\0';
        struct image_reference reference;
        assert_true(image_reference_parse(longest, &reference, NULL) < 0);
}

static const char reports[] =
    "{\"status\":\"Pulling from team/python\",\"id\":\"latest\"}\r\n"
    "{\"status\":\"Pulling fs layer\",\"progressDetail\":{},\"id\":\"aa\"}\r\n"
    "{\"status\":\"Pulling fs layer\",\"progressDetail\":{},\"id\":\"bb\"}\r\n"
    "\r\n"
    "{\"status\":\"Already exists\",\"progressDetail\":{},\"id\":\"aa\"}\r\n"
    "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":30,\"total\":100},\"id\":\"bb\"}\r\n"
    "{\"status\":\"Extracting\",\"progressDetail\":{\"current\":7,\"total\":100},\"id\":\"bb\"}\r\n";

/* Cut at every place, the sum is the same. */
static void reports_in_pieces(void **state)
{
        size_t whole = sizeof reports - 1;
        for (size_t cut = 0; cut <= whole; cut++) {
                struct json_lines lines = JSON_LINES_INIT;
                struct pull_state *pull = calloc(1, sizeof *pull);
                assert_non_null(pull);
                for (int part = 0; part < 2; part++) {
                        const char *data = part == 0 ? reports : reports + cut;
                        size_t size = part == 0 ? cut : whole - cut;
                        json_t *report;
                        while (json_lines_next(&lines, &data, &size, &report) > 0) {
                                pull_take_report(pull, report);
                                json_decref(report);
                        }
                        assert_int_equal(size, 0);
                }
                struct image_progress sum;
                pull_sum(pull, &sum);
                assert_int_equal(sum.parts, 2);
                assert_int_equal(sum.parts_done, 1);
                assert_int_equal(sum.bytes_done, 30);
                assert_int_equal(sum.bytes, 100);
                json_lines_clear(&lines);
                free(pull);
        }
}

static int first_line(const char *text, size_t size)
{
        struct json_lines lines = JSON_LINES_INIT;
        json_t *object = NULL;
        int r = json_lines_next(&lines, &text, &size, &object);
        json_decref(object);
        json_lines_clear(&lines);
        return r;
}

static void hostile_lines(void **state)
{
        assert_int_equal(first_line("[1]\n", 4), -EBADMSG);
        assert_int_equal(first_line("<html>\n", 7), -EBADMSG);
        assert_int_equal(first_line("{\"a\":1}", 7), 0); /* no end yet */
        char *large = malloc(JSON_LINE_MAX + 2);
        assert_non_null(large);
        memset(large, 'x', JSON_LINE_MAX + 2);
        assert_int_equal(first_line(large, JSON_LINE_MAX + 2), -E2BIG);
        free(large);
}

/* More layers than there is room for, ids that are none, numbers that can't be: nothing breaks. */
static void hostile_reports(void **state)
{
        struct pull_state *pull = calloc(1, sizeof *pull);
        assert_non_null(pull);
        for (int i = 0; i < 1000; i++) {
                json_t *report = json_pack("{s:s, s:o, s:{s:i, s:i}}", "status", "Downloading", "id",
                    json_sprintf("%d", i), "progressDetail", "current", -5, "total", i % 2 ? -1 : 10);
                pull_take_report(pull, report);
                json_decref(report);
        }
        static const char *const odd[] = {"{}", "{\"status\":1,\"id\":2}",
            "{\"status\":\"Downloading\",\"id\":\"x\"}",
            "{\"status\":\"Downloading\",\"id\":\"0123456789012345678901234567890123456789\"}"};
        for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
                json_t *report = json_loads(odd[i], 0, NULL);
                pull_take_report(pull, report);
                json_decref(report);
        }
        struct image_progress sum;
        pull_sum(pull, &sum);
        assert_int_equal(sum.parts, PULL_LAYERS_MAX);
        assert_int_equal(sum.bytes_done, 0);
        assert_int_equal(sum.bytes, 10 * PULL_LAYERS_MAX / 2);
        assert_int_equal(pull->error.code, ERROR_NONE);

        json_t *report = json_loads("{\"error\":\"no such \\u001b host\"}", 0, NULL);
        pull_take_report(pull, report);
        json_decref(report);
        assert_int_equal(pull->error.code, ERROR_IMAGE);
        error_clear(&pull->error);
        free(pull);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(references),
            cmocka_unit_test(reports_in_pieces),
            cmocka_unit_test(hostile_lines),
            cmocka_unit_test(hostile_reports),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
