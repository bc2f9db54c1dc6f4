/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cli/commands.h"
#include "cli/escape.h"
#include "cli/options.h"
#include "cli/status_line.h"
#include "cli/suggest.h"
#include "util/fd.h"

#include <fcntl.h>

struct parsed {
        struct option_list list;
        struct error err;
        int r;
};

static struct parsed parse(const char *const *words)
{
        struct parsed parsed = {};
        int n = 0;
        while (words[n])
                n++;
        parsed.r = options_parse("run", FOR_RUN, n, (char *const *)words, &parsed.list, &parsed.err);
        return parsed;
}

static void forget(struct parsed *parsed)
{
        option_list_clear(&parsed->list);
        error_clear(&parsed->err);
}

/* In a table: the words, the rest of the array NULL. */
#define LIST(...)                                                                                           \
        {                                                                                                   \
                __VA_ARGS__                                                                                 \
        }

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void options_end_at_the_program(void **state)
{
        static const struct {
                const char *words[12];
                int operands;
                size_t options;
        } cases[] = {
            {LIST("a.py", "--json"), 0, 0},
            {LIST("--json", "a.py", "--timeout", "x"), 1, 1},
            {LIST("--timeout", "3", "a.py"), 2, 1},
            {LIST("--timeout=3", "-", "--json"), 1, 1},
            {LIST("--json", "--", "--events"), 2, 1},
            {LIST("--env", "A=B=C", "--env=X=", "a.py"), 3, 2},
            {LIST("--stdin", "-", "a.py"), 2, 1},
            {LIST("--json"), 1, 1},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct parsed parsed = parse(cases[i].words);
                assert_int_equal(parsed.r, 0);
                assert_int_equal(parsed.list.operands, cases[i].operands);
                assert_int_equal(parsed.list.count, cases[i].options);
                forget(&parsed);
        }
        struct parsed parsed = parse(WORDS("--memory", "1g", "--trust=a", "--env=X=", "--trust", "b", "x"));
        assert_int_equal(parsed.r, 0);
        assert_string_equal(option_list_value(&parsed.list, OPTION_TRUST), "b");
        assert_string_equal(option_list_value(&parsed.list, OPTION_ENV), "X=");
        assert_string_equal(parsed.list.uses[0].spec->setting, "mem_limit");
        assert_null(option_list_value(&parsed.list, OPTION_JSON));
        forget(&parsed);
}

static void faults_are_named(void **state)
{
        static const struct {
                const char *words[12];
                const char *message;
        } cases[] = {
            {LIST("--timeoutt", "3"), "--timeoutt: unknown option; did you mean --timeout?"},
            {LIST("--timeoutt=3"), "--timeoutt: unknown option; did you mean --timeout?"},
            {LIST("--jsno"), "--jsno: unknown option; did you mean --json?"},
            {LIST("--qqqqqqq"), "--qqqqqqq: unknown option"},
            {LIST("--requirement", "numpy"), "--requirement: unknown option"},
            {LIST("-x"), "-x: unknown option"},
            {LIST("--tim", "3"), "--tim: unknown option"},
            {LIST("--timeout"), "--timeout: needs a value: --timeout SECONDS"},
            {LIST("--json=yes"), "--json: takes no value"},
            {LIST("--timeout", "-5"),
                "--timeout: cannot read '-5'; expected seconds above zero, e.g. 10 or 0.5"},
            {LIST("--timeout="), "--timeout: cannot read ''; expected seconds above zero, e.g. 10 or 0.5"},
            {LIST("--pids", "1.5"),
                "--pids: cannot read '1.5'; expected a whole number above zero, e.g. 64"},
            {LIST("--disk", "10%"),
                "--disk: cannot read '10%'; expected bytes above zero, e.g. 1048576, 512k, 64m or 1g"},
            {LIST("--memory", "0"),
                "--memory: cannot read '0'; expected bytes above zero, e.g. 1048576, 512k, 64m or "
                "1g, or 10% of the host"},
            {LIST("--trust", ""), "--trust: cannot read ''; expected a value that is not empty"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct parsed parsed = parse(cases[i].words);
                assert_true(parsed.r < 0);
                assert_int_equal(parsed.err.code, ERROR_USAGE);
                assert_string_equal(parsed.err.message, cases[i].message);
                assert_string_equal(parsed.err.hint, "see mai-sandbox run --help");
                forget(&parsed);
        }
}

static void good_values(void **state)
{
        static const struct {
                enum option_value kind;
                const char *value;
                bool good;
        } cases[] = {
            {VALUE_SECONDS, "0.5", true},
            {VALUE_SECONDS, "0", false},
            {VALUE_SECONDS, "1e3", false},
            {VALUE_SECONDS, "nan", false},
            {VALUE_SECONDS, "10s", false},
            {VALUE_CPUS, "1.5", true},
            {VALUE_CPUS, "-1", false},
            {VALUE_COUNT, "64", true},
            {VALUE_COUNT, "0", false},
            {VALUE_COUNT, "99999999999999999999", false},
            {VALUE_SIZE, "64m", true},
            {VALUE_SIZE, "64x", false},
            {VALUE_SIZE, "1.5g", false},
            {VALUE_SIZE_OR_SHARE, "10%", true},
            {VALUE_SIZE_OR_SHARE, "101%", false},
            {VALUE_SIZE_OR_SHARE, "1g", true},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *expected = NULL;
                assert_int_equal(
                    option_value_is_valid(cases[i].kind, cases[i].value, &expected), cases[i].good);
                assert_non_null(expected);
        }
}

static void options_belong_to_commands(void **state)
{
        struct option_list list = {};
        _cleanup_(error_clear) struct error err = {};
        const char *const words[] = {"--timeout", "3"};
        assert_true(options_parse("policy show", FOR_POLICY_SHOW, 2, (char *const *)words, &list, &err) < 0);
        assert_string_equal(err.message, "--timeout: unknown option");
        assert_string_equal(err.hint, "see mai-sandbox policy show --help");
}

/* docs/CLI.md has a row for every option, in the words of the table, and none for options that do not exist.
 */
static void documentation_matches_the_table(void **state)
{
        _cleanup_(closep) int fd = open(MAI_SOURCE_ROOT "/docs/CLI.md", O_RDONLY | O_CLOEXEC);
        _cleanup_(freep) char *text = NULL;
        size_t size;
        assert_true(fd >= 0);
        assert_int_equal(fd_read_whole(fd, 1U << 20, &text, &size), 0);
        for (size_t i = 0; i < cli_option_count; i++) {
                const struct option_spec *option = &cli_options[i];
                char row[256];
                (void)snprintf(row, sizeof row, "\n| `%s%s%s` | %s |\n", option->name,
                    option->placeholder ? " " : "", option->placeholder ? option->placeholder : "",
                    option->help);
                if (!strstr(text, row))
                        fail_msg("docs/CLI.md lacks the row: %s", row);
        }
        size_t rows = 0;
        for (const char *at = text; (at = strstr(at, "\n| `--")); at++)
                rows++;
        assert_int_equal(rows, cli_option_count);
}

static void near_words(void **state)
{
        static const char *const known[] = {"run", "exec", "policy", "prune", "version", "help", NULL};
        static const struct {
                const char *word;
                const char *nearest;
        } cases[] = {{"rum", "run"}, {"rnu", "run"}, {"polcy", "policy"}, {"verison", "version"},
            {"xyzzy", NULL}, {"", NULL}, {"a-word-that-is-much-longer-than-any-known-word", NULL}};
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *found = suggest(cases[i].word, strlen(cases[i].word), known);
                if (cases[i].nearest)
                        assert_string_equal(found, cases[i].nearest);
                else
                        assert_null(found);
        }
}

static void escapes(void **state)
{
        static const struct {
                const char *text;
                size_t size; /* 0: strlen */
                const char *shown;
        } cases[] = {
            {"plain text, C:\\dir", 0, "plain text, C:\\dir"},
            {"", 0, ""},
            {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8d", 0, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8d"},
            {"a\nb\tc\rd", 0, "a\\nb\\tc\\rd"},
            {"\033[31mred", 0, "\\x1b[31mred"},
            {"a\0b", 3, "a\\x00b"},
            {"\x7f", 0, "\\x7f"},
            {"\xc2\x9b"
             "1m",
                0, "\\u009b1m"}, /* C1: CSI */
            {"\xe2\x80\xae"
             "x",
                0, "\\u202ex"}, /* right-to-left override */
            {"\xe2\x81\xa6"
             "x",
                0, "\\u2066x"},                     /* isolate */
            {"\xe2\x80\xa8", 0, "\\u2028"},         /* line separator */
            {"\xf3\xa0\x80\xa1", 0, "\\U000e0021"}, /* tag */
            {"\xff"
             "a",
                0, "\\xffa"},
            {"\xc0\x8a", 0, "\\xc0\\x8a"},                   /* overlong newline */
            {"\xe0\x80\x9b", 0, "\\xe0\\x80\\x9b"},          /* overlong escape */
            {"\xed\xa0\x80", 0, "\\xed\\xa0\\x80"},          /* surrogate */
            {"\xf4\x90\x80\x80", 0, "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF */
            {"ab\xe2\x82", 0, "ab\\xe2\\x82"},               /* cut short */
            {"\x9b"
             "1m",
                0, "\\x9b1m"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(strbuf_clear) struct strbuf buf = STRBUF_INIT(1000);
                size_t size = cases[i].size ? cases[i].size : strlen(cases[i].text);
                /* An exact heap copy, so that a sanitizer sees a read past its end. */
                char *copy = malloc(size + 1);
                assert_non_null(copy);
                copy = realloc(copy, MAX(size, (size_t)1));
                memcpy(copy, cases[i].text, size);
                assert_int_equal(escape_append(&buf, copy, size), 0);
                free(copy);
                assert_string_equal(strbuf_text(&buf), cases[i].shown);
        }
        _cleanup_(strbuf_clear) struct strbuf small = STRBUF_INIT(5);
        assert_int_equal(escape_append(&small, "abc\n\n", 5), -E2BIG);
}

static void status_lines(void **state)
{
        const mai_sample sample = {.t = 3.21,
            .cpu_percent = 47.2,
            .memory = 32715571,
            .pids = 3,
            .timeout = 10,
            .mem_limit = 256U << 20,
            .pids_limit = 64};
        static const struct {
                unsigned width;
                const char *text;
        } cases[] = {
            {80, "[unknown] 3.2/10.0 s  cpu 47%  mem 31.2/256 MiB  procs 3/64"},
            {59, "[unknown] 3.2/10.0 s  cpu 47%  mem 31.2/256 MiB  procs 3/64"},
            {58, "[unknown] 3.2/10.0 s  cpu 47%  mem 31.2/256 MiB"},
            {30, "[unknown] 3.2/10.0 s  cpu 47%"},
            {12, "[unknown]"},
            {5, ""},
            {0, ""},
        };
        char buffer[640];
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                size_t n =
                    status_line_format(&sample, "unknown", cases[i].width, true, buffer, sizeof buffer);
                assert_string_equal(buffer, cases[i].text);
                assert_int_equal(n, strlen(cases[i].text));
        }
        mai_sample near = sample;
        near.t = 9;
        near.mem_limit = 0;
        (void)status_line_format(&near, NULL, 80, true, buffer, sizeof buffer);
        assert_string_equal(buffer, "\033[33m9.0/10.0 s\033[0m  cpu 47%  mem 31.2 MiB  procs 3/64");
        (void)status_line_format(&near, "x\033", 80, false, buffer, sizeof buffer);
        assert_string_equal(buffer, "[x\\x1b] 9.0/10.0 s  cpu 47%  mem 31.2 MiB  procs 3/64");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(options_end_at_the_program),
            cmocka_unit_test(faults_are_named),
            cmocka_unit_test(good_values),
            cmocka_unit_test(options_belong_to_commands),
            cmocka_unit_test(documentation_matches_the_table),
            cmocka_unit_test(near_words),
            cmocka_unit_test(escapes),
            cmocka_unit_test(status_lines),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
