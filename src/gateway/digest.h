/* SPDX-License-Identifier: Apache-2.0 */
/* The digests that indexes name their files by: sha256 (Python) and sha512 (npm). Weaker ones do not count.
 */
#pragma once

#include "util/common.h"

#define DIGEST_TEXT_SIZE 136 /* "sha512-" and 128 hexadecimal digits, NUL */

/* "sha256-HEX" or "sha512-HEX", lower case: also the file's name in the cache. */
struct digest {
        char text[DIGEST_TEXT_SIZE];
};

/* Hexadecimal of a sha256, either case. */
bool digest_from_sha256_hex(const char *hex, struct digest *ret);

/* The strongest usable part of a subresource integrity string: "sha512-BASE64 ...". */
bool digest_from_integrity(const char *integrity, struct digest *ret);

/* The hexadecimal part. */
const char *digest_hex(const struct digest *digest);

/* An incremental computation over what arrives. */
struct hasher;
struct hasher *hasher_new(const struct digest *expected);
int hasher_update(struct hasher *hasher, const void *data, size_t size);
/* Whether all that was seen has the expected digest. Once only. */
bool hasher_matches(struct hasher *hasher);
struct hasher *hasher_free(struct hasher *hasher);
