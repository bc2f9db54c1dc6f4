/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index pages: what an upstream says about a package becomes a page of our own. Nothing of the upstream's
 * text is passed on as it is: a page is read into a list of files, what the entry does not offer is left
 * out, and what remains is written anew, every URL being one of the gateway. The files that are left are
 * added to the listing.
 */
#pragma once

#include "gateway/listing.h"
#include "gateway/reason.h"
#include "util/strbuf.h"

/* A page is written in at most so many bytes. */
#define INDEX_PAGE_MAX (64U << 20)

/* Where a page comes from. */
struct index_source {
        const struct index_entry *entry;
        const char *name;       /* of the package, in normal form */
        const char *url;        /* of the page, after redirects: links are relative to it */
        const char *media_type; /* as the upstream calls it; may be NULL */
        const char *base_url;   /* of the gateway, as the guest sees it */
        bool full;              /* npm: the whole packument was asked for */
};

/* The page, written. */
struct index_page {
        struct strbuf json;
        struct strbuf html; /* Python indexes only */
        size_t files;       /* listed */
        size_t dropped;     /* left out: no usable hash, another host, yanked, not a wheel, bad name */
};

/* REASON_INDEX when it is not a page, REASON_INTERNAL without memory. On success the caller clears the page.
 */
enum reason index_read(const struct index_source *source, const char *data, size_t size,
    struct listing *listing, struct index_page *ret);

void index_page_clear(struct index_page *page);
