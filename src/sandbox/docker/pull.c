/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/pull.h"

#include "sandbox/docker/engine.h"
#include "sandbox/docker/json_lines.h"
#include "util/fd.h"

#include <ctype.h>
#include <sys/epoll.h>

/* ---- References ---- */

static int bad_reference(const char *text, struct error *err)
{
        return error_set(err, ERROR_USAGE, 0, "give it as NAME[:TAG] or REGISTRY/NAME[@DIGEST]",
            "image: \"%.200s\" is no reference of an image", text);
}

static bool take_part(char *ret, size_t room, const char *from, size_t size)
{
        if (size == 0 || size >= room)
                return false;
        memcpy(ret, from, size);
        ret[size] = '\0';
        return true;
}

int image_reference_parse(const char *text, struct image_reference *ret, struct error *err)
{
        struct image_reference reference = {};
        size_t size = strlen(text);
        /* Nothing in it needs percent-encoding in a path; and nothing leads out of one. */
        for (size_t i = 0; i < size; i++)
                if (!isalnum((unsigned char)text[i]) && !strchr("._-:/@", text[i]))
                        return bad_reference(text, err);
        if (size == 0 || text[0] == '/' || strstr(text, "//") || strstr(text, ".."))
                return bad_reference(text, err);
        const char *digest = strchr(text, '@');
        const char *name_end = digest ? digest : text + size;
        const char *last = name_end; /* behind the last slash */
        while (last > text && last[-1] != '/')
                last--;
        const char *tag = memchr(last, ':', (size_t)(name_end - last));
        if (!take_part(reference.name, sizeof reference.name, text, (size_t)((tag ? tag : name_end) - text)))
                return bad_reference(text, err);
        reference.by_digest = digest != NULL;
        /* Of both, the digest is the one that says it exactly. Without a tag the engine would fetch all. */
        const char *version = digest ? digest + 1 : tag ? tag + 1 : "latest";
        size_t version_size = digest || !tag ? strlen(version) : (size_t)(name_end - version);
        if (!take_part(reference.tag, sizeof reference.tag, version, version_size) ||
            strpbrk(reference.tag, "/@"))
                return bad_reference(text, err);
        *ret = reference;
        return 0;
}

/* ---- What the engine reports ---- */

void pull_take_report(struct pull_state *state, const json_t *report)
{
        const char *error = json_string_value(json_object_get(report, "error"));
        const char *status = json_string_value(json_object_get(report, "status"));
        const char *id = json_string_value(json_object_get(report, "id"));
        if (error && state->error.code == ERROR_NONE)
                (void)error_set(&state->error, ERROR_IMAGE, 0,
                    "see the name, and whether the engine can reach the registry",
                    "docker: the engine says: %.1000s", error);
        /* "Pulling from NAME" has the tag where others have the layer. */
        if (!status || !id || strncmp(status, "Pulling from", 12) == 0)
                return;
        unsigned at = 0;
        while (at < state->layer_count && strcmp(state->layers[at].id, id) != 0)
                at++;
        if (at == PULL_LAYERS_MAX || strlen(id) >= sizeof state->layers[at].id)
                return;
        if (at == state->layer_count) {
                memcpy(state->layers[at].id, id, strlen(id) + 1);
                state->layer_count++;
        }
        if (strcmp(status, "Downloading") == 0) {
                const json_t *detail = json_object_get(report, "progressDetail");
                json_int_t done = json_integer_value(json_object_get(detail, "current"));
                json_int_t total = json_integer_value(json_object_get(detail, "total"));
                state->layers[at].bytes_done = (uint64_t)MAX(done, 0);
                state->layers[at].bytes = (uint64_t)MAX(total, 0);
        } else if (strcmp(status, "Download complete") == 0) {
                state->layers[at].bytes_done = state->layers[at].bytes;
        } else if (strcmp(status, "Pull complete") == 0 || strcmp(status, "Already exists") == 0) {
                state->layers[at].bytes_done = state->layers[at].bytes;
                state->layers[at].done = true;
        }
}

void pull_sum(const struct pull_state *state, struct image_progress *ret)
{
        struct image_progress sum = {.parts = state->layer_count};
        for (unsigned i = 0; i < state->layer_count; i++) {
                sum.parts_done += state->layers[i].done;
                sum.bytes_done += MIN(state->layers[i].bytes_done, state->layers[i].bytes);
                sum.bytes += state->layers[i].bytes;
        }
        *ret = sum;
}

/* ---- The calls ---- */

struct puller {
        const struct image_pull *pull;
        struct pull_state *state;
        struct json_lines lines;
        bool given_up;
        int status; /* of the last call, HTTP; 0: none came */
        char *body; /* its answer */
        struct error error;
};

static void puller_clear(struct puller *puller)
{
        json_lines_clear(&puller->lines);
        error_clear(&puller->error);
        if (puller->state)
                error_clear(&puller->state->error);
        free(puller->state);
        free(puller->body);
}

static int on_report(void *user, const char *data, size_t size)
{
        struct puller *puller = user;
        json_t *report;
        int r;
        while ((r = json_lines_next(&puller->lines, &data, &size, &report)) > 0) {
                pull_take_report(puller->state, report);
                json_decref(report);
                struct image_progress progress;
                pull_sum(puller->state, &progress);
                if (puller->pull->progress && puller->pull->progress(&progress, puller->pull->user) != 0) {
                        puller->given_up = true;
                        return -ECANCELED;
                }
        }
        return r;
}

static void on_done(void *user, const struct engine_reply *reply)
{
        struct puller *puller = user;
        puller->status = reply->status;
        free(puller->body);
        puller->body = strndup(reply->body, reply->size);
        error_move(&puller->error, reply->error);
}

/* Makes a call and waits for its end. */
static int call(struct engine *engine, struct puller *puller, const char *method, const char *path,
    engine_data *data, struct error *err)
{
        const struct engine_request request = {.method = method,
            .path = path,
            .bare = engine->api == 0,
            .data = data,
            .done = on_done,
            .user = puller};
        int r = engine_call(engine, &request, err);
        while (r == 0 && engine->calls > 0)
                engine_settle(engine, ENGINE_CALL_MSEC);
        return r;
}

static int refused(struct puller *puller, const char *what, struct error *err)
{
        if (puller->given_up)
                return error_set(err, ERROR_CANCELLED, ECANCELED, NULL, "pulling the image");
        const struct engine_reply reply = {
            .status = puller->status,
            .body = puller->body ? puller->body : "",
            .size = puller->body ? strlen(puller->body) : 0,
            .error = &puller->error,
        };
        int r = engine_refused(&reply, what, err);
        if (err && puller->status != 0) {
                err->code = ERROR_IMAGE;
                free(err->hint);
                err->hint = strdup("see the name, and whether the engine can reach the registry");
        }
        return r;
}

/* The tag that the caller wants it to have. */
static int give_name(struct engine *engine, struct puller *puller, const char *id, struct error *err)
{
        struct image_reference name;
        char path[1024];
        int r = image_reference_parse(puller->pull->name, &name, err);
        if (r < 0)
                return r;
        if (name.by_digest)
                return bad_reference(puller->pull->name, err);
        (void)snprintf(path, sizeof path, "/images/%s/tag?repo=%s&tag=%s", id, name.name, name.tag);
        r = call(engine, puller, "POST", path, NULL, err);
        return r == 0 && puller->status != 201 ? refused(puller, "naming the image", err) : r;
}

static int run(
    struct engine *engine, struct puller *puller, char ret_digest[IMAGE_DIGEST_SIZE], struct error *err)
{
        struct image_reference from;
        char path[1024];
        int r = image_reference_parse(puller->pull->reference, &from, err);
        if (r == 0)
                r = call(engine, puller, "GET", "/_ping", NULL, err);
        if (r < 0)
                return r;
        if (puller->status != 200)
                return refused(puller, "asking for the API's version", err);
        engine->api = ENGINE_API_LEAST;

        (void)snprintf(path, sizeof path, "/images/create?fromImage=%s&tag=%s", from.name, from.tag);
        r = call(engine, puller, "POST", path, on_report, err);
        if (r < 0)
                return r;
        if (puller->status != 200)
                return refused(puller, "pulling the image", err);
        if (puller->state->error.code != ERROR_NONE) {
                if (err)
                        error_move(err, &puller->state->error);
                (void)error_wrap(err, "image: \"%s\"", puller->pull->reference);
                return -EINVAL;
        }

        (void)snprintf(
            path, sizeof path, "/images/%s%c%s/json", from.name, from.by_digest ? '@' : ':', from.tag);
        r = call(engine, puller, "GET", path, NULL, err);
        if (r < 0)
                return r;
        if (puller->status != 200)
                return refused(puller, "looking at the image", err);
        json_error_t ignored;
        json_t *account = json_loads(puller->body ? puller->body : "", 0, &ignored);
        const char *id = json_string_value(json_object_get(account, "Id"));
        char digest[IMAGE_DIGEST_SIZE] = "";
        if (id && strlen(id) < sizeof digest && !strpbrk(id, "/?#% "))
                (void)snprintf(digest, sizeof digest, "%s", id);
        json_decref(account);
        if (!digest[0])
                return error_set(err, ERROR_BACKEND, EBADMSG, "see docker.host: is it an engine?",
                    "docker: the engine's account of image %s makes no sense", puller->pull->reference);
        r = puller->pull->name ? give_name(engine, puller, digest, err) : 0;
        if (r == 0)
                memcpy(ret_digest, digest, sizeof digest);
        return r;
}

int docker_pull(const struct endpoint *endpoint, const struct image_pull *pull,
    char ret_digest[IMAGE_DIGEST_SIZE], struct error *err)
{
        _cleanup_(puller_clear) struct puller puller = {.pull = pull, .lines = JSON_LINES_INIT};
        _cleanup_(closep) int epoll = epoll_create1(EPOLL_CLOEXEC);
        struct engine engine = ENGINE_INIT;
        puller.state = calloc(1, sizeof *puller.state);
        if (!puller.state)
                return error_oom(err);
        if (epoll < 0)
                return error_set(err, ERROR_BACKEND, errno, "raise the open files limit (ulimit -n)",
                    "opening descriptors");
        int r = engine_open(&engine, endpoint, epoll, 0, ENGINE_CALL_MSEC, err);
        if (r == 0)
                r = run(&engine, &puller, ret_digest, err);
        engine_close(&engine);
        return r;
}
