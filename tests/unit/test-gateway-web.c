/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's readers of what belongs to entries of kind web: URLs, heads in tunnels, git's packets. */
#include "gateway/git.h"
#include "gateway/request.h"
#include "gateway/web_route.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct {
        const char *text;
        const char *normal; /* NULL: refused */
} urls[] = {
    {"https://example.org", "https://example.org/"},
    {"HTTPS://EXAMPLE.org:443/A/b", "https://example.org/A/b"},
    {"http://example.org:80/", "http://example.org/"},
    {"https://example.org:8443/x?y=z&y", "https://example.org:8443/x?y=z&y"},
    {"https://example.org/%7Euser/%41%2d%c3%a9%3B", "https://example.org/~user/A-%C3%A9%3B"},
    {"https://example.org/a//b/..c/.d/...", "https://example.org/a//b/..c/.d/..."},
    {"https://example.org/x?a=%2F%25&b=../", "https://example.org/x?a=%2F%25&b=../"},
    {"https://127.0.0.1:8443/", "https://127.0.0.1:8443/"},
    /* Where it leads is a matter of opinion. */
    {"https://example.org/a/../b", NULL},
    {"https://example.org/a/./b", NULL},
    {"https://example.org/a/..", NULL},
    {"https://example.org/a/%2e%2E/b", NULL},
    {"https://example.org/a/.%2e/b", NULL},
    {"https://example.org/a/..;x=y/b", NULL},
    {"https://example.org/a/..%3Bx/b", NULL},
    {"https://example.org/a%2fb", NULL},
    {"https://example.org/a%5cb", NULL},
    {"https://example.org/a\\b", NULL},
    {"https://example.org/%252e%252e/", NULL},
    {"https://example.org/%00", NULL},
    {"https://example.org/%0d%0aX:", NULL},
    {"https://example.org/%c0%ae%c0%ae/", NULL},
    {"https://example.org/%ff", NULL},
    {"https://example.org/%e0%80%af", NULL},
    {"https://example.org/%ed%a0%80", NULL},
    {"https://example.org/%4", NULL},
    {"https://example.org/%", NULL},
    {"https://example.org/%zz", NULL},
    {"https://example.org//evil.org/", NULL},
    {"https://example.org/a b", NULL},
    {"https://example.org/\xc3\xa9", NULL},
    {"https://example.org/a?%0a", NULL},
    {"https://example.org/#x", NULL},
    /* Whom it is for is a matter of opinion. */
    {"https://user@example.org/", NULL},
    {"https://example.org@evil.org/", NULL},
    {"https://example.org:443@evil.org/", NULL},
    {"https://example.org./", NULL},
    {"https://.example.org/", NULL},
    {"https://example..org/", NULL},
    {"https://example.org:0443/", NULL},
    {"https://example.org:/", NULL},
    {"https://example.org:65536/", NULL},
    {"https://example.org:443:443/", NULL},
    {"https://[::1]/", NULL},
    {"https://2130706433/", NULL},
    {"https://0x7f.1/", NULL},
    {"https://127.1/", NULL},
    {"https://0177.0.0.1/", NULL},
    {"https://ex%61mple.org/", NULL},
    {"https:///x", NULL},
    {"https:/example.org/", NULL},
    {"//example.org/", NULL},
    {"ftp://example.org/", NULL},
    {"", NULL},
};

static void normal_forms(void **state)
{
        for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
                struct web_url url, again;
                enum reason reason = web_url_parse(urls[i].text, &url);
                if ((reason == REASON_NONE) != (urls[i].normal != NULL))
                        print_error("%s: %s\n", urls[i].text, reason_word(reason));
                assert_int_equal(reason == REASON_NONE, urls[i].normal != NULL);
                if (!urls[i].normal)
                        continue;
                char *text;
                assert_int_equal(web_url_text(&url, &text), 0);
                assert_string_equal(text, urls[i].normal);
                assert_int_equal(web_url_parse(text, &again), REASON_NONE);
                assert_memory_equal(&url, &again, sizeof url);
                free(text);
        }
}

static const struct {
        const char *prefix;
        const char *url;
        int rest; /* -1: not below it */
} prefixes[] = {
    {"https://a.org/x/", "https://a.org/x/", 0},
    {"https://a.org/x/", "https://a.org/x/yz?q", 4},
    {"https://a.org/x/", "https://a.org/x", -1},
    {"https://a.org/x", "https://a.org/x", 0},
    {"https://a.org/x", "https://a.org/x/y", 2},
    {"https://a.org/x", "https://a.org/xy", -1},
    {"https://a.org/x", "https://a.org/X", -1},
    {"https://a.org/x", "https://a.org/%78/y", 2},
    {"https://a.org/", "http://a.org/", -1},
    {"https://a.org/", "https://a.org:8443/", -1},
    {"https://a.org/", "https://b.org/", -1},
    {"https://a.org/", "https://x.a.org/", -1},
};

static void below_prefixes(void **state)
{
        for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
                struct web_url prefix, url;
                size_t rest = 0;
                assert_int_equal(web_url_parse(prefixes[i].prefix, &prefix), REASON_NONE);
                assert_int_equal(web_url_parse(prefixes[i].url, &url), REASON_NONE);
                assert_int_equal(web_url_below(&prefix, &url, &rest), prefixes[i].rest >= 0);
                if (prefixes[i].rest >= 0)
                        assert_int_equal(rest, prefixes[i].rest);
        }
}

static enum reason head(enum request_side side, const char *text, struct request *request)
{
        size_t length = 0;
        enum reason reason = request_scan(text, strlen(text), &length);
        return reason != REASON_NONE ? reason : request_parse(text, length, side, request);
}

static void sides(void **state)
{
        struct request request;
        static const char connect[] = "CONNECT a.org:443 HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n";
        assert_int_equal(head(REQUEST_INDEX, connect, &request), REASON_METHOD);
        assert_int_equal(head(REQUEST_TUNNEL, connect, &request), REASON_METHOD);
        assert_int_equal(head(REQUEST_PROXY, connect, &request), REASON_NONE);
        assert_string_equal(request.target, "a.org:443");
        static const char absolute[] = "GET http://a.org/x?y HTTP/1.1\r\nHost: a.org\r\n\r\n";
        assert_int_equal(head(REQUEST_INDEX, absolute, &request), REASON_TARGET);
        assert_int_equal(head(REQUEST_TUNNEL, absolute, &request), REASON_TARGET);
        assert_int_equal(head(REQUEST_PROXY, absolute, &request), REASON_NONE);
        assert_true(request.absolute);
        static const char secure[] = "GET https://a.org/x HTTP/1.1\r\nHost: a.org\r\n\r\n";
        assert_int_equal(head(REQUEST_PROXY, secure, &request), REASON_TARGET);
        static const char post[] = "POST /x HTTP/1.1\r\nHost: a.org\r\nContent-Length: 5\r\n"
                                   "Content-Type: application/x-git-upload-pack-request\r\n\r\n";
        assert_int_equal(head(REQUEST_PROXY, post, &request), REASON_METHOD);
        assert_int_equal(head(REQUEST_TUNNEL, post, &request), REASON_NONE);
        assert_int_equal(request.length, 5);
        assert_true(request.git_body);
        assert_int_equal(
            head(REQUEST_TUNNEL, "POST /x HTTP/1.1\r\nHost: a.org\r\n\r\n", &request), REASON_BODY);
        assert_int_equal(
            head(REQUEST_TUNNEL, "GET /x HTTP/1.1\r\nHost: a.org\r\nContent-Length: 5\r\n\r\n", &request),
            REASON_BODY);
        assert_int_equal(
            head(REQUEST_TUNNEL, "GET /x HTTP/1.1\r\nHost: a.org\r\nUpgrade: websocket\r\n\r\n", &request),
            REASON_FIELD);
        assert_int_equal(head(REQUEST_TUNNEL,
                             "GET /x HTTP/1.1\r\nHost: a.org\r\nProxy-Connection: close\r\n\r\n", &request),
            REASON_FIELD);
}

/* ---- git ---- */

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ID_C "cccccccccccccccccccccccccccccccccccccccc"

static const char refs[] = "001e# service=git-upload-pack\n0000"
                           "004a" ID_B " HEAD\0multi_ack side-band-64k\n"
                           "003a" ID_A " refs/heads/x\n"
                           "003a" ID_B " refs/heads/y\n"
                           "0000";

static void git_lists(void **state)
{
        struct git_ids ids = {};
        assert_int_equal(git_refs_read(refs, sizeof refs - 1, &ids), 0);
        assert_int_equal(ids.count, 2);
        assert_string_equal(ids.ids[0].text, ID_A);
        assert_string_equal(ids.ids[1].text, ID_B);
        git_ids_clear(&ids);
        for (size_t size = 0; size < sizeof refs - 5; size++) { /* cut short anywhere before the last part */
                struct git_ids none = {};
                (void)git_refs_read(refs, size, &none);
                git_ids_clear(&none);
        }
        assert_int_equal(git_refs_read("<html>", 6, &ids), -EINVAL);
}

static const struct {
        const char *body;
        const char *rewritten; /* NULL: refused */
} questions[] = {
    {"0032want " ID_A "\n00000009done\n", "0032want " ID_A "\n00000009done\n"},
    /* In order, each once; what the client says of itself is left out. */
    {"006awant " ID_B " multi_ack_detailed agent=secret ofs-delta session-id=12\n"
     "0032want " ID_A "\n0032want " ID_B "\n0000"
     "0032have " ID_C "\n0032have " ID_B "\n0009done\n",
        "004fwant " ID_A " multi_ack_detailed ofs-delta\n0032want " ID_B "\n00000009done\n"},
    {"0032want " ID_A "\n000ddeepen 1\n0000", "0032want " ID_A "\n000ddeepen 1\n0000"},
    {"0032want " ID_A "\n00000032have " ID_C "\n0000", "0032want " ID_A "\n00000000"},
    /* Not listed, not a clone, not git. */
    {"0032want " ID_C "\n00000009done\n", NULL},
    {"0032want " ID_A "\n0035shallow " ID_C "\n0000", NULL},
    {"0032want " ID_A "\n0015filter blob:none\n0000", NULL},
    {"0032want " ID_A "\n000edeepen -1\n0000", NULL},
    {"0032want " ID_A "\n0016deepen 1234567890\n0000", NULL},
    {"0032want " ID_A "\n000ddeepen 1\n0032want " ID_B "\n0000", NULL},
    {"0032want " ID_A "\n00000009done\n0000", NULL},
    {"0032want " ID_A "\n0000000bsecret\n", NULL},
    {"0032want " ID_A "\n00000009done\nx", NULL},
    {"0032want " ID_A "\n", NULL},
    {"0000", NULL},
    {"", NULL},
    {"0003", NULL},
    {"ffffwant", NULL},
    {"0014command=ls-refs\n0000", NULL},
    {"0032want " ID_A "\n0036want " ID_B " x=y\n0000", NULL},
};

static void git_questions(void **state)
{
        struct git_ids ids = {};
        assert_int_equal(git_refs_read(refs, sizeof refs - 1, &ids), 0);
        for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
                _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(4096);
                uint64_t bits = 0;
                enum reason reason =
                    git_request_rewrite(questions[i].body, strlen(questions[i].body), &ids, &text, &bits);
                if ((reason == REASON_NONE) != (questions[i].rewritten != NULL))
                        print_error("%s: %s\n", questions[i].body, reason_word(reason));
                assert_int_equal(reason, questions[i].rewritten ? REASON_NONE : REASON_GIT);
                if (questions[i].rewritten) {
                        assert_string_equal(strbuf_text(&text), questions[i].rewritten);
                        assert_in_range(bits, 1, 64);
                }
        }
        git_ids_clear(&ids);
}

static void git_gzip(void **state)
{
        static const unsigned char hello[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9,
            0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0, 'x'};
        _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(5);
        assert_int_equal(git_inflate(hello, sizeof hello - 1, &text), REASON_NONE);
        assert_string_equal(strbuf_text(&text), "hello");
        _cleanup_(strbuf_clear) struct strbuf other = STRBUF_INIT(5);
        assert_int_equal(git_inflate(hello, sizeof hello, &other), REASON_GIT); /* a byte behind it */
        _cleanup_(strbuf_clear) struct strbuf cut = STRBUF_INIT(5);
        assert_int_equal(git_inflate(hello, sizeof hello - 9, &cut), REASON_GIT);
        _cleanup_(strbuf_clear) struct strbuf small = STRBUF_INIT(4);
        assert_int_equal(git_inflate(hello, sizeof hello - 1, &small), REASON_TOO_LARGE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(normal_forms),
            cmocka_unit_test(below_prefixes),
            cmocka_unit_test(sides),
            cmocka_unit_test(git_lists),
            cmocka_unit_test(git_questions),
            cmocka_unit_test(git_gzip),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
