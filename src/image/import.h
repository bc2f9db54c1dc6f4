/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making an image of an archive or a directory: starts mai-sandbox-image, which unpacks it without
 * privileges, and gives what comes out its name.
 */
#pragma once

#include "image/store.h"

struct image_import_progress {
        unsigned parts_done, parts;
        uint64_t bytes_done, bytes;
};

struct image_import {
        int source;                      /* a regular file, or a directory with an OCI layout */
        const char *name;                /* checked already */
        uint64_t max_bytes, max_entries; /* 0: the default */
        int (*progress)(
            const struct image_import_progress *progress, void *user); /* or NULL; not 0: give up */
        void *user;
};

int image_import(const struct image_store *store, const struct image_import *import, struct image_info *ret,
    struct error *err);

/* From a path: with what is wrong with it said. */
int image_import_open(const char *path, int *ret_fd, struct error *err);
