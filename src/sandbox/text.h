/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a program wrote, on their way into text: UTF-8 checks, and base64 for what is not UTF-8. */
#pragma once

#include "util/common.h"

/* Whether all of it is well-formed UTF-8 (no surrogates, no overlong forms; NUL counts as a character). */
bool utf8_valid(const char *data, size_t size);

/*
 * How many bytes at the end (0 to 3) begin a character whose rest is missing. 0 as well if the end is simply
 * not UTF-8: more bytes could not mend it.
 */
size_t utf8_incomplete_tail(const char *data, size_t size);

/* Base64 with padding, NUL-terminated; caller frees. NULL when out of memory. */
char *base64_encode(const char *data, size_t size);

/*
 * Copies into `buffer` so that it can be printed inside our own messages: control characters, backslashes
 * and bytes that are not UTF-8 become \xNN. Cut (with "...") where the buffer, of at least 8 bytes, is full.
 * Returns `buffer`.
 */
const char *text_escape(const char *data, size_t size, char *buffer, size_t buffer_size);
