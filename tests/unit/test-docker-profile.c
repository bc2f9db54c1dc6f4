/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile that a Docker engine gets, evaluated as libseccomp does, against the native filter, run
 * instruction by instruction: every call of the table, with many arguments. What the native one allows must
 * be allowed, and what is allowed beyond it must be named here.
 */
#include "sandbox/docker/profile.h"
#include "seccomp/table.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include <cmocka.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

/* ---- The native filter ---- */

static uint32_t run_filter(const struct seccomp_program *program, const struct seccomp_data *data)
{
        uint32_t accumulator = 0;
        for (size_t at = 0; at < program->length; at++) {
                const struct sock_filter *code = &program->code[at];
                uint32_t k = code->k;
                switch (code->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        assert_true(k + sizeof accumulator <= sizeof *data);
                        memcpy(&accumulator, (const char *)data + k, sizeof accumulator);
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        accumulator &= k;
                        break;
                case BPF_JMP | BPF_JA:
                        at += k;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        at += accumulator == k ? code->jt : code->jf;
                        break;
                case BPF_JMP | BPF_JGT | BPF_K:
                        at += accumulator > k ? code->jt : code->jf;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        at += accumulator >= k ? code->jt : code->jf;
                        break;
                case BPF_JMP | BPF_JSET | BPF_K:
                        at += accumulator & k ? code->jt : code->jf;
                        break;
                case BPF_RET | BPF_K:
                        return k;
                default:
                        fail_msg("instruction 0x%x", code->code);
                }
        }
        fail_msg("the filter has no end");
        return 0;
}

/* ---- The engine's ---- */

struct profile {
        json_t *document;
        const json_t *rules;
};

static bool condition_holds(const json_t *condition, const uint64_t args[6])
{
        const char *operation = json_string_value(json_object_get(condition, "op"));
        uint64_t seen = args[json_integer_value(json_object_get(condition, "index"))];
        uint64_t value = (uint64_t)json_integer_value(json_object_get(condition, "value"));
        uint64_t second = (uint64_t)json_integer_value(json_object_get(condition, "valueTwo"));
        if (strcmp(operation, "SCMP_CMP_MASKED_EQ") == 0)
                return (seen & value) == second;
        assert_string_equal(operation, "SCMP_CMP_EQ");
        return seen == value;
}

static bool rule_allows(const json_t *rule, const char *name, const uint64_t args[6])
{
        bool named = false;
        size_t i;
        const json_t *item;
        json_array_foreach (json_object_get(rule, "names"), i, item)
                named = named || strcmp(json_string_value(item), name) == 0;
        if (!named)
                return false;
        assert_string_equal(json_string_value(json_object_get(rule, "action")), "SCMP_ACT_ALLOW");
        unsigned used = 0;
        json_array_foreach (json_object_get(rule, "args"), i, item) {
                unsigned bit = 1U << json_integer_value(json_object_get(item, "index"));
                assert_false(used & bit); /* runc would take a second look at one argument as another rule */
                used |= bit;
                if (!condition_holds(item, args))
                        return false;
        }
        return true;
}

static bool profile_allows(const struct profile *profile, const char *name, const uint64_t args[6])
{
        size_t i;
        const json_t *rule;
        json_array_foreach (profile->rules, i, rule)
                if (rule_allows(rule, name, args))
                        return true;
        return false;
}

/* ---- The comparison ---- */

/* Allowed by the engine's profile alone, since the init needs them before it loads the native filter. */
static bool named_difference(const char *name, const uint64_t args[6])
{
        static const char *const whole[] = {"seccomp", "landlock_create_ruleset", "landlock_add_rule",
            "landlock_restrict_self", "setrlimit", "prlimit64", "sched_setaffinity"};
        for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
                if (strcmp(whole[i], name) == 0)
                        return true;
        return strcmp(name, "prctl") == 0 &&
               ((uint32_t)args[0] == PR_CAPBSET_DROP || (uint32_t)args[0] == PR_CAP_AMBIENT);
}

static void compare(const struct profile *profile, const struct seccomp_call *call, const uint64_t args[6])
{
        struct seccomp_data data = {.nr = call->number, .arch = NATIVE};
        for (int i = 0; i < 6; i++)
                data.args[i] = args[i];
        bool native = run_filter(seccomp_program(false), &data) == SECCOMP_RET_ALLOW;
        bool engine = profile_allows(profile, call->name, args);
        if (native == engine || (engine && named_difference(call->name, args)))
                return;
        fail_msg("%s(0x%llx, 0x%llx, 0x%llx): native %s, engine %s", call->name, (unsigned long long)args[0],
            (unsigned long long)args[1], (unsigned long long)args[2], native ? "allows" : "refuses",
            engine ? "allows" : "refuses");
}

/* What rules look for, neighbours of it, and all of that with something in the half that the kernel drops.
 */
static const uint64_t interesting[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 16, 17, 23, 24, 38, 40, 47, 0x80001,
    0x801, 0x1000, 0x2000, 0x8000, 0xc000, 0x6000, 0x81a4, 0x20000, 0x10000000, 0x2000000, 0x7e020000,
    0x3d0f00, 0x5401, 0x5412, 0x541b, 0x80086601, 0x53564d41, 0xffffffff, UINT64_C(0x100000000),
    UINT64_C(0x100000001), UINT64_C(0x10000000a), UINT64_C(0x7fff00005401), UINT64_MAX};

static void compare_many(const struct profile *profile, const struct seccomp_call *call)
{
        size_t count = ARRAY_SIZE(interesting);
        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < count; j++)
                        for (size_t k = 0; k < count; k += 3) {
                                const uint64_t args[6] = {interesting[i], interesting[j], interesting[k]};
                                compare(profile, call, args);
                        }
}

static void both_filters_agree(void **state)
{
        struct profile profile = {.document = docker_seccomp_profile()};
        assert_non_null(profile.document);
        profile.rules = json_object_get(profile.document, "syscalls");
        assert_string_equal(
            json_string_value(json_object_get(profile.document, "defaultAction")), "SCMP_ACT_ERRNO");
        unsigned compared = 0;
        for (size_t g = 0; g < seccomp_groups_count; g++)
                for (size_t i = 0; i < seccomp_groups[g].calls_count; i++) {
                        const struct seccomp_call *call = &seccomp_groups[g].calls[i];
                        if (call->number < 0)
                                continue;
                        static const uint64_t nothing[6];
                        compare(&profile, call, nothing);
                        if (call->rule)
                                compare_many(&profile, call);
                        compared++;
                }
        assert_true(compared > 300);
        json_decref(profile.document);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(both_filters_agree)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
