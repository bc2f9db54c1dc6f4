/* SPDX-License-Identifier: Apache-2.0 */
/* Policy + request + host -> container spec. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "policy/policy.h"

#include <linux/capability.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define CPUS 4
#define MEMORY (8 * GIB)

static struct policy *parse(const char *text)
{
        struct error err = {};
        struct policy *policy = NULL;
        if (policy_parse("p.yaml", text, strlen(text), &policy, &err) < 0)
                fail_msg("%s", err.message);
        assert_non_null(policy);
        return policy;
}

static void resolve_on(const char *text, struct policy_request request, unsigned cpus, uint64_t memory,
    struct container_spec *ret)
{
        struct policy *policy = parse(text);
        struct error err = {};
        if (policy_resolve(policy, &request, cpus, memory, ret, &err) < 0)
                fail_msg("%s: %s", text, err.message);
        policy_free(policy); /* the spec must not need it */
}

static void resolve(const char *text, struct policy_request request, struct container_spec *ret)
{
        resolve_on(text, request, CPUS, MEMORY, ret);
}

static void assert_refused(const char *text, struct policy_request request, enum error_code code,
    const char *message, const char *hint)
{
        _cleanup_(error_clear) struct error err = {};
        struct container_spec spec = {.uid = 77};
        struct policy *policy = parse(text);
        assert_true(policy_resolve(policy, &request, CPUS, MEMORY, &spec, &err) < 0);
        assert_int_equal(spec.uid, 77); /* untouched */
        assert_int_equal(err.code, code);
        if (!strstr(err.message, message))
                fail_msg("expected %s\nfound %s", message, err.message);
        if (hint && (!err.hint || !strstr(err.hint, hint)))
                fail_msg("expected the hint %s\nfound %s", hint, err.hint ? err.hint : "none");
        policy_free(policy);
}

static void levels_without_a_word(void **state)
{
        static const struct {
                const char *level;
                struct limits limits;
                uint64_t concurrency;
        } cases[] = {
            {"trusted", {2, GIB, 120, 241, 256, 512 * MIB, 65536, 16 * MIB, 1024}, 64},
            {"untrusted", {1, 512 * MIB, 30, 31, 128, 256 * MIB, 32768, 8 * MIB, 1024}, 32},
            {"unknown", {0.5, 256 * MIB, 10, 11, 64, 128 * MIB, 16384, MIB, 256}, 16},
            {NULL, {0.5, 256 * MIB, 10, 11, 64, 128 * MIB, 16384, MIB, 256}, 16},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(container_spec_clear) struct container_spec spec = {};
                resolve("{}\n", (struct policy_request){.trust_level = cases[i].level}, &spec);
                assert_memory_equal(&spec.limits, &cases[i].limits, sizeof spec.limits);
                assert_int_equal(spec.level_concurrency, cases[i].concurrency);
                assert_string_equal(spec.trust_level, cases[i].level ? cases[i].level : "unknown");
                assert_string_equal(spec.backend, "native");
                assert_string_equal(spec.image, "host");
                assert_int_equal(spec.uid, 1000);
                assert_int_equal(spec.gid, 1000);
                assert_true(spec.read_only && spec.no_new_privileges && spec.capabilities == 0);
                assert_int_equal(spec.seccomp, SECCOMP_DEFAULT);
                assert_int_equal(spec.network, NETWORK_NONE);
                assert_null(spec.environment[0]);
                assert_null(spec.unsafe[0]);
                assert_true(spec.host_cpu_share == 4 && spec.host_mem_share == 6 * GIB);
                assert_true(spec.queue_when_full && spec.queue_length == 64 && spec.queue_timeout == 300);
                assert_true(spec.monitoring_interval == 0.1 && spec.monitoring_samples == 600);
                assert_int_equal(spec.host_uid_base, 1879048192);
                assert_int_equal(strlen(spec.policy_sha256), 64);
                assert_string_equal(spec.policy_path, "p.yaml");
        }
}

static void who_says_what_for_a_level(void **state)
{
        static const struct {
                const char *text, *level;
                double timeout;
                uint64_t memory, disk;
        } cases[] = {
            /* The smaller of built-in and top level. */
            {"timeout: 5\n", "unknown", 5, 256 * MIB, 128 * MIB},
            {"timeout: 500\n", "unknown", 10, 256 * MIB, 128 * MIB},
            {"timeout: 500\n", "trusted", 500, GIB, 512 * MIB},
            /* Its own word. */
            {"timeout: 500\ntrust_levels: {unknown: {timeout: 400}}\n", "unknown", 400, 256 * MIB,
                128 * MIB},
            /* Not above what trusted was lowered to. */
            {"trust_levels: {trusted: {timeout: 4}}\n", "unknown", 4, 256 * MIB, 128 * MIB},
            /* A level of the file's own takes from the top. */
            {"timeout: 7\ntrust_levels: {mine: {mem_limit: 2g}}\n", "mine", 7, 2 * GIB, 512 * MIB},
            /* Disk goes along with memory where nobody spoke of it. */
            {"mem_limit: 64m\n", "trusted", 120, 64 * MIB, 64 * MIB},
            {"trust_levels: {unknown: {mem_limit: 32m}}\n", "unknown", 10, 32 * MIB, 32 * MIB},
            /* Shares of the host. */
            {"mem_limit: 10%\n", "trusted", 120, MEMORY / 10, 512 * MIB},
            {"timeout: 749538825\ncpu_count: 0.00123456789%\n", "trusted", 749538825, GIB, 512 * MIB},
            {"trust_levels: {unknown: {mem_limit: 1%}}\n", "unknown", 10, MEMORY / 100, MEMORY / 100},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(container_spec_clear) struct container_spec spec = {};
                resolve(cases[i].text, (struct policy_request){.trust_level = cases[i].level}, &spec);
                assert_true(spec.limits.timeout == cases[i].timeout);
                assert_int_equal(spec.limits.mem_limit, cases[i].memory);
                assert_true(spec.limits.disk_limit == MIN(cases[i].disk, cases[i].memory));
        }
}

static void requests_tighten(void **state)
{
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        struct policy_request request = {.trust_level = "trusted",
            .timeout = "2.5",
            .mem_limit = "64m",
            .cpu_count = "0.5",
            .pids_limit = "9",
            .inode_limit = "100",
            .output_limit = "1k",
            .open_files = "32"};
        resolve("{}\n", request, &spec);
        struct limits expected = {0.5, 64 * MIB, 2.5, 3.5, 9, 64 * MIB, 100, 1024, 32};
        assert_memory_equal(&spec.limits, &expected, sizeof expected);
        container_spec_clear(&spec);

        /* Equal is allowed; what was asked for stays, what was derived is derived anew. */
        resolve("{}\n",
            (struct policy_request){.timeout = "10", .cpu_time = "4", .disk_limit = "1m", .mem_limit = "1%"},
            &spec);
        assert_true(spec.limits.timeout == 10 && spec.limits.cpu_time == 4);
        assert_int_equal(spec.limits.disk_limit, MIB);
        assert_int_equal(spec.limits.mem_limit, MEMORY / 100);
}

static void looser_requests_are_refused(void **state)
{
        static const struct {
                const char *text;
                struct policy_request request;
                const char *message, *hint;
        } cases[] = {
            {"{}\n", {.timeout = "60"},
                "timeout: 60 was asked for, but trust level \"unknown\" allows at most 10 seconds "
                "(timeout in built-in policy)",
                "trust_levels.unknown.timeout"},
            {"trust_levels:\n  unknown: {timeout: 9}\n", {.timeout = "9.1"},
                "at most 9 seconds (trust_levels.unknown.timeout at p.yaml:2:13)", NULL},
            {"timeout: 3\n", {.timeout = "4"}, "at most 3 seconds (timeout at p.yaml:1:1)", NULL},
            {"{}\n", {.mem_limit = "2g"},
                "mem_limit: 2g was asked for, but trust level \"unknown\" allows at most 256 MiB", NULL},
            {"{}\n", {.mem_limit = "50%"}, "mem_limit: 50% was asked for", NULL},
            {"{}\n", {.cpu_count = "0.6"}, "at most 0.5 CPUs", NULL},
            {"{}\n", {.pids_limit = "65"}, "at most 64 processes and threads", NULL},
            {"{}\n", {.cpu_time = "12"}, "at most 11 seconds", NULL},
            {"{}\n", {.disk_limit = "129m"}, "at most 128 MiB", NULL},
            {"{}\n", {.inode_limit = "16385"}, "at most 16384", NULL},
            {"{}\n", {.output_limit = "2m"}, "at most 1 MiB", NULL},
            {"{}\n", {.open_files = "257"}, "at most 256 descriptors", NULL},
            {"{}\n", {.trust_level = "unknwn"}, "trusted, untrusted, unknown", "unknown"},
            {"{}\n", {.trust_level = ""}, "trust level \"\" is not in the policy", NULL},
            {"{}\n", {.trust_level = "\x1b[2J"}, "\\x1b[2J", NULL},
            {"{}\n", {.backend = "docker"},
                "backend: \"docker\" was asked for, but trust level \"unknown\" allows: native",
                "trust_levels.unknown.backends"},
            {"{}\n", {.image = "other"},
                "image: \"other\" was asked for, but trust level \"unknown\" allows: host",
                "trust_levels.unknown.images"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_refused(
                    cases[i].text, cases[i].request, ERROR_REFUSED, cases[i].message, cases[i].hint);
}

static void words_that_cannot_be_read(void **state)
{
        static const char *const bad_environment[] = {"A=1", "=x", NULL};
        static const char *const no_value[] = {"A", NULL};
        static const char *const bad_name[] = {"A-B=1", NULL};
        static const char *const degraded[] = {"cgruop", NULL};
        static const struct {
                struct policy_request request;
                const char *message, *hint;
        } cases[] = {
            {{.timeout = "0"}, "timeout: found \"0\"; expected a number of seconds", NULL},
            {{.timeout = "-1"}, "timeout: found \"-1\"", NULL},
            {{.timeout = ""}, "timeout: found \"\"", NULL},
            {{.timeout = "nan"}, "timeout: found \"nan\"", NULL},
            {{.mem_limit = "12q"}, "mem_limit (--memory): found \"12q\"", NULL},
            {{.cpu_count = "two"}, "cpu_count (--cpus): found \"two\"", NULL},
            {{.pids_limit = "0"}, "pids_limit (--pids): found \"0\"", NULL},
            {{.pids_limit = "99999999999999999999"}, "pids_limit (--pids): found", NULL},
            {{.environment = bad_environment}, "env: found \"=x\"", NULL},
            {{.environment = no_value}, "env: found \"A\"", NULL},
            {{.environment = bad_name}, "env: found \"A-B=1\"", NULL},
            {{.allow_degraded = degraded}, "cgroup, swap, cpuset, landlock, groups, uid, proc", "cgroup"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_refused("{}\n", cases[i].request, ERROR_USAGE, cases[i].message, cases[i].hint);
}

static void the_host_bounds(void **state)
{
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        resolve_on("{}\n", (struct policy_request){.trust_level = "trusted"}, 1, 300 * MIB, &spec);
        assert_true(spec.limits.cpu_count == 1 && spec.limits.cpu_time == 121);
        assert_int_equal(spec.limits.mem_limit, 300 * MIB);
        assert_int_equal(spec.limits.disk_limit, 300 * MIB);
        assert_true(spec.host_cpu_share == 1);
        assert_int_equal(spec.host_mem_share, 225 * MIB);
        container_spec_clear(&spec);

        /* What the policy allows may be asked for, also where the host has less. */
        resolve_on(
            "{}\n", (struct policy_request){.trust_level = "trusted", .cpu_count = "2"}, 1, MEMORY, &spec);
        assert_true(spec.limits.cpu_count == 1);

        unsigned cpus = 0;
        uint64_t memory = 0;
        policy_host_capacity(&cpus, &memory);
        assert_true(cpus >= 1 && memory >= 16 * MIB);

        /* A share against a size can only be compared here. */
        assert_refused("mem_limit: 1%\ntrust_levels: {unknown: {mem_limit: 200m, disk_limit: 1m}}\n",
            (struct policy_request){}, ERROR_POLICY, "p.yaml:2:26: ", NULL);
}

static void weakenings_are_told(void **state)
{
        static const char text[] = "read_only: false\nunsafe: true\n"
                                   "trust_levels:\n"
                                   "  mine:\n"
                                   "    security_opt: [seccomp=unconfined]\n"
                                   "    cap_drop: [NET_RAW, CHOWN]\n"
                                   "    cap_add: [CAP_SYS_PTRACE]\n";
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        resolve(text, (struct policy_request){.trust_level = "mine"}, &spec);
        assert_false(spec.read_only);
        assert_false(spec.no_new_privileges);
        assert_int_equal(spec.seccomp, SECCOMP_UNCONFINED);
        assert_true(spec.capabilities & UINT64_C(1) << CAP_SYS_PTRACE);
        assert_true(spec.capabilities & UINT64_C(1) << CAP_KILL);
        assert_false(spec.capabilities & UINT64_C(1) << CAP_NET_RAW);
        assert_false(spec.capabilities & UINT64_C(1) << CAP_CHOWN);
        assert_string_equal(spec.unsafe[0], "security_opt: [\"seccomp=unconfined\"]");
        assert_string_equal(spec.unsafe[1], "cap_drop: [\"CHOWN\", \"NET_RAW\"]");
        assert_string_equal(spec.unsafe[2], "cap_add: [\"SYS_PTRACE\"]");
        assert_string_equal(spec.unsafe[3], "read_only: false");
        assert_null(spec.unsafe[4]);
        container_spec_clear(&spec);

        /* What loosens at top level does not reach code that nobody vouches for. */
        static const char *const strict[] = {"untrusted", "unknown"};
        for (size_t i = 0; i < ARRAY_SIZE(strict); i++) {
                resolve(text, (struct policy_request){.trust_level = strict[i]}, &spec);
                assert_true(spec.read_only && spec.no_new_privileges && spec.capabilities == 0);
                assert_null(spec.unsafe[0]);
                container_spec_clear(&spec);
        }
        resolve(
            "trust_levels: {unknown: {read_only: false, unsafe: true}}\n", (struct policy_request){}, &spec);
        assert_false(spec.read_only);
        assert_string_equal(spec.unsafe[0], "read_only: false");
}

static void choices_and_environment(void **state)
{
        static const char text[] =
            "images: [a, b]\nbackends: [docker]\nnetwork_mode: dependencies\n"
            "env: {A: \"1\", B: \"2\"}\nuser: \"5:6\"\n"
            "allocation: {default_trust_level: trusted, when_full: reject, cpu_share: 50%, mem_share: 1g}\n";
        static const char *const environment[] = {"B=x", "C=", "C=y=z", "LD_PRELOAD=/x", NULL};
        static const char *const degraded[] = {"cgroup", "proc", NULL};
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        resolve(text,
            (struct policy_request){
                .image = "b", .backend = "docker", .environment = environment, .allow_degraded = degraded},
            &spec);
        assert_string_equal(spec.trust_level, "trusted");
        assert_string_equal(spec.image, "b");
        assert_string_equal(spec.backend, "docker");
        assert_int_equal(spec.network, NETWORK_DEPENDENCIES);
        assert_int_equal(spec.uid, 5);
        assert_int_equal(spec.gid, 6);
        static const char *const expected[] = {"A=1", "B=x", "C=y=z", "LD_PRELOAD=/x"};
        for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
                assert_string_equal(spec.environment[i], expected[i]);
        assert_null(spec.environment[ARRAY_SIZE(expected)]);
        assert_int_equal(spec.degraded_allowed,
            1U << ENFORCE_CGROUP | 1U << ENFORCE_SWAP | 1U << ENFORCE_CPUSET | 1U << ENFORCE_PROC);
        assert_false(spec.queue_when_full);
        assert_true(spec.host_cpu_share == 2 && spec.host_mem_share == GIB);
        container_spec_clear(&spec);
        resolve(text, (struct policy_request){.trust_level = "unknown"}, &spec);
        assert_int_equal(spec.network, NETWORK_NONE);
        assert_null(enforcement_name(ENFORCEMENT_COUNT_));
}

/* Whose word counts for the OCI runtime, and that nobody gets round it. */
static void runtimes(void **state)
{
        static const char text[] = "backend: docker\nbackends: [native]\nimage: a\n"
                                   "docker: {runtime: runc}\n"
                                   "trust_levels: {untrusted: {runtime: runsc, runtimes: [kata]}}\n";
        static const struct {
                struct policy_request request;
                const char *runtime; /* NULL: refused */
        } cases[] = {
            {{.trust_level = "trusted"}, "runc"},
            {{.trust_level = "trusted", .runtime = "runc"}, "runc"},
            {{.trust_level = "trusted", .runtime = "runsc"}, NULL},
            {{.trust_level = "untrusted"}, "runsc"},
            {{.trust_level = "untrusted", .runtime = "kata"}, "kata"},
            {{.trust_level = "untrusted", .runtime = "runc"}, NULL},
            {{.trust_level = "untrusted", .backend = "native"}, NULL},
            {{.trust_level = "trusted", .backend = "native", .runtime = "runc"}, NULL},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(container_spec_clear) struct container_spec spec = {};
                if (cases[i].runtime) {
                        resolve(text, cases[i].request, &spec);
                        assert_string_equal(spec.docker_runtime, cases[i].runtime);
                        continue;
                }
                struct policy *policy = parse(text);
                _cleanup_(error_clear) struct error err = {};
                assert_true(policy_resolve(policy, &cases[i].request, 2, GIB, &spec, &err) < 0);
                assert_int_equal(err.code, ERROR_REFUSED);
                assert_non_null(strstr(err.message, "runtime"));
                (void)policy_free(policy);
        }
        /* The engine's group alone binds nobody who may run natively. */
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        resolve(text, (struct policy_request){.trust_level = "trusted", .backend = "native"}, &spec);
        assert_null(spec.docker_runtime);
}

/* `policy show` prints a policy that means the same. */
static void what_is_shown_can_be_read(void **state)
{
        static const char text[] =
            "timeout: 33\nenv: {A: \"x\\\"\\\\y\"}\nread_only: false\nunsafe: true\nmem_limit: 10%\n"
            "network: {limits: {names: 7}, whitelist: [{name: a, kind: pypi, packages: {allow: [\"x*\"]},"
            " max_bytes: 5, login: \"env:A\"}]}\n"
            "docker: {host: \"unix:///x\", ready: 3}\n";
        struct policy *policy = parse(text);
        char *shown = NULL, *again = NULL;
        assert_int_equal(policy_show(policy, "trusted", &shown, NULL), 0);
        assert_non_null(strstr(shown, "timeout: 33 "));
        assert_non_null(strstr(shown, "# line 1\n"));
        assert_non_null(strstr(shown, "10% of this host"));
        assert_non_null(strstr(shown, "env: [\"A=x\\\"\\\\y\"]"));
        struct policy *second = parse(shown);
        assert_int_equal(policy_show(second, "trusted", &again, NULL), 0);
        const char *left = strstr(shown, "cpu_count"), *right = strstr(again, "cpu_count");
        for (; *left != '\0'; left += strcspn(left, "\n") + 1, right += strcspn(right, "\n") + 1)
                assert_memory_equal(left, right, strcspn(left, "#\n"));
        struct error err = {};
        assert_true(policy_show(policy, "nosuch", &shown, &err) < 0);
        assert_int_equal(err.code, ERROR_REFUSED);
        error_clear(&err);
        free(shown);
        free(again);
        policy_free(policy);
        policy_free(second);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(levels_without_a_word),
            cmocka_unit_test(who_says_what_for_a_level),
            cmocka_unit_test(requests_tighten),
            cmocka_unit_test(looser_requests_are_refused),
            cmocka_unit_test(words_that_cannot_be_read),
            cmocka_unit_test(the_host_bounds),
            cmocka_unit_test(weakenings_are_told),
            cmocka_unit_test(choices_and_environment),
            cmocka_unit_test(runtimes),
            cmocka_unit_test(what_is_shown_can_be_read),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
