/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a request did not get what it asked for. The word goes into the event; the guest learns only which of
 * the answers below it was, and every refusal looks the same to it.
 */
#pragma once

#include "util/common.h"

enum reason {
        REASON_NONE, /* served */

        /* The head of the request. */
        REASON_MALFORMED,      /* bytes that are not the head of a request as we take it */
        REASON_HEAD_TOO_LARGE, /* more bytes or more fields than we take */
        REASON_METHOD,         /* not GET or HEAD */
        REASON_VERSION,        /* not HTTP/1.0 or HTTP/1.1 */
        REASON_TARGET, /* absolute form, authority form, or a character that has no place in a path */
        REASON_QUERY,  /* a query or a fragment */
        REASON_BODY,   /* a body, or what announces one */
        REASON_FIELD,  /* a field that changes what the message is, or a repeated one */
        REASON_SLOW,   /* the head did not arrive in time */

        /* What it asks for. */
        REASON_PATH,      /* no such place */
        REASON_NAME,      /* outside the grammar of package or file names */
        REASON_PACKAGE,   /* the policy's lists of packages */
        REASON_UNLISTED,  /* no index page served in this run lists the file */
        REASON_HOST,      /* web: not a host (and port) that an entry names, or two names that differ */
        REASON_SNI,       /* web: TLS for another host than that of the tunnel, or for none that is named */
        REASON_TLS_GUEST, /* web: the guest's side of TLS failed */
        REASON_PREFIX,    /* web: below no prefix of an entry */
        REASON_GIT,       /* web: what git's read-only part does not send */

        /* Limits of a run. */
        REASON_LIMIT_REQUESTS,
        REASON_LIMIT_NAMES,
        REASON_LIMIT_NAME_BYTES,
        REASON_LIMIT_MISSES,
        REASON_LIMIT_FETCHES,
        REASON_LIMIT_FILES,
        REASON_LIMIT_URLS,
        REASON_LIMIT_URL_BYTES,
        REASON_LIMIT_BYTES,
        REASON_LIMIT_CONNECTIONS,

        /* What the upstream did. */
        REASON_ADDRESS,   /* its name led to an address that the entry may not reach */
        REASON_REDIRECT,  /* it sent us elsewhere, or in circles */
        REASON_HASH,      /* the file is not the one that was listed */
        REASON_TOO_LARGE, /* more bytes than the limit */
        REASON_INDEX,     /* its page could not be understood */
        REASON_TLS,       /* its certificate did not verify */
        REASON_TIMEOUT,   /* it was too slow */
        REASON_UPSTREAM,  /* it could not be reached, broke off, or answered with an error */
        REASON_MISSING,   /* it knows no such package */

        REASON_INTERNAL, /* our own failure: memory, the cache directory */
        REASON_COUNT_,
};

enum verdict {
        VERDICT_SERVED,
        VERDICT_DENIED,  /* 403, the one answer to every refusal */
        VERDICT_MISSING, /* 404: so that resolvers go on */
        VERDICT_FAILED,  /* 502: trying again may help */
        VERDICT_COUNT_,
};

/* "malformed_request", ...: the word in events. */
const char *reason_word(enum reason reason);

enum verdict reason_verdict(enum reason reason);

/* "served", "denied", "missing", "failed". */
const char *verdict_word(enum verdict verdict);
