/* SPDX-License-Identifier: Apache-2.0 */
/* network_mode and network.whitelist into the network part of a container spec; the host's own indexes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "policy/host_index.h"
#include "policy/policy.h"

#include <fcntl.h>
#include <sys/stat.h>

#define MIB (UINT64_C(1) << 20)

static const char open_policy[] = "network_mode: dependencies\nallocation: {default_trust_level: trusted}\n";

/* The variables that a lookup reads, as a case wants them; all others are gone. */
static void set_environment(const char *const *assignments)
{
        static const char *const names[] = {"PIP_INDEX_URL", "PIP_CONFIG_FILE", "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME", "HOME", "npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_userconfig",
            "NPM_CONFIG_USERCONFIG", "npm_config_globalconfig"};
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                assert_int_equal(unsetenv(names[i]), 0);
        for (size_t i = 0; assignments[i]; i++) {
                char name[64];
                size_t size = strcspn(assignments[i], "=");
                (void)snprintf(name, sizeof name, "%.*s", (int)size, assignments[i]);
                assert_int_equal(setenv(name, assignments[i] + size + 1, 1), 0);
        }
}

#define ENVIRONMENT(...) set_environment((const char *const[]){__VA_ARGS__, NULL})

static int resolve_text(
    const char *text, struct policy_request request, struct container_spec *ret, struct error *err)
{
        struct policy *policy = NULL;
        if (policy_parse("p.yaml", text, strlen(text), &policy, err) < 0)
                fail_msg("%s: %s", text, err->message);
        assert_non_null(policy);
        int r = policy_resolve(policy, &request, 4, 8192 * MIB, ret, err);
        policy_free(policy);
        return r;
}

static void resolve(const char *text, struct policy_request request, struct container_spec *ret)
{
        _cleanup_(error_clear) struct error err = {};
        if (resolve_text(text, request, ret, &err) < 0)
                fail_msg("%s: %s", text, err.message);
}

static void refuse(
    const char *text, struct policy_request request, enum error_code code, const char *message)
{
        _cleanup_(error_clear) struct error err = {};
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        assert_true(resolve_text(text, request, &spec, &err) < 0);
        assert_int_equal(err.code, code);
        if (!strstr(err.message, message))
                fail_msg("expected %s\nfound %s", message, err.message);
}

#define ASKED(...) ((const char *const[]){__VA_ARGS__, NULL})

static void requests_tighten(void **state)
{
        ENVIRONMENT("HOME=/nowhere", "npm_config_registry=https://npm.example/");
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        resolve("{}\n", (struct policy_request){.trust_level = "trusted"}, &spec);
        assert_int_equal(spec.network, NETWORK_NONE);
        assert_null(spec.gateway);
        container_spec_clear(&spec);

        /* What the top level opens stays closed for code that nobody vouches for. */
        resolve(open_policy, (struct policy_request){.trust_level = "untrusted"}, &spec);
        assert_int_equal(spec.network, NETWORK_NONE);
        container_spec_clear(&spec);

        resolve(open_policy, (struct policy_request){}, &spec);
        assert_int_equal(spec.network, NETWORK_DEPENDENCIES);
        assert_int_equal(spec.gateway->entry_count, 2);
        assert_string_equal(spec.gateway->entries[0].name, "pypi");
        assert_string_equal(spec.gateway->entries[0].url, "https://pypi.org/simple/");
        assert_string_equal(spec.gateway->entries[1].url, "https://npm.example/");
        container_spec_clear(&spec);

        ENVIRONMENT("HOME=/nowhere"); /* of npm nothing is known then */
        resolve(open_policy, (struct policy_request){}, &spec);
        assert_int_equal(spec.gateway->entry_count, 1);
        ENVIRONMENT("HOME=/nowhere", "npm_config_registry=https://npm.example/");
        assert_int_equal(spec.gateway->limits[GATEWAY_NAMES], 256);
        assert_int_equal(spec.gateway->limits[GATEWAY_BYTES], 1024 * MIB);
        container_spec_clear(&spec);

        resolve(open_policy, (struct policy_request){.network_mode = "none"}, &spec);
        assert_int_equal(spec.network, NETWORK_NONE);
        assert_null(spec.gateway);
        container_spec_clear(&spec);

        resolve(open_policy, (struct policy_request){.whitelist = ASKED("npm")}, &spec);
        assert_int_equal(spec.gateway->entry_count, 1);
        assert_int_equal(spec.gateway->entries[0].kind, GATEWAY_NPM);

        refuse("{}\n", (struct policy_request){.trust_level = "trusted", .network_mode = "dependencies"},
            ERROR_REFUSED, "trust level \"trusted\" allows \"none\"");
        refuse("{}\n", (struct policy_request){.whitelist = ASKED("npm")}, ERROR_REFUSED, "is \"none\"");
        refuse(open_policy, (struct policy_request){.network_mode = "none", .whitelist = ASKED("npm")},
            ERROR_REFUSED, "is \"none\"");
        refuse(open_policy, (struct policy_request){.whitelist = ASKED("npm", "pip")}, ERROR_REFUSED,
            "\"pip\" was asked for, but is not in it");
        refuse(open_policy, (struct policy_request){.network_mode = "host"}, ERROR_USAGE,
            "expected one of: none, dependencies");
}

static void entries_are_complete(void **state)
{
        ENVIRONMENT("HOME=/nowhere");
        static const char text[] =
            "network_mode: dependencies\nallocation: {default_trust_level: trusted}\n"
            "network:\n  user: \"7:8\"\n  cache: /var/tmp/x\n  cache_limit: 5m\n"
            "  limits: {names: 3, bytes: 2m}\n  whitelist:\n"
            "    - {name: a, kind: pypi, url: \"https://x/simple\", hosts: [\"files.x:8443\"],\n"
            "       addresses: [10.0.0.0/8], packages: {allow: [\"b*\"], deny: [bc]}, max_bytes: 1k,\n"
            "       max_files: 9, sdist: true, yanked: true, login: \"env:L\", ca_bundle: /ca.pem,\n"
            "       proxy: \"http://proxy:3128\"}\n"
            "    - {name: c, kind: npm, url: \"https://y/\", token: \"file:/etc/token\"}\n"
            "    - {name: d, kind: web, prefixes: [\"https://z/d/\"], query: true, git: true}\n";
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        resolve(text, (struct policy_request){}, &spec);
        const struct gateway_spec *gateway = spec.gateway;
        assert_int_equal(gateway->uid, 7);
        assert_int_equal(gateway->gid, 8);
        assert_string_equal(gateway->cache, "/var/tmp/x");
        assert_int_equal(gateway->cache_bytes, 5 * MIB);
        assert_int_equal(gateway->limits[GATEWAY_NAMES], 3);
        assert_int_equal(gateway->limits[GATEWAY_BYTES], 2 * MIB);
        assert_int_equal(gateway->limits[GATEWAY_MISSES], 16);
        assert_int_equal(gateway->entry_count, 3);
        const struct gateway_entry *entry = &gateway->entries[0];
        assert_string_equal(entry->url, "https://x/simple");
        assert_string_equal(entry->hosts[0], "files.x:8443");
        assert_null(entry->hosts[1]);
        assert_string_equal(entry->addresses[0], "10.0.0.0/8");
        assert_string_equal(entry->allow[0], "b*");
        assert_string_equal(entry->deny[0], "bc");
        assert_int_equal(entry->max_bytes, 1024);
        assert_int_equal(entry->max_files, 9);
        assert_true(entry->sdist && entry->yanked);
        assert_string_equal(entry->login, "env:L");
        assert_string_equal(entry->ca_bundle, "/ca.pem");
        assert_string_equal(entry->proxy, "http://proxy:3128");
        assert_string_equal(gateway->entries[1].token, "file:/etc/token");
        assert_false(gateway->entries[1].sdist);
        assert_string_equal(gateway->entries[2].prefixes[0], "https://z/d/");
        assert_true(gateway->entries[2].query && gateway->entries[2].git);
        assert_null(gateway->entries[2].url);
        assert_string_equal(gateway_kind_name(GATEWAY_WEB), "web");
        assert_string_equal(gateway_limit_name(GATEWAY_NAME_BYTES), "name_bytes");
        assert_string_equal(gateway_limit_name(GATEWAY_BYTES), "bytes");
}

static void the_words_of_pip_and_npm(void **state)
{
        static const struct {
                const char *text, *expected;
        } pip[] =
            {
                {"", NULL},
                {"index-url = https://a/\n", NULL},
                {"[global]\nindex-url = https://a/s\n", "https://a/s"},
                {"[global]\r\nindex_url: https://a/s\r\n", "https://a/s"},
                {"[install]\nindex-url=https://i/\n[global]\nindex-url=https://a/\n", "https://i/"},
                {"[global]\n# index-url = https://a/\n;index-url = https://b/\n", NULL},
                {"[global]\nextra-index-url = https://a/\n", NULL},
                {"[global]\nextra-index-url =\n    index-url = https://a/\n", NULL},
                {"[global]\nindex-url = https://a/\nindex-url = https://b/\n", "https://b/"},
            },
          npm[] = {
              {"registry=https://a/\n", "https://a/"},
              {"registry = \"https://a/\"\n", "https://a/"},
              {"@scope:registry=https://a/\n//host/:_authToken=x\n", NULL},
              {"#registry=https://a/\n", NULL},
              {"[section]\nregistry=https://a/\n", NULL},
          };
        for (size_t i = 0; i < ARRAY_SIZE(pip) + ARRAY_SIZE(npm); i++) {
                bool is_pip = i < ARRAY_SIZE(pip);
                const char *text = is_pip ? pip[i].text : npm[i - ARRAY_SIZE(pip)].text;
                const char *expected = is_pip ? pip[i].expected : npm[i - ARRAY_SIZE(pip)].expected;
                _cleanup_(freep) char *found = is_pip ? pip_index_of(text) : npm_registry_of(text);
                if (!found || !expected ? found != expected : strcmp(found, expected) != 0)
                        fail_msg("%s: %s, expected %s", text, found ? found : "nothing",
                            expected ? expected : "nothing");
        }
}

static void credentials_in_urls(void **state)
{
        static const struct {
                const char *given, *url, *login;
        } cases[] = {
            {"https://a/s", "https://a/s", NULL},
            {"https://u:p@a/s", "https://a/s", "text:u:p"},
            {"https://u%40x:p%3a%2F@a:8/s@t", "https://a:8/s@t", "text:u@x:p:/"},
            {"https://u@p:q@a/", "https://a/", "text:u@p:q"},
            {"https://u@a/", NULL, NULL},
            {"https://u:p%0a@a/", NULL, NULL},
            {"https://u:p%@a/", NULL, NULL},
            {"a/b", NULL, NULL},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(freep) char *url = NULL;
                _cleanup_(freep) char *login = NULL;
                int r = split_login(cases[i].given, &url, &login);
                assert_int_equal(r, cases[i].url ? 0 : -EINVAL);
                if (r < 0)
                        continue;
                assert_string_equal(url, cases[i].url);
                assert_true(!login == !cases[i].login);
                if (login)
                        assert_string_equal(login, cases[i].login);
        }
}

static void write_file(const char *path, mode_t mode, const char *text)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        assert_int_equal(fchmod(fd, mode), 0);
        assert_int_equal(close(fd), 0);
}

static void assert_index(enum gateway_kind kind, const char *url, const char *login)
{
        _cleanup_(error_clear) struct error err = {};
        _cleanup_(freep) char *found = NULL;
        _cleanup_(freep) char *found_login = NULL;
        if (host_index(kind, &found, &found_login, &err) < 0)
                fail_msg("%s", err.message);
        assert_string_equal(found, url);
        assert_true(!found_login == !login);
        if (login)
                assert_string_equal(found_login, login);
}

static void the_host_is_asked(void **state)
{
        char home[] = "/tmp/test-policy-network-XXXXXX", path[128], assignment[160];
        assert_non_null(mkdtemp(home));
        (void)snprintf(assignment, sizeof assignment, "HOME=%s", home);
        (void)snprintf(path, sizeof path, "%s/.npmrc", home);
        write_file(path, 0600, "registry=https://n:pw@npm.example/\n");
        ENVIRONMENT(assignment);
        assert_index(GATEWAY_NPM, "https://npm.example/", "text:n:pw");

        /* A variable goes before a file; one that is empty says nothing. */
        ENVIRONMENT(assignment, "npm_config_registry=https://other.example/");
        assert_index(GATEWAY_NPM, "https://other.example/", NULL);
        ENVIRONMENT(assignment, "npm_config_registry=");
        assert_index(GATEWAY_NPM, "https://npm.example/", "text:n:pw");

        /* What others may write is not believed. */
        ENVIRONMENT(assignment);
        write_file(path, 0666, "registry=https://evil.example/\n");
        _cleanup_(error_clear) struct error err = {};
        char *url = NULL, *login = NULL;
        assert_true(host_index(GATEWAY_NPM, &url, &login, &err) < 0);
        assert_int_equal(err.code, ERROR_POLICY);
        assert_non_null(strstr(err.message, "others can't write"));
        write_file(path, 0600, "registry=ftp://x/\n");
        assert_true(host_index(GATEWAY_NPM, &url, &login, &err) < 0);
        assert_non_null(strstr(err.message, "is no URL"));
        write_file(path, 0600, "registry=http://10.0.0.1/\n");
        refuse(open_policy, (struct policy_request){}, ERROR_POLICY, "is not reached by https");
        (void)unlink(path);

        (void)snprintf(path, sizeof path, "%s/pip.conf", home);
        write_file(path, 0644, "[global]\nindex-url = https://pip.example/simple\n");
        (void)snprintf(assignment, sizeof assignment, "PIP_CONFIG_FILE=%s", path);
        ENVIRONMENT("HOME=/nowhere", assignment);
        assert_index(GATEWAY_PYPI, "https://pip.example/simple", NULL);
        ENVIRONMENT("HOME=/nowhere", "PIP_CONFIG_FILE=/dev/null", "PIP_INDEX_URL=https://v.example/simple");
        assert_index(GATEWAY_PYPI, "https://v.example/simple", NULL);
        (void)unlink(path);
        (void)rmdir(home);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(requests_tighten),
            cmocka_unit_test(entries_are_complete),
            cmocka_unit_test(the_words_of_pip_and_npm),
            cmocka_unit_test(credentials_in_urls),
            cmocka_unit_test(the_host_is_asked),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
