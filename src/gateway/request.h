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

#define REQUEST_HOST_MAX 260

/* Where a head came in, and so what it may ask for. */
enum request_side {
        REQUEST_INDEX,  /* no entry of kind web: paths of package indexes only */
        REQUEST_PROXY,  /* CONNECT and absolute http targets too */
        REQUEST_TUNNEL, /* inside TLS: paths of the web, and POST, which git reads with */
};

enum request_method {
        METHOD_GET,
        METHOD_HEAD,
        METHOD_POST,
        METHOD_CONNECT,
};

struct request {
        enum request_method method;
        bool absolute;                       /* the target is a whole http URL */
        bool keep_alive;                     /* what the client wants */
        char target[REQUEST_TARGET_MAX + 1]; /* as sent, percent-encoding not yet undone; of CONNECT the
                                                authority */
        char accept[REQUEST_ACCEPT_MAX + 1]; /* all Accept fields, joined by commas; "" if none */
        char host[REQUEST_HOST_MAX + 1];     /* of the Host field; "" if none */
        bool has_length;
        uint64_t length; /* of the body of a POST */
        bool git_body;   /* its type is that of git's requests for objects */
        bool gzip;       /* its coding */
};

/*
 * Looks at the bytes that have come so far. *ret_length is the length of the whole head, final empty line
 * included, or 0 while more has to come. A refusal is reported at the first byte that gives it away, so
 * that nobody waits for the end of what never was a request.
 */
enum reason request_scan(const char *data, size_t size, size_t *ret_length);

/* Reads a whole head. *ret is untouched on a refusal. */
enum reason request_parse(const char *data, size_t length, enum request_side side, struct request *ret);

/* "GET", ... */
const char *request_method_word(enum request_method method);
