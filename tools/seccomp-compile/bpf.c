/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the program from its last instruction to its first, so that whatever an instruction jumps to exists
 * already and its distance is known. BPF jumps only forward, and conditionally only over 255 instructions: a
 * target that is too far gets a stand-in nearby (a copy, where it is a return; an unconditional jump
 * otherwise).
 *
 * A program: the architecture, the number, a search tree over the ranges, argument rules, returns. Its
 * instructions are limited to those that the kernel can evaluate itself when a filter is loaded (linux
 * >= 5.11 does so for every number, and later never runs the filter for calls that are allowed whatever
 * their arguments).
 */
#include "seccomp-compile/bpf.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call table for this architecture"
#endif

#define JUMP_MAX 255
#define REACH (JUMP_MAX - 2) /* leaves room for the stand-ins that a jump may need */
#define RULES_MAX 32

/* Positions count from the end: the last instruction is 0. */
typedef size_t label;

struct writer {
        struct sock_filter list[CODE_MAX];
        size_t count;
        bool with_notify;
        bool full;
        struct {
                const struct seccomp_rule *rule;
                label at;
        } rules[RULES_MAX];
        size_t rules_count;
};

static label put(struct writer *writer, struct sock_filter instruction)
{
        if (writer->count == CODE_MAX) {
                writer->full = true;
                return 0;
        }
        writer->list[writer->count] = instruction;
        return writer->count++;
}

/* An existing return of that value within reach, or a new one. */
static label put_return(struct writer *writer, uint32_t value)
{
        for (size_t back = 1; back <= writer->count && back <= REACH; back++) {
                const struct sock_filter *old = &writer->list[writer->count - back];
                if (old->code == (BPF_RET | BPF_K) && old->k == value)
                        return writer->count - back;
        }
        return put(writer, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

static label within_reach(struct writer *writer, label target)
{
        if (writer->count - target <= REACH)
                return target;
        const struct sock_filter *there = &writer->list[target];
        if (there->code == (BPF_RET | BPF_K))
                return put_return(writer, there->k);
        return put(
            writer, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(writer->count - target - 1)));
}

static label put_jump(struct writer *writer, uint16_t operation, uint32_t value, label yes, label no)
{
        yes = within_reach(writer, yes);
        no = within_reach(writer, no);
        uint8_t to_yes = (uint8_t)(writer->count - yes - 1);
        uint8_t to_no = (uint8_t)(writer->count - no - 1);
        return put(writer, (struct sock_filter)BPF_JUMP(BPF_JMP | operation | BPF_K, value, to_yes, to_no));
}

static label put_load(struct writer *writer, size_t offset)
{
        return put(writer, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static label put_verdict(struct writer *writer, enum seccomp_verdict verdict)
{
        static const uint32_t actions[] = {
            [VERDICT_ALLOW] = SECCOMP_RET_ALLOW,
            [VERDICT_EPERM] = SECCOMP_RET_ERRNO | EPERM,
            [VERDICT_ENOSYS] = SECCOMP_RET_ERRNO | ENOSYS,
            [VERDICT_NOTIFY] = SECCOMP_RET_USER_NOTIF,
            [VERDICT_BROKERED] = SECCOMP_RET_USER_NOTIF,
            [VERDICT_ENOTTY] = SECCOMP_RET_ERRNO | ENOTTY,
            [VERDICT_EAFNOSUPPORT] = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
        };
        if ((verdict == VERDICT_NOTIFY || verdict == VERDICT_BROKERED) && !writer->with_notify)
                verdict = VERDICT_EPERM;
        return put_return(writer, actions[verdict]);
}

/* Both architectures are little-endian: the low half stands first. */
static size_t low_half(uint8_t argument)
{
        return offsetof(struct seccomp_data, args) + 8 * (size_t)argument;
}

/* The accumulator already holds what this test looks at, whichever way the test before went. */
static bool same_value(const struct seccomp_test *before, const struct seccomp_test *test)
{
        return before && before->kind != TEST_NULL && test->kind != TEST_NULL &&
               before->argument == test->argument && before->mask == test->mask;
}

static label put_test(
    struct writer *writer, const struct seccomp_test *test, bool loaded, label yes, label no)
{
        if (test->kind == TEST_NULL) {
                (void)put_jump(writer, BPF_JEQ, 0, yes, no);
                label high = put_load(writer, low_half(test->argument) + 4);
                (void)put_jump(writer, BPF_JEQ, 0, high, no);
                return put_load(writer, low_half(test->argument));
        }
        label at = 0;
        if (test->kind == TEST_EQUAL)
                at = put_jump(writer, BPF_JEQ, test->value, yes, no);
        else if (test->kind == TEST_NOT_EQUAL)
                at = put_jump(writer, BPF_JEQ, test->value, no, yes);
        else
                at = put_jump(writer, BPF_JEQ, 0, no, yes);
        if (loaded)
                return at;
        if (test->mask != UINT32_MAX)
                at = put(writer, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, test->mask));
        return put_load(writer, low_half(test->argument));
}

/* The clause before leaves the same value behind on its only way to this one. */
static const struct seccomp_test *only_test_before(const struct seccomp_rule *rule, size_t clause)
{
        if (clause == 0 || rule->clauses[clause - 1].tests_count != 1)
                return NULL;
        return &rule->clauses[clause - 1].tests[0];
}

static label put_rule(struct writer *writer, const struct seccomp_rule *rule)
{
        label next = put_verdict(writer, rule->otherwise);
        for (size_t c = rule->clauses_count; c-- > 0;) {
                const struct seccomp_clause *clause = &rule->clauses[c];
                label yes = put_verdict(writer, clause->verdict);
                for (size_t t = clause->tests_count; t-- > 0;) {
                        const struct seccomp_test *before =
                            t > 0 ? &clause->tests[t - 1] : only_test_before(rule, c);
                        yes = put_test(
                            writer, &clause->tests[t], same_value(before, &clause->tests[t]), yes, next);
                }
                next = yes;
        }
        return next;
}

static label put_leaf(struct writer *writer, const struct leaf *leaf)
{
        if (leaf->kind == LEAF_KILL)
                return put_return(writer, SECCOMP_RET_KILL_PROCESS);
        if (leaf->kind == LEAF_VERDICT)
                return put_verdict(writer, leaf->verdict);
        for (size_t i = 0; i < writer->rules_count; i++)
                if (writer->rules[i].rule == leaf->rule)
                        return writer->rules[i].at;
        label at = put_rule(writer, leaf->rule);
        if (writer->rules_count < RULES_MAX) {
                writer->rules[writer->rules_count].rule = leaf->rule;
                writer->rules[writer->rules_count++].at = at;
        }
        return at;
}

/*
 * The cheapest tree over ranges [i, j], for all i and j: the cost counts an instruction as much as
 * INSTRUCTION_COST comparisons made by a call of weight 1. `split` is the first range of the right half; 0
 * says: the middle one of three is a single number between two equal neighbours, which one comparison for
 * equality sorts out.
 */
#define INSTRUCTION_COST 64U
struct plan {
        uint32_t cost[RANGES_MAX][RANGES_MAX];
        uint16_t split[RANGES_MAX][RANGES_MAX];
        uint32_t weight_before[RANGES_MAX + 1];
};

static bool is_island(const struct ranges *ranges, size_t i, size_t j)
{
        return j == i + 2 && leaf_equal(&ranges->list[i].leaf, &ranges->list[j].leaf) &&
               ranges->list[j].first == ranges->list[i + 1].first + 1;
}

static void plan_tree(const struct ranges *ranges, struct plan *plan)
{
        for (size_t i = 0; i < ranges->count; i++)
                plan->weight_before[i + 1] = plan->weight_before[i] + ranges->list[i].weight;
        for (size_t span = 1; span < ranges->count; span++)
                for (size_t i = 0; i + span < ranges->count; i++) {
                        size_t j = i + span;
                        uint32_t here =
                            INSTRUCTION_COST + plan->weight_before[j + 1] - plan->weight_before[i];
                        uint32_t best = UINT32_MAX;
                        size_t best_split = 0;
                        for (size_t s = i + 1; s <= j && !is_island(ranges, i, j); s++) {
                                uint32_t cost = plan->cost[i][s - 1] + plan->cost[s][j];
                                if (cost < best) {
                                        best = cost;
                                        best_split = s;
                                }
                        }
                        plan->split[i][j] = (uint16_t)best_split;
                        plan->cost[i][j] = here + (best_split == 0 ? 0 : best);
                }
}

static label put_tree(
    struct writer *writer, const struct ranges *ranges, const struct plan *plan, size_t i, size_t j)
{
        if (i == j)
                return put_leaf(writer, &ranges->list[i].leaf);
        size_t split = plan->split[i][j];
        if (split == 0) {
                label outside = put_leaf(writer, &ranges->list[i].leaf);
                label island = put_leaf(writer, &ranges->list[i + 1].leaf);
                return put_jump(writer, BPF_JEQ, ranges->list[i + 1].first, island, outside);
        }
        label right = put_tree(writer, ranges, plan, split, j);
        label left = put_tree(writer, ranges, plan, i, split - 1);
        return put_jump(writer, BPF_JGE, ranges->list[split].first, right, left);
}

int bpf_compile(const struct ranges *ranges, bool with_notify, struct code *ret_code)
{
        _cleanup_(freep) struct writer *writer = calloc(1, sizeof *writer);
        _cleanup_(freep) struct plan *plan = calloc(1, sizeof *plan);
        if (!writer || !plan)
                return -ENOMEM;
        writer->with_notify = with_notify;
        plan_tree(ranges, plan);

        label kill = put_return(writer, SECCOMP_RET_KILL_PROCESS);
        label tree = put_tree(writer, ranges, plan, 0, ranges->count - 1);
        /* The load falls through to what was written last, which must be the root. */
        if (tree != writer->count - 1)
                (void)put(writer,
                    (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(writer->count - tree - 1)));
        label number = put_load(writer, offsetof(struct seccomp_data, nr));
        (void)put_jump(writer, BPF_JEQ, NATIVE_ARCH, number, kill);
        (void)put_load(writer, offsetof(struct seccomp_data, arch));
        if (writer->full || writer->count >= BPF_MAXINSNS)
                return -E2BIG;
        ret_code->count = writer->count;
        for (size_t i = 0; i < writer->count; i++)
                ret_code->list[i] = writer->list[writer->count - 1 - i];
        return 0;
}
