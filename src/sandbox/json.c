/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/json.h"

#include "sandbox/text.h"

#include <math.h>

/* Nanoseconds of an hour fit, and no tail of a binary fraction shows. */
#define JSON_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(12))

void json_put(struct json_builder *builder, json_t *object, const char *key, json_t *value)
{
        if (json_object_set_new(object, key, value) < 0)
                builder->failed = true;
}

void json_add(struct json_builder *builder, json_t *array, json_t *value)
{
        if (json_array_append_new(array, value) < 0)
                builder->failed = true;
}

json_t *json_text(const char *text)
{
        if (!text)
                return json_null();
        if (utf8_valid(text, strlen(text)))
                return json_string(text);
        char escaped[1024];
        return json_string(text_escape(text, strlen(text), escaped, sizeof escaped));
}

json_t *json_count(uint64_t value)
{
        return value == NOT_MEASURED ? json_null()
                                     : json_integer((json_int_t)MIN(value, (uint64_t)INT64_MAX));
}

json_t *json_seconds(double seconds)
{
        return isfinite(seconds) && seconds >= 0 ? json_real(seconds) : json_null();
}

json_t *json_nsec(uint64_t nsec)
{
        return nsec == NOT_MEASURED ? json_null() : json_real((double)nsec / 1e9);
}

void json_put_bytes(
    struct json_builder *builder, json_t *object, const char *key, const char *data, size_t size)
{
        char encoding_key[64];
        (void)snprintf(encoding_key, sizeof encoding_key, "%s_encoding", key);
        if (utf8_valid(data, size)) {
                json_put(builder, object, key, json_stringn_nocheck(data, size));
                json_put(builder, object, encoding_key, json_string("utf-8"));
                return;
        }
        _cleanup_(freep) char *encoded = base64_encode(data, size);
        json_put(builder, object, key, encoded ? json_string_nocheck(encoded) : NULL);
        json_put(builder, object, encoding_key, json_string("base64"));
}

char *json_line(struct json_builder *builder, json_t *document)
{
        char *text = builder->failed ? NULL : json_dumps(document, JSON_FLAGS);
        json_decref(document);
        return text;
}

json_t *json_event(struct json_builder *builder, const struct run_event *event)
{
        json_t *object = json_object();
        json_put(builder, object, "seq", json_count(event->seq));
        json_put(builder, object, "t", json_seconds(event->t));
        json_put(builder, object, "kind", json_text(event->kind));
        json_put(builder, object, "count", json_count(event->count));
        if (event->detail_key && strcmp(event->detail_key, "path") == 0)
                json_put_bytes(builder, object, "path", event->detail, strlen(event->detail));
        else if (event->detail_key)
                json_put(builder, object, event->detail_key, json_text(event->detail));
        if (event->reason[0])
                json_put(builder, object, "reason", json_text(event->reason));
        if (event->has_bytes)
                json_put(builder, object, "bytes", json_count(event->bytes));
        return object;
}

json_t *json_sample(struct json_builder *builder, const struct run_sample *sample)
{
        json_t *object = json_object();
        json_put(builder, object, "t", json_seconds(sample->t));
        json_put(builder, object, "cpu", json_seconds(sample->cpu));
        json_put(builder, object, "memory", json_count(sample->memory));
        json_put(builder, object, "pids", json_count(sample->pids));
        json_put(builder, object, "disk", json_count(sample->disk));
        return object;
}

char *result_event_json(const struct run_event *event)
{
        struct json_builder builder = {};
        return json_line(&builder, json_event(&builder, event));
}

char *result_sample_json(const struct run_sample *sample)
{
        struct json_builder builder = {};
        json_t *object = json_sample(&builder, sample);
        json_put(&builder, object, "kind", json_string("sample"));
        return json_line(&builder, object);
}

char *result_output_json(double t, enum output_stream stream, const char *data, size_t size)
{
        struct json_builder builder = {};
        json_t *object = json_object();
        json_put(&builder, object, "kind", json_string("output"));
        json_put(&builder, object, "t", json_seconds(t));
        json_put(&builder, object, "stream", json_string(stream == STREAM_STDOUT ? "stdout" : "stderr"));
        json_put_bytes(&builder, object, "data", data, size);
        return json_line(&builder, object);
}

char *result_status_json(double t, const char *phase)
{
        struct json_builder builder = {};
        json_t *object = json_object();
        json_put(&builder, object, "kind", json_string("status"));
        json_put(&builder, object, "t", json_seconds(t));
        json_put(&builder, object, "phase", json_text(phase));
        return json_line(&builder, object);
}
