/* SPDX-License-Identifier: Apache-2.0 */
/* A result as the JSON document of docs/RESULT.md. Made only when somebody asks for it. */
#include "sandbox/json.h"

#include "sandbox/media_type.h"

#include <signal.h>

static json_t *signal_text(int number)
{
        if (number <= 0)
                return json_null();
        const char *abbreviation = sigabbrev_np(number);
        char name[32];
        if (abbreviation)
                (void)snprintf(name, sizeof name, "SIG%s", abbreviation);
        else if (number >= SIGRTMIN && number <= SIGRTMAX)
                (void)snprintf(name, sizeof name, "SIGRTMIN+%d", number - SIGRTMIN);
        else
                (void)snprintf(name, sizeof name, "SIG%d", number);
        return json_string(name);
}

static void put_head(struct json_builder *builder, json_t *root, const struct result *result)
{
        char node[256] = "";
        if (gethostname(node, sizeof node - 1) < 0)
                node[0] = '\0';
        json_put(builder, root, "schema_version", json_integer(1));
        json_put(builder, root, "id", json_text(result->id));
        json_put(
            builder, root, "container_id", json_text(result->container_id[0] ? result->container_id : NULL));
        json_put(builder, root, "session_id", json_null());
        json_put(builder, root, "node", json_text(node));
        json_put(builder, root, "started_at", json_text(result->started_at));
        json_put(builder, root, "status", json_text(run_status_name(result->status)));
        json_put(builder, root, "ended_by", json_text(result->ended_by));
        json_put(builder, root, "exit_code",
            result->has_exit_code ? json_integer(result->exit_code) : json_null());
        json_put(builder, root, "signal", signal_text(result->signal));
}

static void put_output(struct json_builder *builder, json_t *root, const struct result *result)
{
        static const struct {
                const char *data, *truncated;
        } keys[2] = {[STREAM_STDOUT] = {"stdout", "stdout_truncated"},
            [STREAM_STDERR] = {"stderr", "stderr_truncated"}};
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                json_put_bytes(
                    builder, root, keys[i].data, strbuf_text(&result->output[i]), result->output[i].size);
                json_put(builder, root, keys[i].truncated, json_boolean(result->output_truncated[i]));
        }
}

/* In the unit of the limit: whole numbers stay whole. */
static json_t *amount(bool has, double value)
{
        if (!has)
                return json_null();
        if (value > -9e15 && value < 9e15 && (double)(json_int_t)value == value)
                return json_integer((json_int_t)value);
        return json_real(value);
}

static json_t *violation(struct json_builder *builder, const struct violation *violation)
{
        if (violation->kind == VIOLATION_NONE)
                return json_null();
        char message[VIOLATION_MESSAGE_SIZE];
        json_t *detail = json_object();
        if (violation->detail[0])
                json_put(builder, detail, violation->kind == VIOLATION_OUTPUT ? "stream" : "syscall",
                    json_text(violation->detail));
        json_t *object = json_object();
        json_put(builder, object, "kind", json_text(violation_kind_name(violation->kind)));
        json_put(builder, object, "limit", amount(violation->has_limit, violation->limit));
        json_put(builder, object, "observed", amount(violation->has_observed, violation->observed));
        json_put(builder, object, "detail", detail);
        json_put(builder, object, "message", json_text(violation_message(violation, message)));
        return object;
}

static json_t *events(struct json_builder *builder, const struct result *result)
{
        json_t *array = json_array();
        for (size_t i = 0; i < result->event_count; i++)
                json_add(builder, array, json_event(builder, &result->events[i]));
        return array;
}

static void put_spec(struct json_builder *builder, json_t *root, const struct result *result)
{
        const struct container_spec *spec = &result->spec;
        json_put(builder, root, "trust_level", json_text(spec->trust_level));
        json_put(builder, root, "backend", json_text(spec->backend));

        json_t *runtime = json_object();
        const struct evidence *evidence = &result->evidence;
        bool native = spec->backend && strcmp(spec->backend, "native") == 0;
        json_put(builder, runtime, "name",
            json_text(native                      ? "mai-launcher"
                      : evidence->runtime_name[0] ? evidence->runtime_name
                                                  : NULL));
        json_put(builder, runtime, "version",
            json_text(native                         ? MAI_VERSION
                      : evidence->runtime_version[0] ? evidence->runtime_version
                                                     : NULL));
        json_put(builder, root, "runtime", runtime);

        json_t *image = json_object();
        json_put(builder, image, "name", json_text(spec->image));
        /* The host's own tree has none. */
        json_put(
            builder, image, "digest", json_text(evidence->image_digest[0] ? evidence->image_digest : NULL));
        json_put(builder, root, "image", image);

        const struct limits *limits = &spec->limits;
        bool has = result->has_spec;
        json_t *object = json_object();
        json_put(builder, object, "cpu_count", amount(has, limits->cpu_count));
        json_put(builder, object, "mem_limit", json_count(has ? limits->mem_limit : NOT_MEASURED));
        json_put(builder, object, "timeout", amount(has, limits->timeout));
        json_put(builder, object, "pids_limit", json_count(has ? limits->pids_limit : NOT_MEASURED));
        json_put(builder, object, "cpu_time", amount(has, limits->cpu_time));
        json_put(builder, object, "disk_limit", json_count(has ? limits->disk_limit : NOT_MEASURED));
        json_put(builder, object, "inode_limit", json_count(has ? limits->inode_limit : NOT_MEASURED));
        json_put(builder, object, "output_limit", json_count(has ? limits->output_limit : NOT_MEASURED));
        json_put(builder, object, "open_files", json_count(has ? limits->open_files : NOT_MEASURED));
        json_put(builder, root, "limits", object);
}

static void put_usage(struct json_builder *builder, json_t *root, const struct result *result)
{
        const struct usage *usage = &result->usage;
        json_t *object = json_object();
        json_put(builder, object, "wall", json_seconds(result->has_usage ? result->wall : -1));
        json_put(builder, object, "cpu", json_nsec(usage->cpu_nsec));
        json_put(builder, object, "cpu_user", json_nsec(usage->cpu_user_nsec));
        json_put(builder, object, "cpu_system", json_nsec(usage->cpu_system_nsec));
        json_put(builder, object, "memory_peak", json_count(usage->memory_peak_bytes));
        json_put(builder, object, "pids_peak", json_count(usage->pids_peak));
        json_put(builder, object, "disk", json_count(usage->disk_bytes));
        json_put(builder, object, "io_read", json_count(usage->io_read_bytes));
        json_put(builder, object, "io_write", json_count(usage->io_write_bytes));
        json_put(builder, object, "net_rx", json_count(usage->net_rx_bytes));
        json_put(builder, object, "net_tx", json_count(usage->net_tx_bytes));
        json_put(builder, root, "usage", object);

        json_t *samples = json_array();
        for (size_t i = 0; i < result->sample_count; i++)
                json_add(builder, samples, json_sample(builder, &result->samples[i]));
        json_put(builder, root, "samples", samples);
}

static json_t *files(struct json_builder *builder, const struct result *result)
{
        json_t *array = json_array();
        for (size_t i = 0; i < result->file_count; i++) {
                const struct run_file *file = &result->files[i];
                json_t *object = json_object();
                json_put_bytes(builder, object, "path", file->path, file->path_size);
                json_put(builder, object, "size", json_count(file->size));
                json_put(builder, object, "sha256", json_text(file->sha256));
                json_put(builder, object, "media_type", json_text(media_type(file->path, file->path_size)));
                if (file->content)
                        json_put_bytes(builder, object, "content", file->content, file->size);
                json_add(builder, array, object);
        }
        return array;
}

static void put_tail(struct json_builder *builder, json_t *root, const struct result *result)
{
        json_t *timing = json_object();
        json_put(builder, timing, "queue", json_seconds(result->timing.queue));
        json_put(builder, timing, "create", json_seconds(result->timing.create));
        json_put(builder, timing, "start", json_seconds(result->timing.start));
        json_put(builder, timing, "run", json_seconds(result->timing.run));
        json_put(builder, timing, "collect", json_seconds(result->timing.collect));
        json_put(builder, timing, "destroy", json_seconds(result->timing.destroy));
        json_put(builder, root, "timing", timing);

        /* Where no container was made there was nothing to clean up. */
        json_t *leftovers = json_array();
        if (result->leftover)
                json_add(builder, leftovers, json_text(result->leftover));
        json_t *cleanup = json_object();
        json_put(
            builder, cleanup, "complete", json_boolean(!result->has_cleanup || result->cleanup_complete));
        json_put(builder, cleanup, "processes_killed", json_integer(result->processes_killed));
        json_put(builder, cleanup, "leftovers", leftovers);
        json_put(builder, root, "cleanup", cleanup);

        json_t *error = json_null();
        if (result->error.code != ERROR_NONE) {
                error = json_object();
                json_put(builder, error, "code", json_text(error_code_name(result->error.code)));
                json_put(builder, error, "message",
                    json_text(result->error.message ? result->error.message : "out of memory"));
                json_put(builder, error, "hint", json_text(result->error.hint));
        }
        json_put(builder, root, "error", error);
}

const char *result_json(struct result *result)
{
        if (result->json)
                return result->json;
        struct json_builder builder = {};
        json_t *root = json_object();
        put_head(&builder, root, result);
        put_output(&builder, root, result);
        json_put(&builder, root, "violation", violation(&builder, &result->violation));
        json_put(&builder, root, "events", events(&builder, result));
        put_spec(&builder, root, result);
        put_usage(&builder, root, result);
        json_put(&builder, root, "files", files(&builder, result));
        json_put(&builder, root, "security", json_security(&builder, result));
        put_tail(&builder, root, result);
        result->json = json_line(&builder, root);
        return result->json;
}
