/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What packages a run needs: requirements by name, as PEP 508 writes them, and the hashes that their files
 * may have. Only what an index can answer is a requirement: URLs, paths and options of pip are refused.
 *
 * Invariants: `text` is in one normal form (so that equal requests have equal keys), printable ASCII, and
 * begins with a letter or digit: it can be handed to pip as a word or as a line of a file. In a set with
 * `require_hashes`, every requirement has hashes.
 *
 * Owner: the caller; requirement_clear(), requirement_set_clear().
 */
#pragma once

#include "util/common.h"
#include "util/error.h"
#include "util/strbuf.h"

#define REQUIREMENTS_MAX 2000U
#define REQUIREMENT_SIZE_MAX 2048U /* of one, in its normal form */
#define REQUIREMENT_HASHES_MAX 50000U
#define REQUIREMENT_NAME_MAX 100U
#define REQUIREMENT_HASH_SIZE 65U /* SHA-256 in hexadecimal, and a NUL */

struct requirement {
        char *name; /* "typing-extensions" */
        char *text; /* "typing-extensions[extra]>=4,<5 ; python_version < \"3.12\"" */
        char (*hashes)[REQUIREMENT_HASH_SIZE];
        size_t hash_count;
};

struct requirement_set {
        struct requirement *items;
        size_t count;
        size_t hash_count; /* of all */
        bool require_hashes;
        bool locked;           /* complete: nothing else is to be resolved (pylock.toml) */
        char *requires_python; /* "…": of the interpreter, e.g. ">=3.11"; or NULL */
};

void requirement_clear(struct requirement *requirement);
void requirement_set_clear(struct requirement_set *set);

/* Reads one requirement, without hashes. ERROR_INPUT says what is wrong with it, and does not repeat it. */
int requirement_parse(const char *text, size_t size, struct requirement *ret, struct error *err);

/* Adds a SHA-256 digest in hexadecimal. -EINVAL if it is none, -E2BIG, -ENOMEM. */
int requirement_add_hash(struct requirement *requirement, const char *hex, size_t size);

/* Takes it over (also on failure). ERROR_INPUT when there are too many. */
int requirement_set_add(struct requirement_set *set, struct requirement *requirement, struct error *err);

/* Adds to what the interpreter has to be, e.g. ">=3.11". ERROR_INPUT. */
int requirement_set_require_python(
    struct requirement_set *set, const char *versions, size_t size, struct error *err);

/* Checks that the set has hashes for all or, without `require_hashes`, for none; turns it on if for all. */
int requirement_set_settle(struct requirement_set *set, struct error *err);

/* The set as a file for pip, one requirement a line, sorted and without repeats. Caller clears. */
int requirement_set_format(const struct requirement_set *set, struct strbuf *out);

/* "Foo_Bar.baz" as "foo-bar-baz" (PEP 503); room for size + 1 bytes. */
void requirement_normalize_name(const char *name, size_t size, char *ret);
