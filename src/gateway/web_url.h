/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs of the web as a guest spells them, in one normal form. What two readers could take differently is not
 * repaired but refused: dot segments in any spelling, encoded slashes and percent signs, backslashes, bytes
 * that are no UTF-8, user information, numbers that only some readers take for an address. Pure: text in, a
 * struct out.
 */
#pragma once

#include "gateway/reason.h"

#define WEB_HOST_MAX 253
#define WEB_TARGET_MAX 1024 /* path and query, also in normal form */

struct web_url {
        bool tls;
        uint16_t port;
        char host[WEB_HOST_MAX + 1];   /* lower case, no dot at its end; a name or an IPv4 address */
        char path[WEB_TARGET_MAX + 1]; /* begins with a slash; what needs no encoding has none */
        bool has_query;
        char query[WEB_TARGET_MAX + 1]; /* without the question mark */
};

/* "HOST:PORT", or "HOST" if `port` is not 0, which is then the one that is meant. */
enum reason web_authority_parse(
    const char *text, size_t size, uint16_t port, char ret_host[WEB_HOST_MAX + 1], uint16_t *ret_port);

/* "/path?query" into the path and query of *ret, whose other members stay. */
enum reason web_target_parse(const char *text, size_t size, struct web_url *ret);

/* "https://HOST[:PORT]/path?query", or http. */
enum reason web_url_parse(const char *text, struct web_url *ret);

/* The text of it; the port only where it is not the scheme's own. -ENOMEM. */
int web_url_text(const struct web_url *url, char **ret);

/*
 * Whether `url` is the prefix or lies below it: same scheme, host and port; and where the prefix does not
 * end in a slash, it ends where a segment does. *ret_rest: how many characters of path and query are not the
 * prefix's.
 */
bool web_url_below(const struct web_url *prefix, const struct web_url *url, size_t *ret_rest);
