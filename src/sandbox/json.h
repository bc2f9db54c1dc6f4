/* SPDX-License-Identifier: Apache-2.0 */
/* Building JSON objects member by member: the first failure is remembered, and asked for once at the end. */
#pragma once

#include "sandbox/result.h"

#include <jansson.h>

struct json_builder {
        bool failed;
};

/* Each takes over `value`. A NULL value is a failure (out of memory). */
void json_put(struct json_builder *builder, json_t *object, const char *key, json_t *value);
void json_add(struct json_builder *builder, json_t *array, json_t *value);

/* Text of ours, or null. */
json_t *json_text(const char *text);
/* A number; NOT_MEASURED gives null. */
json_t *json_count(uint64_t value);
/* Seconds; negative gives null. */
json_t *json_seconds(double seconds);
/* Nanoseconds as seconds; NOT_MEASURED gives null. */
json_t *json_nsec(uint64_t nsec);

/*
 * Puts bytes of the program under `key`: as text, or as
 * base64 if they are not UTF-8; "KEY_encoding" says which.
 */
void json_put_bytes(
    struct json_builder *builder, json_t *object, const char *key, const char *data, size_t size);

/* One line; caller frees. NULL when something failed. Drops the document. */
char *json_line(struct json_builder *builder, json_t *document);

json_t *json_event(struct json_builder *builder, const struct run_event *event);
json_t *json_sample(struct json_builder *builder, const struct run_sample *sample);
/* The `security` part: evidence where there is any, null where there is none. */
json_t *json_security(struct json_builder *builder, const struct result *result);
