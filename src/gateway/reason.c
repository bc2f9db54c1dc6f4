/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/reason.h"

static const struct {
        const char *word;
        enum verdict verdict;
} reasons[REASON_COUNT_] = {
    [REASON_NONE] = {"none", VERDICT_SERVED},
    [REASON_MALFORMED] = {"malformed_request", VERDICT_DENIED},
    [REASON_HEAD_TOO_LARGE] = {"head_too_large", VERDICT_DENIED},
    [REASON_METHOD] = {"method", VERDICT_DENIED},
    [REASON_VERSION] = {"version", VERDICT_DENIED},
    [REASON_TARGET] = {"target", VERDICT_DENIED},
    [REASON_QUERY] = {"query", VERDICT_DENIED},
    [REASON_BODY] = {"body", VERDICT_DENIED},
    [REASON_FIELD] = {"field", VERDICT_DENIED},
    [REASON_SLOW] = {"slow_request", VERDICT_DENIED},
    [REASON_PATH] = {"path", VERDICT_DENIED},
    [REASON_NAME] = {"name", VERDICT_DENIED},
    [REASON_PACKAGE] = {"package", VERDICT_DENIED},
    [REASON_UNLISTED] = {"not_listed", VERDICT_DENIED},
    [REASON_HOST] = {"host", VERDICT_DENIED},
    [REASON_SNI] = {"sni", VERDICT_DENIED},
    [REASON_TLS_GUEST] = {"tls_guest", VERDICT_DENIED},
    [REASON_PREFIX] = {"prefix", VERDICT_DENIED},
    [REASON_GIT] = {"git", VERDICT_DENIED},
    [REASON_LIMIT_REQUESTS] = {"limit_requests", VERDICT_DENIED},
    [REASON_LIMIT_NAMES] = {"limit_names", VERDICT_DENIED},
    [REASON_LIMIT_NAME_BYTES] = {"limit_name_bytes", VERDICT_DENIED},
    [REASON_LIMIT_MISSES] = {"limit_misses", VERDICT_DENIED},
    [REASON_LIMIT_FETCHES] = {"limit_fetches", VERDICT_DENIED},
    [REASON_LIMIT_FILES] = {"limit_files", VERDICT_DENIED},
    [REASON_LIMIT_URLS] = {"limit_urls", VERDICT_DENIED},
    [REASON_LIMIT_URL_BYTES] = {"limit_url_bytes", VERDICT_DENIED},
    [REASON_LIMIT_BYTES] = {"limit_bytes", VERDICT_DENIED},
    [REASON_LIMIT_CONNECTIONS] = {"limit_connections", VERDICT_DENIED},
    [REASON_ADDRESS] = {"address", VERDICT_DENIED},
    [REASON_REDIRECT] = {"redirect", VERDICT_DENIED},
    [REASON_HASH] = {"hash_mismatch", VERDICT_DENIED},
    [REASON_TOO_LARGE] = {"too_large", VERDICT_DENIED},
    [REASON_INDEX] = {"bad_index", VERDICT_DENIED},
    [REASON_TLS] = {"tls", VERDICT_DENIED},
    [REASON_TIMEOUT] = {"upstream_timeout", VERDICT_FAILED},
    [REASON_UPSTREAM] = {"upstream_failed", VERDICT_FAILED},
    [REASON_MISSING] = {"not_found", VERDICT_MISSING},
    [REASON_INTERNAL] = {"internal", VERDICT_FAILED},
};

static const char *const verdicts[VERDICT_COUNT_] = {
    [VERDICT_SERVED] = "served",
    [VERDICT_DENIED] = "denied",
    [VERDICT_MISSING] = "missing",
    [VERDICT_FAILED] = "failed",
};

const char *reason_word(enum reason reason)
{
        return reasons[reason].word;
}

enum verdict reason_verdict(enum reason reason)
{
        return reasons[reason].verdict;
}

const char *verdict_word(enum verdict verdict)
{
        return verdicts[verdict];
}
