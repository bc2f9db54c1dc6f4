/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading from upstreams. A request carries what the gateway puts into it and nothing of the guest's: method
 * GET, a URL that the entry's own pages or name made, three fixed fields and the entry's credentials. It
 * goes only to addresses that were vetted at the moment of dialling, TLS is always verified, and redirects
 * are taken as new requests, to the entry's own hosts only. For the web (`as_is`), answers are taken as they
 * come, and redirects are left to whoever asked.
 */
#pragma once

#include "gateway/budget.h"

#include <event2/event.h>

/* The connections of one entry: kept apart, since what one may reach another may not. */
struct upstream;

int upstream_new(
    struct event_base *base, const struct index_entry *entry, struct budget *budget, struct upstream **ret);
struct upstream *upstream_free(struct upstream *upstream);

/* How a transfer ended. Texts are valid during the call only. */
struct fetch_end {
        enum reason reason;     /* REASON_NONE: all of it came */
        const char *url;        /* after redirects */
        const char *media_type; /* may be NULL */
        uint64_t bytes;
        long status;          /* of HTTP; 0 if there was none */
        const char *redirect; /* as_is: the whole URL that a redirect leads to, or NULL */
        int64_t length;       /* as_is: what the answer says of its length; -1 if nothing */
};

struct fetch_request {
        const char *url;
        const char *accept; /* or NULL */
        bool compressed;    /* whether a content coding is welcome (never for files: they are hashed) */
        uint64_t max_bytes; /* after decoding */
        bool as_is;         /* bytes of every answer are taken, and no redirect is followed */
        bool head;          /* as_is: method HEAD */
        const char *body;   /* as_is: method POST; copied */
        size_t body_size;
        const char *body_type;
        void *context;
        /* as_is: one line of the answer's head, its end included. */
        void (*field)(void *context, const char *data, size_t size);
        /* Bytes of a successful answer. Anything but REASON_NONE ends the transfer. */
        enum reason (*take)(void *context, const void *data, size_t size);
        /* Called once, never from within fetch_start(). */
        void (*done)(void *context, const struct fetch_end *end);
};

struct fetch;

/* A refusal if it may not even begin; `done` is not called then. */
enum reason fetch_start(struct upstream *upstream, const struct fetch_request *request);
