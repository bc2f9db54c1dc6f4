/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway is told at its start: one JSON document, read from a descriptor, every key known and
 * checked. Nothing changes afterwards.
 */
#pragma once

#include "gateway/address.h"
#include "gateway/web_url.h"
#include "util/error.h"

enum entry_kind {
        ENTRY_PYPI,
        ENTRY_NPM,
        ENTRY_WEB,
};

/* One index, or part of the web, that may be read. */
struct index_entry {
        char *name; /* of an index: first segment of its paths */
        enum entry_kind kind;
        char *url;                /* of an index; ends in a slash */
        char **urls;              /* of the web: as written */
        struct web_url *prefixes; /* of the web: what those say; what lies below them may be read */
        size_t prefix_count;
        bool query;     /* of the web: with a query too */
        bool git;       /* of the web: git's reading requests too */
        char **origins; /* where its pages and files may lie; the first is that of `url`; NULL-terminated */
        struct network *addresses; /* that it may reach beside public ones */
        size_t address_count;
        char **allow;       /* patterns of package names; empty: all */
        char **deny;        /* those never */
        uint64_t max_bytes; /* fetched by one run; UINT64_MAX: the run's own limit only */
        uint64_t max_files;
        char **sha256;   /* sorted; files with another digest are not listed; NULL: all are */
        bool sdist;      /* source distributions are listed */
        bool yanked;     /* yanked files are listed */
        char *login;     /* "user:password", or NULL */
        char *token;     /* bearer token, or NULL */
        char *proxy;     /* URL of an upstream proxy, or NULL */
        char *ca_bundle; /* path of PEM certificates */
        char *ca_data;   /* what was in it */
        size_t ca_size;
};

/* Of one run. All counts are of the whole life of the process. */
struct gateway_limits {
        uint64_t requests;        /* heads that were read, good or bad */
        uint64_t rate;            /* requests a second, as a long-time average; more wait */
        uint64_t burst;           /* requests that may come at once */
        uint64_t names;           /* distinct package names that are asked for upstream */
        uint64_t name_bytes;      /* their lengths, summed up */
        uint64_t misses;          /* names that the upstream did not know */
        uint64_t fetches;         /* requests to upstreams, redirects included */
        uint64_t files;           /* distinct files handed out */
        uint64_t urls;            /* web: distinct URLs asked for */
        uint64_t url_bytes;       /* web: their lengths beyond the prefix, summed up; and what git asks */
        uint64_t post_bytes;      /* web: what git sends in one request */
        uint64_t bytes;           /* pages and files fetched, from upstream or the cache */
        uint64_t sent_bytes;      /* answered, repeats included */
        uint64_t index_bytes;     /* one page */
        uint64_t file_bytes;      /* one file */
        uint64_t connections;     /* at once */
        uint64_t head_seconds;    /* from the first byte of a head to its last */
        uint64_t idle_seconds;    /* between requests, and without progress while answering */
        uint64_t connect_seconds; /* upstream: name, connection and TLS */
        uint64_t fetch_seconds;   /* upstream: one transfer */
        uint64_t stall_seconds;   /* upstream: below `stall_rate` for so long ends the transfer */
        uint64_t stall_rate;      /* bytes a second */
};

struct gateway_config {
        char *base_url; /* under which the guest sees the gateway, no slash at its end */
        char *cache_directory;
        uint64_t cache_bytes;
        bool has_uid;
        uint32_t uid;
        uint32_t gid;
        bool landlock_optional;
        struct gateway_limits limits;
        struct index_entry *entries;
        size_t entry_count;
};

/* Reads the document, and the certificate bundles that it names. */
int config_read(int fd, struct gateway_config *ret, struct error *err);

void config_clear(struct gateway_config *config);

/* Whether an entry is of kind web. */
bool config_has_web(const struct gateway_config *config);

/* Whether the entry may read from this absolute URL. */
bool entry_reaches(const struct index_entry *entry, const char *url);

/* Whether the entry's lists of packages let this name through (in its normal form). */
bool entry_offers_digest(const struct index_entry *entry, const char *sha256);
bool entry_offers(const struct index_entry *entry, const char *name);
