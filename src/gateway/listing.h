/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this run may have: every file that a page served in it listed, under the one path by which it can be
 * asked for. A file that is not in here does not exist.
 */
#pragma once

#include "gateway/config.h"
#include "gateway/digest.h"

struct listed_file {
        char *path; /* as route_pypi_file() and route_npm_file() write it */
        char *url;  /* never shown to the guest */
        const struct index_entry *entry;
        struct digest digest;
        int fd;        /* once verified; -1 before */
        uint64_t size; /* with fd */
        bool counted;  /* as one of the files of the run */
        void *job;     /* that is fetching it, or NULL */
};

struct listing {
        void *root; /* tsearch() tree of struct listed_file */
        size_t count;
};

/*
 * Adds a file. If the path is taken, the first stays: -EEXIST when the digests differ, 0 when not. -E2BIG
 * when there are too many already, -ENOMEM.
 */
int listing_add(struct listing *listing, const struct index_entry *entry, const char *path, const char *url,
    const struct digest *digest);

struct listed_file *listing_find(const struct listing *listing, const char *path);

void listing_clear(struct listing *listing);
