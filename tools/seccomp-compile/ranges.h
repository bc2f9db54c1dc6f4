/* SPDX-License-Identifier: Apache-2.0 */
/* The table seen by number: every 32-bit number belongs to one range, and neighbours differ. */
#pragma once

#include "seccomp/table.h"

enum leaf_kind {
        LEAF_VERDICT,
        LEAF_RULE,
        LEAF_KILL, /* numbers of another calling convention */
};

struct leaf {
        enum leaf_kind kind;
        enum seccomp_verdict verdict;    /* LEAF_VERDICT */
        const struct seccomp_rule *rule; /* LEAF_RULE */
};

struct range {
        uint32_t first; /* up to the next range's first */
        struct leaf leaf;
        uint32_t weight; /* how much it matters that it is found soon */
};

#define RANGES_MAX 512
#define NUMBERS_MAX 1024 /* the highest call number that a table may hold */

struct ranges {
        struct range list[RANGES_MAX];
        size_t count;
};

static inline bool leaf_equal(const struct leaf *a, const struct leaf *b)
{
        return a->kind == b->kind && a->verdict == b->verdict && a->rule == b->rule;
}

/* `argument_rules` false: calls that have a rule are simply allowed (test builds). -EINVAL after a message
 * to stderr when the table contradicts itself. */
int ranges_build(struct ranges *ret_ranges, bool argument_rules);
