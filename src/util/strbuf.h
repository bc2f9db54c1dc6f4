/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a hard limit given at creation. Always NUL-terminated behind its length, so
 * text may be used as a C string; it may hold NUL bytes too.
 *
 * Owner: the caller, `_cleanup_(strbuf_clear) struct strbuf b = STRBUF_INIT(max);`.
 */
#pragma once

#include "util/common.h"

struct strbuf {
        char *data;  /* NULL while empty */
        size_t size; /* bytes used */
        size_t room; /* bytes allocated */
        size_t max;  /* never holds more than this */
};

#define STRBUF_INIT(limit)                                                                                  \
        {                                                                                                   \
                .max = (limit)                                                                              \
        }

void strbuf_clear(struct strbuf *buf);

/* Appends; -E2BIG when it would pass the limit (nothing is appended then), -ENOMEM, or 0. */
int strbuf_append(struct strbuf *buf, const void *data, size_t size);
int strbuf_append_text(struct strbuf *buf, const char *text);
int strbuf_appendf(struct strbuf *buf, const char *format, ...) _printf_(2, 3);

/* The text so far, never NULL. Valid until the next change. */
const char *strbuf_text(const struct strbuf *buf);

/* Hands the buffer over (caller frees), leaving it empty; NULL if out of memory. */
char *strbuf_take(struct strbuf *buf);
