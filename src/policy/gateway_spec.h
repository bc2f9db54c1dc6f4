/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network part of a container spec: what the gateway of one run may fetch. There is one only where
 * network_mode is "dependencies". Backends do not read it; whoever starts the gateway does
 * (sandbox/gateway).
 *
 * Secrets are not in it but where they are to be read, with one exception: what the host's own pip has
 * written into its index's URL. gateway_spec_free() wipes that.
 */
#pragma once

#include "util/common.h"

/* In order of the words of `kind`. */
enum gateway_kind {
        GATEWAY_PYPI,
        GATEWAY_NPM,
        GATEWAY_WEB,
        GATEWAY_KIND_COUNT_,
};

/* In order of the keys of network.limits. */
enum gateway_limit {
        GATEWAY_REQUESTS,
        GATEWAY_NAMES,
        GATEWAY_NAME_BYTES,
        GATEWAY_MISSES,
        GATEWAY_FETCHES,
        GATEWAY_FILES,
        GATEWAY_BYTES,
        GATEWAY_LIMIT_COUNT_,
};

/* Lists are NULL-terminated, or NULL where there is none. */
struct gateway_entry {
        char *name;
        enum gateway_kind kind;
        char *url;        /* the index; NULL: of kind web */
        char **hosts;     /* others than that of `url` */
        char **addresses; /* networks that it may reach beside public addresses */
        char **allow;     /* patterns of packages */
        char **deny;
        char **prefixes; /* of kind web */
        bool query, git; /* of kind web */
        bool sdist, yanked;
        char **sha256;                 /* digests that files may have, of a lock; NULL: any */
        uint64_t max_bytes, max_files; /* 0: what the run may have */
        char *login;     /* "env:NAME", "file:/PATH", or "text:user:password" from the host's pip; or NULL */
        char *token;     /* the first two of these; or NULL */
        char *ca_bundle; /* or NULL */
        char *proxy;     /* or NULL */
};

struct gateway_spec {
        struct gateway_entry *entries;
        size_t entry_count;
        uint64_t limits[GATEWAY_LIMIT_COUNT_];
        char *cache;
        uint64_t cache_bytes;
        uint32_t uid, gid; /* where root starts it */
};

/* The word for it in the policy and in the gateway's configuration. */
const char *gateway_kind_name(enum gateway_kind kind);
const char *gateway_limit_name(enum gateway_limit limit);

struct gateway_spec *gateway_spec_free(struct gateway_spec *spec);
