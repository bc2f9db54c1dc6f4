/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/profile.h"

#include "seccomp/table.h"

#include <linux/prctl.h>

#define ARGUMENTS 6
#define TERMS_MAX 128

/* What all bits that a rule looks at must be. A mask of 0: anything. */
struct masked {
        uint64_t mask, value;
};

/* All arguments as given: one rule of the engine's format, which takes one comparison per argument. */
struct term {
        struct masked arguments[ARGUMENTS];
};

/* One of the terms must hold. */
struct terms {
        struct term items[TERMS_MAX];
        size_t count;
};

/* Adds a condition on one argument. False: it contradicts what is there. */
static bool term_narrow(struct term *term, unsigned argument, struct masked with)
{
        struct masked *have = &term->arguments[argument];
        if ((have->value ^ with.value) & have->mask & with.mask)
                return false;
        have->mask |= with.mask;
        have->value |= with.value;
        return true;
}

/* "The masked bits are as given", or any one of them is not: the ways in which a test can hold or fail. */
static size_t alternatives(const struct seccomp_test *test, bool holds, struct masked ret[64])
{
        const struct masked equal = test->kind == TEST_NULL      ? (struct masked){UINT64_MAX, 0}
                                    : test->kind == TEST_ANY_BIT ? (struct masked){test->mask, 0}
                                                                 : (struct masked){test->mask, test->value};
        bool positive = test->kind == TEST_EQUAL || test->kind == TEST_NULL;
        if (positive == holds) {
                ret[0] = equal;
                return 1;
        }
        size_t count = 0;
        for (unsigned bit = 0; bit < 64; bit++) {
                uint64_t one = UINT64_C(1) << bit;
                if (equal.mask & one)
                        ret[count++] = (struct masked){one, ~equal.value & one};
        }
        return count;
}

/* Every term of `from` with every alternative. False: too many. */
static bool multiply(
    const struct terms *from, const struct seccomp_test *test, bool holds, struct terms *into)
{
        struct masked ways[64];
        size_t count = alternatives(test, holds, ways);
        for (size_t i = 0; i < from->count; i++)
                for (size_t j = 0; j < count; j++) {
                        struct term term = from->items[i];
                        if (!term_narrow(&term, test->argument, ways[j]))
                                continue;
                        if (into->count == TERMS_MAX)
                                return false;
                        into->items[into->count++] = term;
                }
        return true;
}

static bool append(struct terms *to, const struct terms *from)
{
        if (from->count > TERMS_MAX - to->count)
                return false;
        memcpy(to->items + to->count, from->items, from->count * sizeof from->items[0]);
        to->count += from->count;
        return true;
}

/*
 * When a rule allows. Clauses are tried in order: what a refusing clause takes is missing from all behind
 * it; what an allowing one takes need not be, since allowed twice is allowed.
 */
static bool allowed_terms(const struct seccomp_rule *rule, struct terms *allowed)
{
        struct terms left = {.count = 1};
        for (size_t i = 0; i < rule->clauses_count; i++) {
                const struct seccomp_clause *clause = &rule->clauses[i];
                if (clause->verdict == VERDICT_ALLOW) {
                        struct terms taken = left;
                        for (size_t j = 0; j < clause->tests_count; j++) {
                                struct terms next = {};
                                if (!multiply(&taken, &clause->tests[j], true, &next))
                                        return false;
                                taken = next;
                        }
                        if (!append(allowed, &taken))
                                return false;
                        continue;
                }
                struct terms missed = {};
                for (size_t j = 0; j < clause->tests_count; j++)
                        if (!multiply(&left, &clause->tests[j], false, &missed))
                                return false;
                left = missed;
        }
        return rule->otherwise != VERDICT_ALLOW || append(allowed, &left);
}

/* Beyond the table, for the init: see the header. */
static const char *const init_calls[] = {"seccomp", "landlock_create_ruleset", "landlock_add_rule",
    "landlock_restrict_self", "setrlimit", "prlimit64", "sched_setaffinity"};
static const uint32_t init_prctls[] = {PR_CAPBSET_DROP, PR_CAP_AMBIENT};

static bool needed_by_init(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(init_calls); i++)
                if (strcmp(init_calls[i], name) == 0)
                        return true;
        return false;
}

static json_t *allow(const char *name)
{
        return json_pack("{s:[s], s:s, s:[]}", "names", name, "action", "SCMP_ACT_ALLOW", "args");
}

/* One rule: every comparison of it must hold. */
static bool add_term(json_t *rules, const char *name, const struct term *term)
{
        json_t *rule = allow(name);
        json_t *args = json_object_get(rule, "args");
        bool good = rule != NULL;
        for (unsigned i = 0; i < ARGUMENTS && good; i++) {
                struct masked condition = term->arguments[i];
                if (condition.mask == UINT64_MAX) /* beyond what JSON's integers hold here */
                        good = json_array_append_new(args, json_pack("{s:i, s:I, s:i, s:s}", "index", (int)i,
                                                               "value", (json_int_t)condition.value,
                                                               "valueTwo", 0, "op", "SCMP_CMP_EQ")) == 0;
                else if (condition.mask != 0)
                        good = json_array_append_new(
                                   args, json_pack("{s:i, s:I, s:I, s:s}", "index", (int)i, "value",
                                             (json_int_t)condition.mask, "valueTwo",
                                             (json_int_t)condition.value, "op", "SCMP_CMP_MASKED_EQ")) == 0;
        }
        return json_array_append_new(rules, rule) == 0 && good;
}

static bool add_ruled(json_t *rules, const struct seccomp_call *call)
{
        struct terms terms = {};
        if (!allowed_terms(call->rule, &terms))
                return false;
        bool good = true;
        for (size_t i = 0; i < terms.count && good; i++)
                good = add_term(rules, call->name, &terms.items[i]);
        for (size_t i = 0; i < ARRAY_SIZE(init_prctls) && good && strcmp(call->name, "prctl") == 0; i++) {
                const struct term term = {.arguments = {{UINT32_MAX, init_prctls[i]}}};
                good = add_term(rules, call->name, &term);
        }
        return good;
}

json_t *docker_seccomp_profile(void)
{
        json_t *rules = json_array();
        json_t *names = json_array();
        bool good = rules && names;
        for (size_t g = 0; g < seccomp_groups_count && good; g++)
                for (size_t i = 0; i < seccomp_groups[g].calls_count && good; i++) {
                        const struct seccomp_call *call = &seccomp_groups[g].calls[i];
                        if (call->number < 0)
                                continue;
                        if (needed_by_init(call->name) ||
                            (!call->rule && seccomp_groups[g].verdict == VERDICT_ALLOW))
                                good = json_array_append_new(names, json_string(call->name)) == 0;
                        else if (call->rule)
                                good = add_ruled(rules, call);
                }
        json_t *plain =
            good ? json_pack("{s:O, s:s, s:[]}", "names", names, "action", "SCMP_ACT_ALLOW", "args") : NULL;
        good = good && plain && json_array_insert(rules, 0, plain) == 0;
        json_t *profile =
            good ? json_pack("{s:s, s:[s], s:O}", "defaultAction", "SCMP_ACT_ERRNO", "architectures",
#if defined(__x86_64__)
                       "SCMP_ARCH_X86_64",
#elif defined(__aarch64__)
                       "SCMP_ARCH_AARCH64",
#else
#error "name this architecture as libseccomp does"
#endif
                       "syscalls", rules)
                 : NULL;
        json_decref(plain);
        json_decref(names);
        json_decref(rules);
        return profile;
}
