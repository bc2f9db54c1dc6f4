/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of the allow-list in table.c. Only build tools read it (tools/seccomp-compile, and renderers for
 * other engines): a run gets the compiled form through seccomp.h.
 */
#pragma once

#include "seccomp/seccomp.h"

enum seccomp_test_kind {
        TEST_EQUAL,     /* (low half & mask) == value */
        TEST_NOT_EQUAL, /* (low half & mask) != value */
        TEST_ANY_BIT,   /* (low half & mask) != 0 */
        TEST_NULL,      /* the whole register is 0: for pointers, which the kernel does not truncate */
};

/*
 * One look at one argument. Everything but TEST_NULL looks at the low 32 bits alone, and is used only where
 * the kernel's own argument is int, unsigned int or narrower, or where all bits that it reads lie there: it
 * drops the high half, so a rule that took it into account could be passed with garbage in it.
 */
struct seccomp_test {
        enum seccomp_test_kind kind;
        uint8_t argument; /* 0 to 5 */
        uint32_t mask;
        uint32_t value;
};

#define SECCOMP_TESTS_MAX 2

/* All tests hold -> the verdict. Unused tests are left out at the end: `tests_count` says how many count. */
struct seccomp_clause {
        struct seccomp_test tests[SECCOMP_TESTS_MAX];
        size_t tests_count;
        enum seccomp_verdict verdict;
};

/* The first clause that matches decides. */
struct seccomp_rule {
        const char *text; /* for people */
        const struct seccomp_clause *clauses;
        size_t clauses_count;
        enum seccomp_verdict otherwise;
};

struct seccomp_call {
        const char *name;
        int number;                      /* -1: this architecture, or these kernel headers, do not have it */
        const struct seccomp_rule *rule; /* NULL: the group's verdict whatever the arguments are */
};

struct seccomp_group {
        const char *title;
        enum seccomp_verdict verdict; /* ignored for calls that have a rule */
        const char *reason;
        const struct seccomp_call *calls;
        size_t calls_count;
};

extern const struct seccomp_group seccomp_groups[];
extern const size_t seccomp_groups_count;

/* Calls that programs make all the time: the compiler puts them near the root of its search. */
extern const char *const seccomp_hot_calls[];
extern const size_t seccomp_hot_calls_count;
