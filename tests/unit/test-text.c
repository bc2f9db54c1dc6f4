/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sandbox/environment.h"
#include "sandbox/media_type.h"
#include "sandbox/stream.h"
#include "sandbox/text.h"
#include "util/strbuf.h"

static void what_is_utf8(void **state)
{
        static const struct {
                const char *text;
                bool valid;
                size_t tail;
        } cases[] = {
            {"", true, 0},
            {"plain", true, 0},
            {"caf\xc3\xa9", true, 0},
            {"caf\xc3", false, 1},
            {"\xe2\x82\xac", true, 0},
            {"\xe2\x82", false, 2},
            {"\xe2", false, 1},
            {"\xf0\x9f\x98\x80", true, 0},
            {"\xf0\x9f\x98", false, 3},
            {"\xff", false, 0},
            {"\x80", false, 0},
            {"\x80\x80\x80\x80", false, 0},
            {"\xc0\x80", false, 0},         /* overlong */
            {"\xe0\x80", false, 0},         /* overlong, whatever follows */
            {"\xed\xa0\x80", false, 0},     /* a surrogate */
            {"\xf4\x90\x80\x80", false, 0}, /* beyond U+10FFFF */
            {"\xf5", false, 0},
            {"a\xffz", false, 0},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                assert_int_equal(utf8_valid(cases[i].text, strlen(cases[i].text)), cases[i].valid);
                assert_int_equal(utf8_incomplete_tail(cases[i].text, strlen(cases[i].text)), cases[i].tail);
        }
        assert_true(utf8_valid("a\0b", 3));
}

static void base64(void **state)
{
        static const char *const cases[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
            {"foob", "Zm9vYg=="}, {"\xff\xfe\xfd", "//79"}};
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(freep) char *text = base64_encode(cases[i][0], strlen(cases[i][0]));
                assert_string_equal(text, cases[i][1]);
        }
}

static void escaping(void **state)
{
        char buffer[64];
        assert_string_equal(text_escape("a\n\x1b[31m\\\xff\xc2\x9b\xc3\xa9", 13, buffer, sizeof buffer),
            "a\\x0a\\x1b[31m\\x5c\\xff\\xc2\\x9b\xc3\xa9");
        char small[12];
        assert_string_equal(text_escape("0123456789abcdef", 16, small, sizeof small), "01234567...");
        assert_string_equal(text_escape("\x01\x01\x01\x01", 4, small, sizeof small), "\\x01\\x01...");
}

struct collected {
        struct strbuf text;
        bool pieces_whole;
};

static int collect(const char *data, size_t size, void *user)
{
        struct collected *collected = user;
        collected->pieces_whole = collected->pieces_whole && utf8_valid(data, size);
        return strbuf_append(&collected->text, data, size);
}

/* Every way to cut a text into two reads, at every limit: what comes out is a whole prefix of it. */
static void cutting(void **state)
{
        static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
        const size_t size = sizeof text - 1;
        for (size_t limit = 0; limit <= size + 1; limit++) {
                for (size_t first = 0; first <= size; first++) {
                        struct stream_cutter cutter = {.limit = limit};
                        struct collected got = {.text = STRBUF_INIT(100), .pieces_whole = true};
                        assert_int_equal(stream_feed(&cutter, text, first, collect, &got), 0);
                        assert_int_equal(stream_feed(&cutter, text + first, size - first, collect, &got), 0);
                        assert_int_equal(stream_end(&cutter, collect, &got), 0);
                        assert_int_equal(cutter.truncated, limit < size);
                        assert_int_equal(cutter.total, size);
                        assert_true(got.pieces_whole && got.text.size <= limit &&
                                    got.text.size + 3 >= MIN(limit, size));
                        assert_memory_equal(strbuf_text(&got.text), text, got.text.size);
                        strbuf_clear(&got.text);
                }
        }
}

/* Bytes that are no text lose nothing, and arrive in order, however they are cut. */
static void bytes_pass(void **state)
{
        static const char bytes[] = "\xe2\x41\xe2\x82\x41\xc3\xc3\xa9\xff\x80\xf0\x9f\xe2\x82\xac\xf0\x9f";
        const size_t size = sizeof bytes - 1;
        for (size_t a = 0; a <= size; a++) {
                for (size_t b = a; b <= size; b++) {
                        struct stream_cutter cutter = {.limit = 100};
                        struct collected got = {.text = STRBUF_INIT(100)};
                        (void)stream_feed(&cutter, bytes, a, collect, &got);
                        (void)stream_feed(&cutter, bytes + a, b - a, collect, &got);
                        (void)stream_feed(&cutter, bytes + b, size - b, collect, &got);
                        (void)stream_end(&cutter, collect, &got);
                        assert_int_equal(got.text.size, size);
                        assert_memory_equal(strbuf_text(&got.text), bytes, size);
                        strbuf_clear(&got.text);
                }
        }
}

static void environments(void **state)
{
        static const char *const base[] = {"A=1", "B=2", "AB=3", NULL};
        static const char *const overrides[] = {"B=x", "C=4", "A=", NULL};
        static const char *const merged[] = {"A=", "B=x", "AB=3", "C=4"};
        _cleanup_(freep) const char **got = environment_merge(base, overrides);
        for (size_t i = 0; i < ARRAY_SIZE(merged); i++)
                assert_string_equal(got[i], merged[i]);
        assert_null(got[ARRAY_SIZE(merged)]);
        _cleanup_(freep) const char **empty = environment_merge(NULL, NULL);
        assert_null(empty[0]);
}

static void media_types(void **state)
{
        assert_string_equal(media_type("a/plot.PNG", 10), "image/png");
        assert_string_equal(media_type("x.json", 6), "application/json");
        assert_null(media_type("json", 4));
        assert_null(media_type(".json", 5));
        assert_null(media_type("a/.json", 7));
        assert_null(media_type("", 0));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_is_utf8),
            cmocka_unit_test(base64),
            cmocka_unit_test(escaping),
            cmocka_unit_test(cutting),
            cmocka_unit_test(bytes_pass),
            cmocka_unit_test(environments),
            cmocka_unit_test(media_types),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
