/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's calls that make a container, one after another, and those that end it. */
#include "sandbox/docker/container.h"

#include "sandbox/docker/image.h"
#include "sandbox/docker/request.h"

#include <jansson.h>
#include <signal.h>
#include <sys/epoll.h>

/* A first build copies a small file; but an engine under load may take its time: so many times a call's. */
#define BUILD_CALLS 4L
/* Asking how a container ended must not hold up the answer for long. */
#define END_MSEC 5000L

#define COMPLAINT_SHOWN 400

static const char not_an_engine[] = "see docker.host: is it an engine?";

static void call(struct container *c, const char *method, const char *path, const char *body,
    long limit_msec, engine_done *done)
{
        _cleanup_(error_clear) struct error err = {};
        const struct engine_request request = {
            .method = method,
            .path = path,
            .body = body,
            .body_size = body ? strlen(body) : 0,
            .limit_msec = limit_msec,
            .done = done,
            .user = c,
        };
        if (engine_call(&c->engine, &request, &err) < 0)
                container_fail(c, &err);
}

/* After each call: has somebody asked for the end meanwhile? */
static bool ending(struct container *c)
{
        if (!c->destroying)
                return false;
        setup_remove(c);
        return true;
}

static void refused(struct container *c, const struct engine_reply *reply, const char *what)
{
        _cleanup_(error_clear) struct error err = {};
        (void)engine_refused(reply, what, &err);
        container_fail(c, &err);
}

static void ask_for_image(struct container *c);
static void create(struct container *c);

/* ---- Which API ---- */

static void on_ping(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        if (ending(c))
                return;
        if (reply->status != 200) {
                refused(c, reply, "asking for the API's version");
                return;
        }
        if (reply->api < ENGINE_API_LEAST) {
                _cleanup_(error_clear) struct error err = {};
                (void)error_set(&err, ERROR_BACKEND, 0, "use Docker 19.03 or newer, or see docker.host",
                    "docker: what listens on %s is no engine with API 1.%u", c->endpoint.text,
                    ENGINE_API_LEAST);
                container_fail(c, &err);
                return;
        }
        c->engine.api = MIN(reply->api, ENGINE_API_WANTED);
        ask_for_image(c);
}

int setup_begin(struct container *c, struct error *err)
{
        const struct engine_request ping = {
            .method = "GET", .path = "/_ping", .bare = true, .done = on_ping, .user = c};
        c->step = STEP_PING;
        return engine_call(&c->engine, &ping, err);
}

/* ---- The image ---- */

static void no_image(struct container *c)
{
        _cleanup_(error_clear) struct error err = {};
        _cleanup_(freep) char *hint = NULL;
        if (asprintf(&hint,
                "`mai-sandbox image pull --backend docker %s`, or set `image` to one that the engine has",
                c->spec->image) < 0)
                hint = NULL;
        (void)error_set(&err, ERROR_IMAGE, 0, hint, "image: the engine at %s has no image \"%s\"",
            c->endpoint.text, c->spec->image);
        container_fail(c, &err);
}

static void on_image(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        if (ending(c))
                return;
        if (reply->status == 404) {
                no_image(c);
                return;
        }
        if (reply->status != 200) {
                refused(c, reply, "looking for the image");
                return;
        }
        _cleanup_(error_clear) struct error err = {};
        json_error_t ignored;
        json_t *answer = json_loadb(reply->body, reply->size, 0, &ignored);
        const char *id = json_string_value(json_object_get(answer, "Id"));
        int r = 0;
        if (!id || strlen(id) >= sizeof c->base_id ||
            strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789:") != strlen(id))
                r = error_set(&err, ERROR_BACKEND, EBADMSG, not_an_engine,
                    "docker: the engine's account of image %s makes no sense", c->spec->image);
        else
                r = image_check(answer, c->spec->image, &err);
        if (r == 0)
                (void)snprintf(c->base_id, sizeof c->base_id, "%s", id);
        json_decref(answer);
        if (r < 0) {
                container_fail(c, &err);
                return;
        }
        (void)snprintf(c->evidence.image_digest, sizeof c->evidence.image_digest, "%s", c->base_id);
        image_derived_name(c->base_id, c->derived, sizeof c->derived);
        create(c);
}

/* Percent-encodes what a path must not hold; names are letters, digits and . _ - : / @ + by the policy. */
static void ask_for_image(struct container *c)
{
        char path[1024];
        c->step = STEP_IMAGE;
        (void)snprintf(path, sizeof path, "/images/%s/json", c->spec->image);
        call(c, "GET", path, NULL, 0, on_image);
}

static void on_built(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        static const char what[] = "adding the init to the image";
        _cleanup_(error_clear) struct error err = {};
        if (ending(c))
                return;
        if (reply->status != 200)
                refused(c, reply, what);
        else if (image_answer_error(reply->body, reply->size, what, &err) < 0)
                container_fail(c, &err);
        else
                create(c);
}

static void build(struct container *c)
{
        _cleanup_(strbuf_clear) struct strbuf context = STRBUF_INIT(IMAGE_CONTEXT_MAX);
        _cleanup_(error_clear) struct error err = {};
        char path[256];
        c->step = STEP_BUILD;
        c->built = true;
        (void)snprintf(path, sizeof path, "/build?t=%s&forcerm=1&pull=0&networkmode=none", c->derived);
        int r = image_context(c->base_id, &context) < 0 ? error_oom(&err) : 0;
        const struct engine_request request = {
            .method = "POST",
            .path = path,
            .body = context.data,
            .body_size = context.size,
            .content_type = "application/x-tar",
            .limit_msec = BUILD_CALLS * (long)c->call_msec,
            .done = on_built,
            .user = c,
        };
        if (r == 0)
                r = engine_call(&c->engine, &request, &err);
        if (r < 0)
                container_fail(c, &err);
}

/* ---- The container ---- */

static void on_created(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        _cleanup_(error_clear) struct error err = {};
        c->created = c->created || reply->status != 404; /* without an answer it may be there all the same */
        if (ending(c))
                return;
        if (reply->status == 404 && !c->built) {
                build(c);
                return;
        }
        if (reply->status != 201) {
                refused(c, reply, "creating the container");
                return;
        }
        c->step = STEP_ATTACH;
        container_set_timer(c, c->call_msec);
        if (attach_open(&c->attach, &c->engine, c->name, SOURCE_ATTACH, &err) < 0)
                container_fail(c, &err);
}

static void create(struct container *c)
{
        const struct docker_identity identity = {
            .id = c->id, .uid = c->uid, .gid = c->gid, .image = c->derived, .cpus = c->cpus};
        char path[128];
        c->step = STEP_CREATE;
        (void)snprintf(path, sizeof path, "/containers/create?name=%s", c->name);
        json_t *request = docker_create_request(c->spec, &identity);
        _cleanup_(freep) char *body = request ? json_dumps(request, JSON_COMPACT) : NULL;
        json_decref(request);
        if (!body) {
                _cleanup_(error_clear) struct error err = {};
                (void)error_oom(&err);
                container_fail(c, &err);
                return;
        }
        call(c, "POST", path, body, 0, on_created);
}

static void on_inspected(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        if (ending(c))
                return;
        if (reply->status != 200) {
                refused(c, reply, "inspecting the container");
                return;
        }
        c->inspected = strndup(reply->body, reply->size);
}

static void inspect(struct container *c, long limit_msec, engine_done *done)
{
        char path[128];
        (void)snprintf(path, sizeof path, "/containers/%s/json", c->name);
        call(c, "GET", path, NULL, limit_msec, done);
}

static void on_started(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        if (ending(c))
                return;
        if (reply->status != 204 && reply->status != 304) {
                refused(c, reply, "starting the container");
                return;
        }
        c->step = STEP_RUNNING;
        container_set_timer(c, c->call_msec); /* for the init's account of itself */
        inspect(c, 0, on_inspected);
}

static void on_version(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        c->version_known = true;
        if (ending(c) || reply->status != 200)
                return; /* nothing depends on it */
        c->version = strndup(reply->body, reply->size);
}

/* It takes the engine as long as a tenth of a container: it asks its runtimes for theirs. */
void setup_ask_version(struct container *c)
{
        call(c, "GET", "/version", NULL, 0, on_version);
}

void setup_attached(struct container *c)
{
        char path[128];
        if (c->destroying || c->step != STEP_ATTACH)
                return;
        c->step = STEP_START;
        container_set_timer(c, 0);
        (void)snprintf(path, sizeof path, "/containers/%s/start", c->name);
        call(c, "POST", path, NULL, 0, on_started);
}

void setup_late(struct container *c)
{
        _cleanup_(error_clear) struct error err = {};
        if (c->step == STEP_ATTACH)
                (void)attach_late(&c->attach, &err);
        else if (c->step == STEP_RUNNING && (!c->guest_evidence || c->told_gate))
                (void)error_set(&err, ERROR_BACKEND, ETIMEDOUT,
                    "see whether the engine is overloaded, or raise docker.call_timeout",
                    "docker: the container's init does not answer");
        else
                return; /* the call under way has a limit of its own */
        container_fail(c, &err);
}

/* ---- The end ---- */

/* The end of a container that nobody asked for, in the words of the engine and of what it wrote. */
static void explain_end(struct container *c, const json_t *state)
{
        _cleanup_(error_clear) struct error err = {};
        const char *reason = json_string_value(json_object_get(state, "Error"));
        const struct strbuf *complaints = &c->complaints;
        char said[COMPLAINT_SHOWN], complaint[COMPLAINT_SHOWN];
        (void)engine_words(reason, COMPLAINT_SHOWN, said, sizeof said);
        (void)engine_words(complaints->data, complaints->size, complaint, sizeof complaint);
        if (!state)
                (void)error_set(&err, ERROR_BACKEND, EBADMSG, not_an_engine,
                    "docker: the container's streams ended, and the engine's account of it makes no sense");
        else if (json_is_true(json_object_get(state, "Running")))
                (void)error_set(&err, ERROR_BACKEND, ECONNRESET,
                    "see whether the engine, or a proxy before it, was restarted",
                    "docker: the connection to the container's streams");
        else
                (void)error_set(&err, ERROR_BACKEND, 0, "see the engine's log, and who else uses the engine",
                    "docker: the container ended by itself with status %lld%s%s%s%s",
                    (long long)json_integer_value(json_object_get(state, "ExitCode")), said[0] ? ": " : "",
                    said, complaint[0] ? ": " : "", complaint);
        container_fail(c, &err);
}

static void on_end_known(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        if (ending(c))
                return;
        if (reply->status != 200) {
                refused(c, reply, "asking how the container ended");
                return;
        }
        json_error_t ignored;
        json_t *answer = json_loadb(reply->body, reply->size, 0, &ignored);
        const json_t *state = json_object_get(answer, "State");
        state = json_is_object(state) ? state : NULL;
        bool oom = json_is_true(json_object_get(state, "OOMKilled"));
        if (oom && c->oom_kills == 0)
                c->oom_kills = 1;
        if (c->started && (c->killed || c->oom_kills > 0)) {
                /* Killed by us, or for want of memory: the init went with the rest. */
                c->has_end = true;
                c->end_status = SIGKILL;
        } else {
                explain_end(c, state);
        }
        json_decref(answer);
}

void setup_look_into_end(struct container *c)
{
        inspect(c, END_MSEC, on_end_known);
}

static void on_killed(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        if (ending(c) || c->exited)
                return;
        /* 409: it was not running any more. */
        if (reply->status != 204 && reply->status != 409 && reply->status != 404) {
                refused(c, reply, "killing the container");
                return;
        }
        c->has_end = true;
        c->end_status = SIGKILL;
}

void setup_kill(struct container *c)
{
        char path[128];
        c->killed_whole = true;
        (void)snprintf(path, sizeof path, "/containers/%s/kill?signal=KILL", c->name);
        call(c, "POST", path, NULL, END_MSEC, on_killed);
}

static void on_removed(void *user, const struct engine_reply *reply)
{
        struct container *c = user;
        c->destroyed = true;
        c->removed_complete = reply->status == 204 || reply->status == 404;
        if (c->removed_complete)
                return;
        _cleanup_(error_clear) struct error err = {};
        (void)engine_refused(reply, "removing the container", &err);
        (void)snprintf(c->leftover, sizeof c->leftover, "container %s: %s", c->name,
            err.message ? err.message : "not removed");
}

static void remove_path(const char *name, char path[128])
{
        (void)snprintf(path, 128, "/containers/%s?force=1&v=1", name);
}

void setup_remove(struct container *c)
{
        char path[128];
        if (c->removing || c->destroyed)
                return;
        /* What is being created can't be removed yet; nor can what the engine has not heard of. */
        if ((c->step == STEP_CREATE || c->step == STEP_BUILD || c->step == STEP_START) &&
            c->engine.calls > 0)
                return;
        if (!c->created) {
                c->destroyed = c->removed_complete = true;
                container_wake(c);
                return;
        }
        c->removing = true;
        attach_close(&c->attach);
        remove_path(c->name, path);
        _cleanup_(error_clear) struct error err = {};
        const struct engine_request request = {.method = "DELETE",
            .path = path,
            .limit_msec = MIN((long)c->call_msec, (long)DOCKER_REMOVE_MSEC),
            .done = on_removed,
            .user = c};
        if (engine_call(&c->engine, &request, &err) < 0) {
                c->destroyed = true;
                (void)snprintf(c->leftover, sizeof c->leftover, "container %s", c->name);
                container_wake(c);
        }
}

void setup_remove_late(struct container *c)
{
        if (c->destroyed)
                return;
        c->destroyed = true;
        (void)snprintf(c->leftover, sizeof c->leftover,
            "container %s: the engine has not removed it in time; `mai-sandbox prune` does", c->name);
}

static void on_pruned(void *user, const struct engine_reply *reply)
{
        struct error *err = user;
        if (reply->status != 204 && reply->status != 404)
                (void)engine_refused(reply, "removing the container", err);
}

int setup_remove_by_id(const struct endpoint *endpoint, const char *id, struct error *err)
{
        _cleanup_(error_clear) struct error inner = {};
        struct engine engine = ENGINE_INIT;
        char name[64], path[128];
        _cleanup_(closep) int epoll = epoll_create1(EPOLL_CLOEXEC);
        if (epoll < 0)
                return error_set(err, ERROR_BACKEND, errno, NULL, "opening descriptors");
        int r = engine_open(&engine, endpoint, epoll, SOURCE_ENGINE, ENGINE_CALL_MSEC, err);
        if (r < 0)
                return r;
        (void)snprintf(name, sizeof name, DOCKER_NAME_FORMAT, id);
        remove_path(name, path);
        const struct engine_request request = {
            .method = "DELETE", .path = path, .bare = true, .done = on_pruned, .user = &inner};
        r = engine_call(&engine, &request, err);
        if (r == 0) {
                engine_settle(&engine, ENGINE_CALL_MSEC + 1000);
                if (engine.calls > 0)
                        (void)error_set(&inner, ERROR_BACKEND, ETIMEDOUT, NULL, "removing the container");
                if (inner.code != ERROR_NONE) {
                        r = inner.errnum ? -inner.errnum : -EINVAL;
                        if (err)
                                error_move(err, &inner);
                }
        }
        engine_close(&engine);
        return r;
}
