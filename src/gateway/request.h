/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a request, read strictly: what a general HTTP server forgives (bare line feeds, folded fields,
 * white space before a colon, two lengths, a length and a coding, absolute targets, bodies of GET) is what
 * lets two parties read one stream of bytes differently. Here all of it is refused, and the connection with
 * it. Pure: bytes in, a struct out.
 */
#pragma once

#include "gateway/reason.h"

#define REQUEST_HEAD_MAX 8192
#define REQUEST_FIELDS_MAX 64
#define REQUEST_TARGET_MAX 1024
#define REQUEST_ACCEPT_MAX 1024

struct request {
        bool head;                           /* HEAD, else GET */
        bool keep_alive;                     /* what the client wants */
        char target[REQUEST_TARGET_MAX + 1]; /* as sent, origin form, percent-encoding not yet undone */
        char accept[REQUEST_ACCEPT_MAX + 1]; /* all Accept fields, joined by commas; "" if none */
};

/*
 * Looks at the bytes that have come so far. *ret_length is the length of the whole head, final empty line
 * included, or 0 while more has to come. A refusal is reported at the first byte that gives it away, so
 * that nobody waits for the end of what never was a request.
 */
enum reason request_scan(const char *data, size_t size, size_t *ret_length);

/* Reads a whole head. *ret is untouched on a refusal. */
enum reason request_parse(const char *data, size_t length, struct request *ret);
