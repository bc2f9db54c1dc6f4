/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's readers of bytes from outside, one by one. */
#include "gateway/accept.h"
#include "gateway/address.h"
#include "gateway/index.h"
#include "gateway/names.h"
#include "gateway/request.h"
#include "gateway/route.h"
#include "gateway/url.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static enum reason head(const char *text, struct request *request)
{
        size_t length = 0;
        enum reason reason = request_scan(text, strlen(text), &length);
        if (reason != REASON_NONE || length == 0)
                return reason;
        return request_parse(text, length, REQUEST_INDEX, request);
}

static void good_heads(void **state)
{
        struct request request;
        assert_int_equal(head("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b", &request), REASON_NONE);
        assert_string_equal(request.target, "/a");
        assert_true(request.keep_alive);
        assert_int_equal(request.method, METHOD_GET);
        assert_int_equal(head("HEAD /a HTTP/1.0\r\n\r\n", &request), REASON_NONE);
        assert_int_equal(request.method, METHOD_HEAD);
        assert_false(request.keep_alive);
        assert_int_equal(
            head("GET /a HTTP/1.1\r\nhost:x\r\nCONNECTION:  Close\t\r\nAccept: a\r\nAccept: b\r\n"
                 "Content-Length: 0\r\nX-Any: \"q\" (c)\r\n\r\n",
                &request),
            REASON_NONE);
        assert_false(request.keep_alive);
        assert_string_equal(request.accept, "a,b");
}

/* Every prefix of a good head is unfinished, and none is refused: bytes may come one at a time. */
static void heads_in_pieces(void **state)
{
        static const char text[] = "GET /pypi/simple/x/ HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n";
        for (size_t size = 0; size < sizeof text - 1; size++) {
                size_t length = 99;
                assert_int_equal(request_scan(text, size, &length), REASON_NONE);
                assert_int_equal(length, 0);
        }
        size_t length = 0;
        assert_int_equal(request_scan(text, sizeof text - 1, &length), REASON_NONE);
        assert_int_equal(length, sizeof text - 1);
}

/* The refusal comes with the first byte that gives it away. */
static void early_refusals(void **state)
{
        size_t length;
        assert_int_equal(request_scan("\x16", 1, &length), REASON_MALFORMED);
        assert_int_equal(request_scan("GET / HTTP/1.1\n", 15, &length), REASON_MALFORMED);
        assert_int_equal(request_scan("GET / HTTP/1.1\rx", 16, &length), REASON_MALFORMED);
        assert_int_equal(request_scan("\r\n", 2, &length), REASON_MALFORMED);
}

static void pypi_names(void **state)
{
        char normal[NAME_MAX_BYTES + 1];
        assert_true(name_pypi("Friendly-._.Bard", normal));
        assert_string_equal(normal, "friendly-bard");
        static const char *const bad[] = {"", "-a", "a-", "a b", "a/b", "\xc3\xa9", "a+", "_"};
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_false(name_pypi(bad[i], normal));
        assert_true(name_file_belongs("Friendly_Bard-1.0-py3-none-any.whl", "friendly-bard"));
        assert_true(name_file_belongs("friendly.bard-1.0.tar.gz", "friendly-bard"));
        assert_false(name_file_belongs("friendly-1.0.whl", "friendly-bard"));
        assert_false(name_file_belongs("friendly_bard2-1.0.whl", "friendly-bard"));
        assert_false(name_file_belongs("", "a"));
}

static void npm_names(void **state)
{
        static const char *const good[] = {"a", "left-pad", "@types/node", "lodash.merge", "7zip"};
        static const char *const bad[] = {
            "", "@", "@a", "@a/", "@/a", "a/b", "A", "@A/b", ".a", "_a", "-", "a b", "@a/b/c", "~a", "a%"};
        for (size_t i = 0; i < ARRAY_SIZE(good); i++)
                assert_true(name_npm(good[i]));
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_false(name_npm(bad[i]));
}

static void patterns(void **state)
{
        assert_true(name_matches("acme-*", "acme-tool"));
        assert_true(name_matches("*-x*y", "a-x-x-y"));
        assert_true(name_matches("n?mpy", "numpy"));
        assert_false(name_matches("acme-*", "acme"));
        assert_false(name_matches("*-x", "a-x-y"));
        assert_false(name_matches("", "a"));
}

static bool is_public(const char *text)
{
        struct sockaddr_in6 six = {.sin6_family = AF_INET6};
        struct sockaddr_in four = {.sin_family = AF_INET};
        if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
                return address_is_public((const struct sockaddr *)&four);
        assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
        return address_is_public((const struct sockaddr *)&six);
}

static void addresses(void **state)
{
        static const char *const public[] = {"1.1.1.1", "9.255.255.255", "11.0.0.0", "172.15.255.255",
            "172.32.0.0", "100.63.255.255", "100.128.0.0", "169.253.255.255", "223.255.255.255",
            "2606:4700::1", "2a00::1"};
        static const char *const special[] = {"0.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
            "127.0.0.1", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.168.0.1", "198.19.255.255",
            "224.0.0.0", "255.255.255.255", "::", "::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "fe80::1",
            "fc00::1", "ff02::1", "2001::1", "2001:db8::1", "2002::1", "3fff::1", "4000::1"};
        for (size_t i = 0; i < ARRAY_SIZE(public); i++)
                assert_true(is_public(public[i]));
        for (size_t i = 0; i < ARRAY_SIZE(special); i++)
                assert_false(is_public(special[i]));
        struct sockaddr strange = {.sa_family = AF_UNIX};
        assert_false(address_is_public(&strange));
}

static void networks(void **state)
{
        struct network network;
        static const char *const bad[] = {"", "10.0.0.0/33", "10.0.0.1/8", "10.0.0/8", "::1/129", "x",
            "10.0.0.0/", "10.0.0.0/-1", "1.2.3.4/8/8"};
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_false(network_parse(bad[i], &network));
        struct sockaddr_in four = {.sin_family = AF_INET};
        four.sin_addr.s_addr = htonl(0x0a01ffff); /* 10.1.255.255 */
        assert_true(network_parse("10.1.128.0/17", &network));
        assert_true(address_in((const struct sockaddr *)&four, &network, 1));
        assert_true(network_parse("10.1.0.0/17", &network));
        assert_false(address_in((const struct sockaddr *)&four, &network, 1));
        assert_true(network_parse("::/0", &network));
        assert_false(address_in((const struct sockaddr *)&four, &network, 1));
        assert_true(network_parse("0.0.0.0/0", &network));
        assert_true(address_in((const struct sockaddr *)&four, &network, 1));
}

static void urls(void **state)
{
        static const char *const bad[] = {
            "https://u@h/", "https://u:p@h/", "file:///x", "ftp://h/", "x", "", "https://"};
        char *url, *fragment, *text;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_true(url_resolve(NULL, bad[i], &url, &fragment) < 0);
        assert_int_equal(url_resolve("https://h/simple/x/", "../../f/a.whl#sha256=1", &url, &fragment), 0);
        assert_string_equal(url, "https://h/f/a.whl");
        assert_string_equal(fragment, "sha256=1");
        free(url);
        free(fragment);
        assert_int_equal(url_origin("HTTPS://ExAmple.org/x", &text), 0);
        assert_string_equal(text, "https://example.org:443");
        free(text);
        assert_int_equal(url_origin("https://2130706433/x", &text), 0);
        assert_string_equal(text, "https://127.0.0.1:443");
        free(text);
        assert_int_equal(url_file_name("https://h/a/b%2Bc.whl?x#y", &text), 0);
        assert_string_equal(text, "b+c.whl");
        free(text);
        assert_true(url_file_name("https://h/a%2fb", &text) < 0);
        assert_true(url_file_name("https://h/a%00b", &text) < 0);
        assert_true(url_file_name("https://h/a/", &text) < 0);
}

static void digests(void **state)
{
        struct digest digest;
        static const char hex[] = "E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_true(digest_from_sha256_hex(hex, &digest));
        assert_string_equal(
            digest.text, "sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        struct hasher *hasher = hasher_new(&digest);
        assert_true(hasher_matches(hasher));
        hasher_free(hasher);
        hasher = hasher_new(&digest);
        assert_int_equal(hasher_update(hasher, "x", 1), 0);
        assert_false(hasher_matches(hasher));
        hasher_free(hasher);
        assert_false(digest_from_sha256_hex("e3", &digest));
        assert_true(digest_from_integrity(
            "sha1-xxxx sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwv"
            "Y7kxvUdBeoGlODJ6+SfaPg==",
            &digest));
        assert_true(strncmp(digest_hex(&digest), "cf83e1357eefb8bd", 16) == 0);
        assert_false(digest_from_integrity("sha512-short==", &digest));
        assert_false(digest_from_integrity("sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", &digest));
        assert_false(digest_from_integrity("", &digest));
}

static void accepts(void **state)
{
        assert_int_equal(accept_form(ENTRY_PYPI, ""), FORM_PYPI_HTML);
        assert_int_equal(accept_form(ENTRY_PYPI, "*/*"), FORM_PYPI_HTML);
        assert_int_equal(accept_form(ENTRY_PYPI, "application/vnd.pypi.simple.v1+json, text/html; q=0.1"),
            FORM_PYPI_V1_JSON);
        assert_int_equal(
            accept_form(ENTRY_PYPI, "application/vnd.pypi.simple.v1+json;q=0.1,text/html"), FORM_PYPI_HTML);
        assert_int_equal(accept_form(ENTRY_PYPI, "application/vnd.pypi.simple.v1+jsonx"), FORM_PYPI_HTML);
        assert_int_equal(accept_form(ENTRY_PYPI, "application/vnd.pypi.simple.v1+json;q=0"), FORM_PYPI_HTML);
        assert_int_equal(accept_form(ENTRY_NPM,
                             "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*"),
            FORM_NPM_SHORT);
        assert_int_equal(accept_form(ENTRY_NPM, ",, ;"), FORM_NPM_FULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(good_heads),
            cmocka_unit_test(heads_in_pieces),
            cmocka_unit_test(early_refusals),
            cmocka_unit_test(pypi_names),
            cmocka_unit_test(npm_names),
            cmocka_unit_test(patterns),
            cmocka_unit_test(addresses),
            cmocka_unit_test(networks),
            cmocka_unit_test(urls),
            cmocka_unit_test(digests),
            cmocka_unit_test(accepts),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
