/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "util/cgroup_table.h"
#include "util/error.h"
#include "util/parse.h"
#include "util/sha256.h"
#include "util/strbuf.h"
#include "util/word_distance.h"

static void sizes(void **state)
{
        static const struct {
                const char *text;
                bool good;
                uint64_t bytes;
        } cases[] = {
            {"0", true, 0},
            {"1", true, 1},
            {"1b", true, 1},
            {"1k", true, 1024},
            {"512m", true, 512U << 20},
            {"1g", true, 1U << 30},
            {"1G", true, 1U << 30},
            {"1gb", true, 1U << 30},
            {"1GiB", true, 1U << 30},
            {"16777215t", true, UINT64_C(16777215) << 40},
            {"16777216t", false, 0},
            {"", false, 0},
            {"g", false, 0},
            {"-1", false, 0},
            {"+1", false, 0},
            {" 1", false, 0},
            {"1 ", false, 0},
            {"1x", false, 0},
            {"1.5g", false, 0},
            {"1bb", false, 0},
            {"18446744073709551615", true, UINT64_MAX},
            {"18446744073709551616", false, 0},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                uint64_t bytes = 7;
                assert_int_equal(parse_size(cases[i].text, &bytes), cases[i].good);
                assert_int_equal(bytes, cases[i].good ? cases[i].bytes : 7);
        }
}

static void decimals(void **state)
{
        double value = -1;
        assert_true(parse_decimal("0.5", &value) && value == 0.5);
        assert_true(parse_decimal("120", &value) && value == 120);
        static const char *const bad[] = {
            "", ".", ".5", "1.", "1e3", "-1", "nan", "inf", "1.2.3", "0x10", "1234567890123456"};
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_false(parse_decimal(bad[i], &value));
        assert_true(parse_percent("10%", &value) && value == 0.1);
        assert_false(parse_percent("0%", &value));
        assert_false(parse_percent("101%", &value));
        assert_false(parse_percent("10", &value));
}

static void buffers_keep_their_limit(void **state)
{
        _cleanup_(strbuf_clear) struct strbuf buf = STRBUF_INIT(5);
        assert_int_equal(strbuf_append_text(&buf, "abc"), 0);
        assert_int_equal(strbuf_append_text(&buf, "def"), -E2BIG);
        assert_string_equal(strbuf_text(&buf), "abc");
        assert_int_equal(strbuf_appendf(&buf, "%d", 12), 0);
        assert_string_equal(strbuf_text(&buf), "abc12");
}

static void errors_wrap(void **state)
{
        _cleanup_(error_clear) struct error err = {};
        assert_int_equal(error_set(&err, ERROR_POLICY, ENOENT, "make it", "opening %s", "x"), -ENOENT);
        assert_int_equal(error_wrap(&err, "policy"), -ENOENT);
        assert_string_equal(err.message, "policy: opening x: No such file or directory");
        assert_string_equal(err.hint, "make it");
        assert_string_equal(error_code_name(err.code), "policy_invalid");
}

static void digests(void **state)
{
        char hex[SHA256_HEX_SIZE];
        sha256_hex("abc", 3, hex);
        assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void cgroup_paths(void **state)
{
        static const char table[] =
            "9:name=systemd:/init\n8:memory:/one\n7:cpu,cpuacct:/two:three\n0::/four";
        static const struct {
                const char *controller, *path;
        } cases[] = {{"memory", "/one"}, {"cpu", "/two:three"}, {"cpuacct", "/two:three"}, {"", "/four"}};
        char path[16];
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_int_equal(cgroup_table_path(table, cases[i].controller, path, sizeof path), 0);
                assert_string_equal(path, cases[i].path);
        }
        /* Half a name is no name, and what does not fit is not cut short. */
        assert_int_equal(cgroup_table_path(table, "mem", path, sizeof path), -ENOENT);
        assert_int_equal(cgroup_table_path(table, "pids", path, sizeof path), -ENOENT);
        assert_int_equal(cgroup_table_path("8:memory:/one\n", "", path, sizeof path), -ENOENT);
        assert_int_equal(cgroup_table_path("", "memory", path, sizeof path), -ENOENT);
        assert_int_equal(cgroup_table_path("garbage\n1:\n", "", path, sizeof path), -ENOENT);
        assert_int_equal(cgroup_table_path(table, "memory", path, 4), -ENAMETOOLONG);
        assert_string_equal(path, "/four");
        assert_int_equal(cgroup_table_path(table, "memory", path, 5), 0);
}

static void word_distances(void **state)
{
        static const struct {
                const char *a, *b;
                unsigned apart;
        } cases[] = {{"", "", 0}, {"timeout", "timeout", 0}, {"", "abc", 3}, {"timeuot", "timeout", 1},
            {"mem_limt", "mem_limit", 1}, {"pids", "cpus", 3}};
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *a = cases[i].a, *b = cases[i].b;
                assert_int_equal(word_distance(a, strlen(a), b, strlen(b)), cases[i].apart);
                assert_int_equal(word_distance(b, strlen(b), a, strlen(a)), cases[i].apart);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(cgroup_paths),
            cmocka_unit_test(word_distances),
            cmocka_unit_test(sizes),
            cmocka_unit_test(decimals),
            cmocka_unit_test(buffers_keep_their_limit),
            cmocka_unit_test(errors_wrap),
            cmocka_unit_test(digests),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
