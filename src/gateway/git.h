/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading half of git's smart protocol (version 0, stateless), so far as a clone needs it. What a guest
 * sends is not passed on: it is read, and written anew with nothing in it but a choice among the objects
 * that the server itself has listed in this run. Pure: bytes in, bytes out.
 */
#pragma once

#include "gateway/reason.h"
#include "util/strbuf.h"

#define GIT_ID_MAX 64          /* hexadecimal digits: 40, or 64 of a SHA-256 repository */
#define GIT_IDS_MAX (1U << 17) /* that a server may list */

struct git_id {
        char text[GIT_ID_MAX + 1];
};

/* What a server has listed, in order, each once. Owner: `_cleanup_(git_ids_clear)`. */
struct git_ids {
        struct git_id *ids;
        size_t count;
};

void git_ids_clear(struct git_ids *ids);

/* Reads the answer to info/refs?service=git-upload-pack. -EINVAL, -E2BIG, -ENOMEM. */
int git_refs_read(const char *data, size_t size, struct git_ids *ret);

/*
 * Reads the body of a request for objects and writes to *ret (an empty buffer with a limit) the one that
 * goes to the server: objects in order, each once and only listed ones; only capabilities that are known
 * words; none of the objects that the client says to have. *ret_bits: how many bits the server can learn
 * from it at the most.
 */
enum reason git_request_rewrite(
    const char *data, size_t size, const struct git_ids *listed, struct strbuf *ret, uint64_t *ret_bits);

/* Undoes gzip; REASON_TOO_LARGE beyond the limit of *ret, REASON_GIT for what is no gzip, or more than it.
 */
enum reason git_inflate(const void *data, size_t size, struct strbuf *ret);
