/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of Python indexes: PEP 503 (HTML) and PEP 691 (JSON), with PEP 592 (yanked) and PEP 658 (metadata).
 */
#pragma once

#include "gateway/index.h"

/* 0, -EINVAL when it is not a page, -E2BIG, -ENOMEM. */
int pypi_read(const struct index_source *source, const char *data, size_t size, struct listing *listing,
    struct index_page *page);

/* ---- Between the readers of the two forms and the one place that decides ---- */

/* A link as the upstream gave it; any text may be NULL where it said nothing. Owner: the reader. */
struct pypi_link {
        const char *file;     /* name; where NULL, the last segment of the URL */
        const char *url;      /* may be relative */
        const char *sha256;   /* hexadecimal; where NULL, the URL's fragment may say sha256=... */
        const char *metadata; /* sha256 of the metadata, or NULL if there is none */
        const char *requires_python;
        const char *upload_time;
        bool yanked;
        const char *yanked_reason;
        bool has_size;
        uint64_t size;
};

struct pypi_pages;

/* Takes a link into the page, or leaves it out. 0, -E2BIG, -ENOMEM. */
int pypi_take(struct pypi_pages *pages, const char *base, const struct pypi_link *link);

int pypi_read_json(struct pypi_pages *pages, const char *base, const char *data, size_t size);
int pypi_read_html(struct pypi_pages *pages, const char *base, const char *data, size_t size);
