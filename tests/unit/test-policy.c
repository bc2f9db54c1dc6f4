/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and checking: what the file may say, and what an error says about what it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "policy/keys.h"
#include "policy/policy.h"
#include "util/fd.h"
#include "util/sha256.h"
#include "util/strbuf.h"

#include <fcntl.h>

#define REPEAT_MAX (2U * 1024 * 1024)

static struct policy *parse_good(const char *text)
{
        struct error err = {};
        struct policy *policy = NULL;
        if (policy_parse("p.yaml", text, strlen(text), &policy, &err) < 0)
                fail_msg("%s\nwas refused: %s", text, err.message);
        assert_non_null(policy);
        return policy;
}

/* Refused, and the message begins and goes on like this; a hint is compared where it is given. */
static void assert_bad(const char *text, size_t size, const char *place, const char *part, const char *hint)
{
        _cleanup_(error_clear) struct error err = {};
        struct policy *policy = NULL;
        if (policy_parse("p.yaml", text, size, &policy, &err) == 0)
                fail_msg("was accepted: %s", text);
        assert_null(policy);
        assert_int_equal(err.code, ERROR_POLICY);
        if (strncmp(err.message, place, strlen(place)) != 0 || !strstr(err.message, part))
                fail_msg("%s\nexpected %s … %s\nfound    %s", text, place, part, err.message);
        if (hint && (!err.hint || !strstr(err.hint, hint)))
                fail_msg("%s\nexpected the hint %s\nfound %s", text, hint, err.hint ? err.hint : "none");
}

static void bad_files_are_placed_and_explained(void **state)
{
        static const struct {
                const char *text, *place, *part, *hint;
        } cases[] = {
            /* Keys. */
            {"cpu_cout: 2\n", "p.yaml:1:1: ", "unknown key \"cpu_cout\"", "cpu_count"},
            {"timeout: 5\nmemlimit: 1g\n", "p.yaml:2:1: ", "nearest: \"mem_limit\"", "mem_limit"},
            {"zzz: 1\n", "p.yaml:1:1: ", "expected a key of the policy", "docs/POLICY.md"},
            {"cpu_share: 1\n", "p.yaml:1:1: ", "unknown key", "allocation.cpu_share"},
            {"trust_levels:\n  unknown:\n    allocation: {}\n", "p.yaml:3:5: ", "a key of a trust level",
                "at top level only"},
            {"trust_levels:\n  unknown:\n    timeuot: 1\n", "p.yaml:3:5: ", "unknown key \"timeuot\"",
                "timeout"},
            {"warm: {size: 1}\n", "p.yaml:1:8: ", "expected a key of warm", NULL},
            {"timeout: 1\ntimeout: 1\n", "p.yaml:2:1: ", "\"timeout\" a second time", NULL},
            {"trust_levels: {a: {}, a: {}}\n", "p.yaml:1:23: ", "level \"a\" a second time", NULL},
            {"trust_levels: {\"a b\": {}}\n", "p.yaml:1:16: ", "expected the name of a level", NULL},
            {"? [a]\n: b\n", "p.yaml:1:3: ", "expected the name of a key", NULL},
            /* Types. */
            {"timeout: \"120\"\n", "p.yaml:1:10: ", "expected a number of seconds", "quotes"},
            {"timeout: soon\n", "p.yaml:1:10: ", "found \"soon\"; expected a number of seconds", NULL},
            {"timeout: [1]\n", "p.yaml:1:10: ", "found a list", NULL},
            {"timeout: {a: 1}\n", "p.yaml:1:10: ", "found a mapping", NULL},
            {"timeout:\n", "p.yaml:1:9: ", "found no value", NULL},
            {"timeout: ~\n", "p.yaml:1:10: ", "found no value", NULL},
            {"timeout: 0\n", "p.yaml:1:10: ", "from 0.001 seconds", NULL},
            {"timeout: 010\n", "p.yaml:1:10: ", "found \"010\"", NULL},
            {"timeout: -1\n", "p.yaml:1:10: ", "found \"-1\"", NULL},
            {"timeout: 1e3\n", "p.yaml:1:10: ", "found \"1e3\"", NULL},
            {"timeout: .inf\n", "p.yaml:1:10: ", "found \".inf\"", NULL},
            {"cpu_count: 0\n", "p.yaml:1:12: ", "expected a number of CPUs", NULL},
            {"cpu_count: 101%\n", "p.yaml:1:12: ", "expected a number of CPUs", NULL},
            {"mem_limit: 0\n", "p.yaml:1:12: ", "from 1 MiB", NULL},
            {"mem_limit: 1x\n", "p.yaml:1:12: ", "expected a size", NULL},
            {"mem_limit: 99999999999999999999g\n", "p.yaml:1:12: ", "expected a size", NULL},
            {"mem_limit: \"0%\"\n", "p.yaml:1:12: ", "expected a size", NULL},
            {"pids_limit: 1.5\n", "p.yaml:1:13: ", "expected a whole number", NULL},
            {"read_only: yes\n", "p.yaml:1:12: ", "expected true or false", NULL},
            {"read_only: \"true\"\n", "p.yaml:1:12: ", "expected true or false", "quotes"},
            {"cap_drop: ALL\n", "p.yaml:1:11: ", "expected a list of capability", NULL},
            {"cap_add: [NET_ROW]\nunsafe: true\n", "p.yaml:1:11: ", "expected a list of capability", NULL},
            {"cap_add: [ALL]\nunsafe: true\n", "p.yaml:1:11: ", "expected a list of capability", NULL},
            {"security_opt: [apparmor=x]\n", "p.yaml:1:16: ", "expected a list of no-new-privileges", NULL},
            {"backend: podman\n", "p.yaml:1:10: ", "expected one of: native, docker", NULL},
            {"backends: [native, native]\n", "p.yaml:1:20: ", "a second time", NULL},
            {"image: \"-x\"\n", "p.yaml:1:8: ", "expected a name", NULL},
            {"user: root\n", "p.yaml:1:7: ", "never 0 or root", NULL},
            {"user: \"0:0\"\n", "p.yaml:1:7: ", "never 0 or root", NULL},
            {"user: 1000:0\n", "p.yaml:1:7: ", "never 0 or root", NULL},
            {"network_mode: host\n", "p.yaml:1:15: ", "expected one of: none, dependencies", NULL},
            {"env: {1A: x}\n", "p.yaml:1:7: ", "expected the name of a variable", NULL},
            {"env: {A: }\n", "p.yaml:1:10: ", "expected a text", "\"\""},
            {"env: [A=1, A=2]\n", "p.yaml:1:12: ", "a second time", NULL},
            {"env: {A: 1, A: 2}\n", "p.yaml:1:13: ", "a second time", NULL},
            {"env: [A]\n", "p.yaml:1:7: ", "NAME=VALUE", NULL},
            {"native: {uid_base: 1000}\n", "p.yaml:1:20: ", "from 65536", NULL},
            {"native: {uid_base: 2147483000}\n", "p.yaml:1:20: ", "to 2147418112", NULL},
            {"docker: {host: \"ftp://x\"}\n", "p.yaml:1:16: ", "unix://", NULL},
            {"allocation: {when_full: wait}\n", "p.yaml:1:25: ", "queue, reject", NULL},
            {"allocation: {default_trust_level: unknwn}\n", "p.yaml:1:14: ", "found \"unknwn\"", "unknown"},
            /* YAML that can hide something. */
            {"", "p.yaml:1:1: ", "empty file", NULL},
            {"# only words\n", "p.yaml:2:1: ", "empty file", NULL},
            {"---\n", "p.yaml:", "empty document", NULL},
            {"- a\n", "p.yaml:1:1: ", "found a list", NULL},
            {"text\n", "p.yaml:1:1: ", "found \"text\"", NULL},
            {"timeout: 1\n---\ntimeout: 2\n", "p.yaml:2:1: ", "second document", NULL},
            {"timeout: &a 1\n", "p.yaml:1:10: ", "an anchor", NULL},
            {"&a timeout: 1\n", "p.yaml:1:1: ", "an anchor", NULL},
            {"timeout: *a\n", "p.yaml:1:10: ", "an alias", NULL},
            {"timeout: !!int 1\n", "p.yaml:1:10: ", "a tag", NULL},
            {"env: !x {A: 1}\n", "p.yaml:1:6: ", "a tag", NULL},
            {"%TAG !e! tag:e,2000:\n---\ntimeout: 1\n", "p.yaml:1:1: ", "%TAG", NULL},
            {"<<: {timeout: 1}\n", "p.yaml:1:1: ", "merge key", NULL},
            {"timeout: 1 # \x1b[2J\n", "p.yaml:1:14: ", "control character", NULL},
            {"timeout: 1 # \xe2\x80\xae\n", "p.yaml:1:14: ", "control character", NULL},
            {"timeout: 1\n# a\rtimeout: 9\n", "p.yaml:2:4: ", "control character", NULL},
            {"env: {A: \"\\x07\"}\n", "p.yaml:1:10: ", "control character", NULL},
            {"env: {A: \"\\0\"}\n", "p.yaml:1:10: ", "control character", NULL},
            {"env: {A: \"\\u202e\"}\n", "p.yaml:1:10: ", "control character", NULL},
            {"env: {A: |\n  x\n  y\n}\n", "p.yaml:1:10: ", "", NULL},
            {"timeout: 1\n\xff\n", "p.yaml:", "not valid YAML", NULL},
            {"env: {A: 1\n", "p.yaml:2:1: ", "not valid YAML", NULL},
            /* Contradictions. */
            {"trust_levels:\n  unknown:\n    timeout: 121\n", "p.yaml:3:5: ", "at most 120",
                "nobody vouches"},
            {"trust_levels:\n  untrusted: {mem_limit: 2g}\n", "p.yaml:2:15: ", "at most \"1g\"", NULL},
            {"trust_levels: {trusted: {mem_limit: 5%}, unknown: {mem_limit: 6%}}\n", "p.yaml:1:52: ", "5%",
                NULL},
            {"timeout: 5\ntrust_levels:\n  unknown: {timeout: 6}\n", "p.yaml:3:13: ", "at most 5", NULL},
            {"disk_limit: 2g\n", "p.yaml:1:1: ", "mem_limit of 1 GiB", NULL},
            {"trust_levels: {unknown: {disk_limit: 257m}}\n", "p.yaml:1:26: ", "mem_limit of 256 MiB", NULL},
            {"disk_limit: 100m\ntrust_levels: {a: {mem_limit: 50m}}\n",
                "p.yaml:2:20: ", "mem_limit of 50 MiB", NULL},
            {"read_only: false\n", "p.yaml:1:1: ", "weakens trust level \"trusted\"", "unsafe: true"},
            {"trust_levels:\n  unknown: {cap_add: [KILL]}\nunsafe: true\n",
                "p.yaml:2:13: ", "weakens trust level \"unknown\"", "trust_levels.unknown"},
            {"cap_drop: [NET_RAW]\n", "p.yaml:1:1: ", "weakens", NULL},
            {"security_opt: []\n", "p.yaml:1:1: ", "weakens", NULL},
            {"security_opt: [no-new-privileges, seccomp=unconfined]\n", "p.yaml:1:1: ", "weakens", NULL},
            {"security_opt: [no-new-privileges, seccomp=unconfined, seccomp=default]\nunsafe: true\n",
                "p.yaml:1:1: ", "both", NULL},
            {"network: {user: \"1879048200:5\"}\n", "p.yaml:1:11: ", "which is one of the 65536", NULL},
            {"native: {uid_base: 1879100000}\n", "p.yaml:1:10: ", "which is one of the 65536", NULL},
            {"network: {limits: {names: 0}}\n", "p.yaml:1:27: ", "a whole number", NULL},
            {"network: {limits: {name: 1}}\n", "p.yaml:1:20: ", "unknown key \"name\"", NULL},
            {"network: {cache: relative}\n", "p.yaml:1:18: ", "absolute path", NULL},
            {"network: {whitelist: []}\nnetwork_mode: dependencies\n", "p.yaml:2:1: ", "whitelist is empty",
                NULL},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_bad(
                    cases[i].text, strlen(cases[i].text), cases[i].place, cases[i].part, cases[i].hint);
}

static void bad_whitelist_entries(void **state)
{
        static const struct {
                const char *entry, *part;
        } cases[] = {
            {"x", "expected a mapping"},
            {"{kind: pypi}", "without name"},
            {"{name: a}", "without kind"},
            {"{name: a, kind: git}", "pypi, npm, web"},
            {"{name: a, kind: pypi, url: \"ftp://x/\"}", "expected a URL"},
            {"{name: a, kind: pypi, url: \"https://u:p@x/\"}", "expected a URL"},
            {"{name: a, kind: pypi, url: \"https://x/?q\"}", "expected a URL"},
            {"{name: a, kind: pypi, url: \"https://x/a/../b\"}", "expected a URL"},
            {"{name: a, kind: pypi, url: \"http://x/\"}", "without addresses"},
            {"{name: a, kind: pypi, addresses: [10.0.0.1/8]}", "no bit set behind the prefix"},
            {"{name: a, kind: pypi, addresses: [10.0.0.0/33]}", "list of networks"},
            {"{name: a, kind: pypi, addresses: [10.0.0.0]}", "list of networks"},
            {"{name: a, kind: pypi, addresses: [\"fe80::1/10\"]}", "list of networks"},
            {"{name: a, kind: pypi, packages: {allow: [\"a b\"]}}", "list of package names"},
            {"{name: a, kind: pypi, packages: {permit: [a]}}", "unknown key \"permit\""},
            {"{name: a, kind: pypi, max_files: 0}", "whole number"},
            {"{name: a, kind: pypi, prefixes: [\"https://x/\"]}", "only where kind is web"},
            {"{name: a, kind: web}", "without prefixes"},
            {"{name: a, kind: web, url: \"https://x/\"}", "only where kind is pypi or npm"},
            {"{name: a, kind: web, prefixes: [\"http://x/\"]}", "without addresses"},
            {"{name: a, kind: npm, sdist: true}", "only where kind is pypi"},
            {"{name: a, kind: web, prefixes: [\"https://x/\"], login: \"env:A\"}",
                "only where kind is pypi or npm"},
            {"{name: a, kind: pypi, git: true}", "only where kind is web"},
            {"{name: a, kind: pypi, login: \"user:password\"}", "env:NAME or file:/PATH"},
            {"{name: a, kind: pypi, login: \"env:A\", token: \"env:B\"}", "token beside login"},
            {"{name: a, kind: pypi, token: \"file:a/b\"}", "env:NAME or file:/PATH"},
            {"{name: a, kind: pypi, token: \"file:/a/../b\"}", "env:NAME or file:/PATH"},
            {"{name: a, kind: pypi, ca_bundle: ca.pem}", "absolute path"},
            {"{name: a, kind: pypi, hosts: [\"https://x/\"]}", "list of hosts"},
            {"{name: a, kind: pypi, hosts: [\"u@x\"]}", "list of hosts"},
            {"{name: a, kind: pypi, proxy: \"socks5://x/\"}", "expected a URL"},
            {"{name: a, kind: pypi, max_bytes: 10%}", "a size in bytes"},
            {"{name: a, kind: pypi}, {name: a, kind: npm}", "name \"a\" a second time"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char text[512];
                (void)snprintf(text, sizeof text, "network:\n  whitelist: [%s]\n", cases[i].entry);
                assert_bad(text, strlen(text), "p.yaml:2:", cases[i].part, NULL);
        }
}

static void good_files(void **state)
{
        static const char *const texts[] = {
            "{}\n",
            "timeout: 1\n",
            "\xef\xbb\xbftimeout: 1\r\npids_limit: 3\r\n",
            "%YAML 1.1\n---\ntimeout: 1\n...\n",
            "trust_levels:\ndocker:\nwarm: {}\n",
            "trust_levels: {trusted: , mine: {timeout: 3000}}\n",
            "cpu_count: \"0.5\"\nmem_limit: 10%\ndisk_limit: 1m\n",
            "mem_limit: 64m\n",
            "env: [A=, B=x=y]\n",
            "env: {A: \"\", B: 1}\n",
            "security_opt: [\"no-new-privileges:true\", seccomp=default]\n",
            "cap_drop: [all]\n",
            "user: 7\n",
            "network: {whitelist: [{name: a, kind: pypi, url: \"http://10.0.0.1:80/s\", addresses: "
            "[10.0.0.0/24, \"fd00::/8\"],"
            " packages: {allow: [\"numpy*\", \"@a/b\"], deny: [x]}, max_bytes: 1g, max_files: 5}, {name: b, "
            "kind: web,"
            " prefixes: [\"https://x.org/a/\"], query: true}]}\nnetwork_mode: dependencies\n",
        };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                policy_free(parse_good(texts[i]));
}

/* What grows without bound in a file is refused before it costs anything. */
static void floods(void **state)
{
        static const struct {
                const char *before, *again, *part;
                unsigned times;
        } cases[] = {
            {"env: [", "A=1, ", "a second time", 2},
            {"images: [", "a%u, ", "more than 256", 300},
            {"env: {", "A%u: 1, ", "more than 256", 300},
            {"trust_levels: {", "a%u: {}, ", "more than 32", 40},
            {"network: {whitelist: [", "{name: a%u, kind: pypi}, ", "more than 64", 70},
            {"timeout: ", "[", "found a list", 100000},
            {"", "{", "expected the name of a key", 100000},
            {"#", "xxxxxxxxxxxxxxxxxxxx", "more than 1 MiB", 60000},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(REPEAT_MAX);
                assert_int_equal(strbuf_append_text(&text, cases[i].before), 0);
                for (unsigned j = 0; j < cases[i].times; j++) {
                        const char *number = strstr(cases[i].again, "%u");
                        size_t head = number ? (size_t)(number - cases[i].again) : strlen(cases[i].again);
                        assert_int_equal(strbuf_append(&text, cases[i].again, head), 0);
                        if (number)
                                assert_int_equal(strbuf_appendf(&text, "%u%s", j, number + 2), 0);
                }
                assert_bad(text.data, text.size, "p.yaml:1:", cases[i].part, NULL);
        }
        static const char nul[] = "timeout: 1\0\n";
        assert_bad(nul, sizeof nul - 1, "p.yaml:1:11: ", "control character", NULL);
}

static char *read_source(const char *name, size_t *ret_size)
{
        char path[512], *text = NULL;
        (void)snprintf(path, sizeof path, "%s/%s", MAI_SOURCE_ROOT, name);
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fd_read_whole(fd, REPEAT_MAX, &text, ret_size) < 0)
                fail_msg("can't read %s", path);
        return text;
}

/*
 * The built-in copy goes without comments: it must mean the
 * same, at the same lines, and carry the file's digest.
 */
static void shipped_file_is_the_built_in_one(void **state)
{
        size_t size;
        _cleanup_(freep) char *text = read_source("config/sandbox.yaml", &size);
        struct policy *file = NULL, *built_in = NULL;
        assert_int_equal(policy_parse("built-in", text, size, &file, NULL), 0);
        assert_int_equal(unsetenv("MAI_SANDBOX_POLICY"), 0);
        assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
        if (access("/etc/mai-sandbox/sandbox.yaml", F_OK) == 0)
                skip();
        assert_int_equal(policy_load(NULL, &built_in, NULL), 0);
        assert_string_equal(policy_path(built_in), "built-in");
        assert_string_equal(policy_sha256(built_in), policy_sha256(file));
        for (size_t i = 0; policy_trust_levels(file)[i]; i++) {
                char *a = NULL, *b = NULL;
                assert_int_equal(policy_show(file, policy_trust_levels(file)[i], &a, NULL), 0);
                assert_int_equal(policy_show(built_in, policy_trust_levels(file)[i], &b, NULL), 0);
                assert_string_equal(a, b);
                free(a);
                free(b);
        }
        policy_free(file);
        policy_free(built_in);
}

/* What a file leaves out is what the shipped file says. */
static void shipped_file_says_the_defaults(void **state)
{
        size_t size;
        _cleanup_(freep) char *text = read_source("config/sandbox.yaml", &size);
        static const char *const words[] = {"\ncpu_count: 2 ", "\nmem_limit: \"1g\" ", "\ntimeout: 120 ",
            "\nsecurity_opt: [\"no-new-privileges\"] ", "\ncap_drop: [\"ALL\"] ", "\nread_only: true ",
            "\nnetwork_mode: \"none\" ", "\nuser: \"1000:1000\" ", "\nimage: \"host\" ",
            "\nbackend: \"native\" "};
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                assert_non_null(strstr(text, words[i]));
        struct policy *file = parse_good(text), *empty = parse_good("{}\n");
        for (size_t i = 0; policy_trust_levels(empty)[i]; i++) {
                char *a = NULL, *b = NULL;
                assert_int_equal(policy_show(file, policy_trust_levels(empty)[i], &a, NULL), 0);
                assert_int_equal(policy_show(empty, policy_trust_levels(empty)[i], &b, NULL), 0);
                /* Without the heading and the comments, which say where from. */
                const char *left = strstr(a, "cpu_count"), *right = strstr(b, "cpu_count");
                while (*left != '\0' && *right != '\0') {
                        size_t left_size = strcspn(left, "#\n"), right_size = strcspn(right, "#\n");
                        assert_int_equal(left_size, right_size);
                        assert_memory_equal(left, right, left_size);
                        left += strcspn(left, "\n") + 1;
                        right += strcspn(right, "\n") + 1;
                }
                assert_int_equal(*left, *right);
                free(a);
                free(b);
        }
        policy_free(file);
        policy_free(empty);
}

static void reference_is_in_the_docs(void **state)
{
        size_t size;
        _cleanup_(freep) char *docs = read_source("docs/POLICY.md", &size);
        _cleanup_(freep) char *table = policy_reference_markdown();
        assert_non_null(table);
        if (!strstr(docs, table))
                fail_msg("docs/POLICY.md does not contain this table:\n%s", table);
        for (size_t i = 0; i < KEY_COUNT_; i++) {
                char path[KEY_PATH_MAX], cell[KEY_PATH_MAX + 8];
                assert_non_null(policy_keys[i].name);
                (void)snprintf(cell, sizeof cell, "| `%s` |", key_path(&policy_keys[i], path));
                assert_non_null(strstr(table, cell));
        }
}

static void slips_of_the_pen(void **state)
{
        assert_string_equal(key_nearest("", "mem-limit", false), "mem_limit");
        assert_string_equal(key_nearest("", "tiemout", true), "timeout");
        assert_string_equal(key_nearest("allocation", "queue_lenght", false), "queue_length");
        assert_null(key_nearest("", "qqqq", false));
        assert_null(key_nearest("", "a_very_long_word_that_is_longer_than_any_key_that_we_know", false));
        assert_null(key_nearest("", "allocatoin", true));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(bad_files_are_placed_and_explained),
            cmocka_unit_test(bad_whitelist_entries),
            cmocka_unit_test(good_files),
            cmocka_unit_test(floods),
            cmocka_unit_test(shipped_file_is_the_built_in_one),
            cmocka_unit_test(shipped_file_says_the_defaults),
            cmocka_unit_test(reference_is_in_the_docs),
            cmocka_unit_test(slips_of_the_pen),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
