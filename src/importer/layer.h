/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading an archive: a file, which may be compressed, through libarchive twice over (once to decompress,
 * once for the tar in it), so that the digest of both forms is known when the end has been reached.
 */
#pragma once

#include "importer/tree.h"
#include "util/sha256.h"

#include <archive.h>
#include <archive_entry.h>

/* Tells how many bytes of the source were read since the last call. */
typedef void (*layer_progress)(uint64_t bytes, void *user);

struct layer {
        int fd; /* borrowed; read from where it stands */
        struct archive *outer, *inner;
        SHA2_CTX packed, plain;
        bool ended; /* nothing more is in the file */
        uint64_t plain_bytes, max_plain_bytes;
        layer_progress progress; /* or NULL */
        void *user;
        char *in, *out; /* buffers */
};

/* Begins to read; layer_close() in any case. */
int layer_open(struct layer *layer, int fd, uint64_t max_plain_bytes, struct setup_failure *failure);
void layer_close(struct layer *layer);

/* The next header: 1, 0 at the end, or negative. */
int layer_next(struct layer *layer, struct archive_entry **ret, struct setup_failure *failure);

/* Reads what is behind the tar's end, so that the digests are of all of it. */
int layer_finish(struct layer *layer, char packed[SHA256_HEX_SIZE], char plain[SHA256_HEX_SIZE],
    struct setup_failure *failure);
