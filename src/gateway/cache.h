/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetched files by digest, shared by runs. A file enters under its digest only after all of its bytes were
 * seen to have it, and is looked at again when a run first asks for it: what another program did to the
 * directory shows as a miss.
 */
#pragma once

#include "gateway/digest.h"
#include "util/error.h"

struct cache;

/* Opens the directory, which is made if missing. `uid` and `gid`, if not 0, come to own it. */
int cache_open(
    const char *path, uint64_t max_bytes, uint32_t uid, uint32_t gid, struct cache **ret, struct error *err);
struct cache *cache_close(struct cache *cache);

/* For the rules of Landlock. */
int cache_directory(const struct cache *cache);

/* A verified file, open for reading. -ENOENT if it is not there or not what it should be; other -errno. */
int cache_find(const struct cache *cache, const struct digest *digest, int *ret_fd, uint64_t *ret_size);

/* Removes the files longest unused until the rest fits, and what unfinished fetches of the past left. */
void cache_trim(const struct cache *cache);

/* A file on its way in. */
struct cache_writer;
int cache_writer_begin(struct cache *cache, const struct digest *digest, struct cache_writer **ret);
int cache_writer_append(struct cache_writer *writer, const void *data, size_t size);
/* Publishes it and opens it for reading. -EBADMSG if the digest is another: nothing is kept then. */
int cache_writer_commit(struct cache_writer *writer, int *ret_fd, uint64_t *ret_size);
/* Also removes what was not published. */
struct cache_writer *cache_writer_free(struct cache_writer *writer);

/* A file without a name, for what is kept until the end of the run: open for reading and writing. */
int cache_scratch(struct cache *cache, int *ret_fd);
