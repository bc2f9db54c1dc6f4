/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of policy keys. Validation, resolution with a request, `policy show`, the reference in
 * docs/POLICY.md and the tests all read it; a key that is not in it does not exist.
 */
#pragma once

#include "util/common.h"

enum policy_key {
        /* Limits: at top level and in a trust level. cpu_time stands behind what it is derived from. */
        KEY_CPU_COUNT,
        KEY_MEM_LIMIT,
        KEY_TIMEOUT,
        KEY_CPU_TIME,
        KEY_PIDS_LIMIT,
        KEY_DISK_LIMIT,
        KEY_INODE_LIMIT,
        KEY_OUTPUT_LIMIT,
        KEY_OPEN_FILES,
        KEY_LIMITS_END_, /* not a key: the limits are those before it */
        KEY_MAX_CONCURRENT = KEY_LIMITS_END_,
        /* Isolation. */
        KEY_SECURITY_OPT,
        KEY_CAP_DROP,
        KEY_CAP_ADD,
        KEY_READ_ONLY,
        KEY_USER,
        KEY_NETWORK_MODE,
        KEY_UNSAFE,
        /* What runs, and where. */
        KEY_IMAGE,
        KEY_IMAGES,
        KEY_BACKEND,
        KEY_BACKENDS,
        KEY_RUNTIME,
        KEY_RUNTIMES,
        KEY_ENV,
        /* Groups. */
        KEY_TRUST_LEVELS,
        KEY_ALLOCATION,
        KEY_DEFAULT_TRUST_LEVEL,
        KEY_CPU_SHARE,
        KEY_MEM_SHARE,
        KEY_WHEN_FULL,
        KEY_QUEUE_LENGTH,
        KEY_QUEUE_TIMEOUT,
        KEY_MONITORING,
        KEY_INTERVAL,
        KEY_SAMPLES,
        KEY_NATIVE,
        KEY_UID_BASE,
        KEY_DOCKER,
        KEY_DOCKER_HOST,
        KEY_DOCKER_RUNTIME,
        KEY_DOCKER_READY,
        KEY_DOCKER_CALL_TIMEOUT,
        KEY_WARM,
        KEY_NETWORK,
        KEY_NETWORK_USER,
        KEY_NETWORK_CACHE,
        KEY_NETWORK_CACHE_LIMIT,
        KEY_NETWORK_LIMITS,
        KEY_MAX_REQUESTS, /* of network.limits; in order of enum gateway_limit */
        KEY_MAX_NAMES,
        KEY_MAX_NAME_BYTES,
        KEY_MAX_MISSES,
        KEY_MAX_FETCHES,
        KEY_MAX_FILES,
        KEY_MAX_BYTES,
        KEY_WHITELIST,
        /* One entry of network.whitelist. */
        KEY_ENTRY_NAME,
        KEY_ENTRY_KIND,
        KEY_ENTRY_URL,
        KEY_ENTRY_HOSTS,
        KEY_ENTRY_ADDRESSES,
        KEY_ENTRY_PACKAGES,
        KEY_ENTRY_ALLOW,
        KEY_ENTRY_DENY,
        KEY_ENTRY_PREFIXES,
        KEY_ENTRY_QUERY,
        KEY_ENTRY_GIT,
        KEY_ENTRY_SDIST,
        KEY_ENTRY_YANKED,
        KEY_ENTRY_LOGIN,
        KEY_ENTRY_TOKEN,
        KEY_ENTRY_CA_BUNDLE,
        KEY_ENTRY_PROXY,
        KEY_ENTRY_MAX_BYTES,
        KEY_ENTRY_MAX_FILES,
        KEY_COUNT_,
};

enum key_scope {
        SCOPE_TOP,   /* at top level only */
        SCOPE_LEVEL, /* at top level, where it holds for every level, and under trust_levels.NAME */
        SCOPE_GROUP, /* inside the mapping that `group` names */
};

enum key_type {
        TYPE_SIZE,
        TYPE_BYTES, /* a size that is no share of the host's memory */
        TYPE_CPUS,
        TYPE_SECONDS,
        TYPE_COUNT,
        TYPE_BOOL,
        TYPE_WORD,      /* one of `words` */
        TYPE_WORD_LIST, /* several of `words` */
        TYPE_NAME,      /* a plain name, as of an image or a runtime */
        TYPE_NAME_LIST,
        TYPE_LEVEL, /* the name of a trust level */
        TYPE_USER,
        TYPE_CAPABILITIES,
        TYPE_SECURITY_OPT,
        TYPE_ENDPOINT, /* of a Docker engine */
        TYPE_ENV,
        TYPE_URL,
        TYPE_URL_LIST,
        TYPE_CIDR_LIST,
        TYPE_GLOB_LIST,
        TYPE_HOST_LIST,
        TYPE_PATH,   /* absolute */
        TYPE_SECRET, /* where one is to be read: never the secret itself */
        TYPE_GROUP,  /* a mapping whose keys stand in this table under this key's name as group */
        TYPE_LEVELS,
        TYPE_ENTRIES,
        TYPE_COUNT_,
};

/* How a value that a request gives combines with the policy's. */
enum key_combine {
        COMBINE_NONE,     /* a request can't give it */
        COMBINE_MIN,      /* the smaller; a larger one is refused */
        COMBINE_ONE_OF,   /* one of those that the policy lists */
        COMBINE_STRICTER, /* the stricter; among file and built-in values too */
        COMBINE_MERGE,    /* set beside and over the policy's */
};

struct key {
        const char *name;
        const char *group; /* "" for a flat key; else the mapping it stands in */
        enum key_scope scope;
        enum key_type type;
        const char *fallback; /* built-in value at top level; NULL: none. Lists: separated by spaces */
        const char *fallback_untrusted; /* built-in values of these two levels; NULL: as `fallback` */
        const char *fallback_unknown;
        const char *unit;
        double least, most; /* of numbers */
        const char *const *words;
        enum key_combine combine;
        const char *option; /* of the command line, where its name is not the key's */
        const char *doc;
};

extern const struct key policy_keys[KEY_COUNT_];

/*
 * The key of that name in that mapping, or -1. `in_level`:
 * under trust_levels.NAME, where only SCOPE_LEVEL counts.
 */
int key_find(const char *group, const char *name, bool in_level);

/* The known key nearest to `name` by edit distance in that mapping, or NULL when none is near. */
const char *key_nearest(const char *group, const char *name, bool in_level);

/* Some other mapping in which a key of that name stands, or NULL. */
const struct key *key_elsewhere(const char *name);

/* "allocation.cpu_share". Truncated, never overrun. */
#define KEY_PATH_MAX 96
const char *key_path(const struct key *key, char buffer[KEY_PATH_MAX]);

/*
 * The candidate nearest to `word` by edit distance, if
 * it is near enough to be a slip of the pen; else NULL.
 */
const char *nearest_word(const char *word, const char *const *candidates, size_t count);
