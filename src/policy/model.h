/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy in memory: the checked flat form of the file, each value with the place where it was written.
 * Private to src/policy. Filled in by document.c, checked by check.c, immutable from then on.
 */
#pragma once

#include "policy/keys.h"
#include "policy/policy.h"
#include "util/strbuf.h"

/* Bounds on what a file can make us hold: far above any sensible policy. */
#define POLICY_SIZE_MAX (1024U * 1024U)
#define POLICY_LEVELS_MAX 32
#define POLICY_ENTRIES_MAX 64
#define POLICY_ITEMS_MAX 256
#define POLICY_NAME_MAX 63 /* of a trust level: the ledger's records have room for this */

/* Small, since a policy holds some hundreds of them and pages cost time at start. The type of the key says
   which member of each union it is. */
struct policy_value {
        bool set;
        bool relative;         /* number is a share of the host, 0 … 1 */
        uint32_t line, column; /* from 1; 0: not from a file */
        uint32_t item_count;
        union {
                double number; /* bytes, seconds, CPUs, counts */
                uint64_t bits; /* true; word number; a bit per word, capability or option; uid << 32 | gid */
        };
        union {
                char *text;   /* as written: names, URLs */
                char **items; /* lists of such; NULL-terminated */
        };
};

struct policy_section {
        struct policy_value values[KEY_COUNT_];
};

/* Which column of the key table holds a level's built-in values. */
enum level_kind { LEVEL_PLAIN, LEVEL_UNTRUSTED, LEVEL_UNKNOWN, LEVEL_KIND_COUNT_ };

struct policy_level {
        char name[POLICY_NAME_MAX + 1];
        enum level_kind kind;
        struct policy_section *section;
};

struct policy {
        char *path;
        char sha256[65];
        struct policy_section *top;
        struct policy_level levels[POLICY_LEVELS_MAX];
        size_t level_count;
        const char *level_names[POLICY_LEVELS_MAX + 1];
        struct policy_section *entries[POLICY_ENTRIES_MAX]; /* of network.whitelist */
        size_t entry_count;
        struct policy_section *fallback; /* the built-in values, parsed */
        struct policy_value level_fallback[LEVEL_KIND_COUNT_]
                                          [KEY_MAX_CONCURRENT + 1]; /* where a level has its own */
};

struct host_capacity {
        unsigned cpus;
        uint64_t memory;
};

/* Where a level's value comes from. */
enum origin {
        ORIGIN_LEVEL,
        ORIGIN_TOP,
        ORIGIN_BUILT_IN,
        ORIGIN_TRUSTED, /* not given, and the built-in value would exceed that of `trusted` */
        ORIGIN_DERIVED, /* cpu_time; disk_limit lowered to mem_limit */
};

struct effective {
        const struct policy_value *value;
        enum origin origin;
        double number; /* limits only; NAN: relative to a host that is not known */
};

/* The level of that name, or NULL. */
const struct policy_level *policy_find_level(const struct policy *policy, const char *name);

/* What holds at a level for one key. Never NULL; `set` is false where there is no built-in value either. */
const struct policy_value *policy_level_value(const struct policy *policy, const struct policy_level *level,
    enum policy_key key, enum origin *ret_origin);

/* The built-in value for a kind of level. */
const struct policy_value *policy_fallback(
    const struct policy *policy, enum level_kind kind, enum policy_key key);

/* What holds for a key that stands in a group at top level. */
const struct policy_value *policy_top_value(const struct policy *policy, enum policy_key key);

/*
 * All limits of a level and its max_concurrent, in absolute
 * numbers; `host` may be NULL. Before lowering to the host.
 */
void policy_level_limits(const struct policy *policy, const struct policy_level *level,
    const struct host_capacity *host, struct effective limits[KEY_MAX_CONCURRENT + 1]);

/* The number that a value stands for; NAN for a share of a host that is not known (`host` NULL). */
double policy_absolute(
    const struct key *key, const struct policy_value *value, const struct host_capacity *host);

/* CPU time that cannot run out before the wall time does. */
double policy_derived_cpu_time(double cpu_count, double timeout);

/* Cross-checks of the whole file. `host` NULL: what needs its capacity is left for policy_check_level(). */
int policy_check(const struct policy *policy, struct error *err);
int policy_check_level(const struct policy *policy, const struct policy_level *level,
    const struct host_capacity *host, struct error *err);

/*
 * The weakenings in force at a level, as texts ("read_only:
 * false"). NULL-terminated; caller frees with strv_free().
 */
int policy_level_weakenings(const struct policy *policy, const struct policy_level *level, char ***ret);

/*
 * Reads the first policy file of the search order (or
 * `path`); *ret_text NULL: none, use the built-in one.
 */
int policy_locate(const char *path, char **ret_path, char **ret_text, size_t *ret_size, struct error *err);

/* Reads YAML into an empty policy. */
int document_read(struct policy *policy, const char *text, size_t size, struct error *err);

/* An entry of network.whitelist, complete: checks what its keys say together. */
int whitelist_check_entry(const struct policy *policy, const struct policy_section *entry, uint32_t line,
    uint32_t column, struct error *err);

/* ERROR_POLICY with "path:line:column: " before it. */
int policy_fail(const struct policy *policy, uint32_t line, uint32_t column, const char *hint,
    struct error *err, const char *format, ...) _printf_(6, 7);

struct policy_section *policy_section_free(struct policy_section *section);
char **strv_free(char **items);

/* Appends a copy to a NULL-terminated array of *count items. 0 or -ENOMEM. */
int strv_append(char ***items, uint32_t *count, const char *text);
