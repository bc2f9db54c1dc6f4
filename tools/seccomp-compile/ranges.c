/* SPDX-License-Identifier: Apache-2.0 */
#include "seccomp-compile/ranges.h"

#define HOT_WEIGHT 32U

static bool is_hot(const char *name)
{
        for (size_t i = 0; i < seccomp_hot_calls_count; i++)
                if (strcmp(seccomp_hot_calls[i], name) == 0)
                        return true;
        return false;
}

static int append(struct ranges *ranges, uint32_t first, const struct leaf *leaf, uint32_t weight)
{
        struct range *last = ranges->count > 0 ? &ranges->list[ranges->count - 1] : NULL;
        if (last && leaf_equal(&last->leaf, leaf)) {
                last->weight += weight;
                return 0;
        }
        if (ranges->count == RANGES_MAX) {
                fprintf(stderr, "seccomp-compile: more than %d ranges\n", RANGES_MAX);
                return -EINVAL;
        }
        ranges->list[ranges->count++] = (struct range){.first = first, .leaf = *leaf, .weight = weight};
        return 0;
}

/*
 * What lies above all call numbers. On x86-64 bit 30 selects the x32 calling convention, whose numbers reach
 * the same kernel functions by another door: killed, as every foreign convention is. The kernel takes -1 for
 * "no call", and programs use it as one that surely fails.
 */
static int append_tail(struct ranges *ranges)
{
        static const struct leaf unknown = {.kind = LEAF_VERDICT, .verdict = VERDICT_ENOSYS};
#ifdef __x86_64__
        static const struct leaf kill = {.kind = LEAF_KILL};
        int r = append(ranges, 0x40000000U, &kill, 1);
        if (r == 0)
                r = append(ranges, 0x80000000U, &unknown, 1);
        if (r == 0)
                r = append(ranges, 0xc0000000U, &kill, 1);
        if (r < 0)
                return r;
#endif
        return append(ranges, 0xffffffffU, &unknown, 1);
}

int ranges_build(struct ranges *ret_ranges, bool argument_rules)
{
        struct leaf leaves[NUMBERS_MAX];
        uint32_t weights[NUMBERS_MAX];
        bool taken[NUMBERS_MAX] = {};
        for (size_t i = 0; i < NUMBERS_MAX; i++) {
                leaves[i] = (struct leaf){.kind = LEAF_VERDICT, .verdict = VERDICT_ENOSYS};
                weights[i] = 1;
        }
        for (size_t g = 0; g < seccomp_groups_count; g++)
                for (size_t i = 0; i < seccomp_groups[g].calls_count; i++) {
                        const struct seccomp_call *call = &seccomp_groups[g].calls[i];
                        if (call->number == -1)
                                continue;
                        if (call->number < 0 || call->number >= NUMBERS_MAX || taken[call->number]) {
                                fprintf(stderr,
                                    "seccomp-compile: %s: number %d is named twice or out of bounds\n",
                                    call->name, call->number);
                                return -EINVAL;
                        }
                        taken[call->number] = true;
                        struct leaf *leaf = &leaves[call->number];
                        if (!call->rule)
                                leaf->verdict = seccomp_groups[g].verdict;
                        else if (!argument_rules)
                                leaf->verdict = VERDICT_ALLOW;
                        else
                                *leaf = (struct leaf){.kind = LEAF_RULE, .rule = call->rule};
                        if (is_hot(call->name))
                                weights[call->number] = HOT_WEIGHT;
                }
        ret_ranges->count = 0;
        for (uint32_t i = 0; i < NUMBERS_MAX; i++) {
                int r = append(ret_ranges, i, &leaves[i], taken[i] ? weights[i] : 0);
                if (r < 0)
                        return r;
        }
        return append_tail(ret_ranges);
}
