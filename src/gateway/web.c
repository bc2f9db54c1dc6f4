/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/web.h"

#include "gateway/git.h"
#include "util/defence.h"
#include "util/fd.h"

#include <strings.h>

#define FIELDS_MAX 8192
#define FIELD_VALUE_MAX 1024
#define GIT_BODY_MAX (1U << 20) /* decoded */

struct web_answer {
        struct gateway *gateway;
        const struct index_entry *entry;
        enum web_kind kind;
        char *key; /* "GET URL" or "HEAD URL"; NULL: nobody else gets it */
        bool running, ready;
        struct waiters waiters;
        long status;
        struct strbuf fields; /* that are passed on */
        int64_t length;       /* as the upstream says; for HEAD */
        int fd;
        uint64_t size;
        struct git_ids ids; /* of WEB_GIT_REFS */
        struct web_answer *next, *previous;
};

/* ---- The answers of a run ---- */

static struct web_answer *answer_new(struct gateway *gateway, const struct web_target *target, char *key)
{
        struct web_answer *answer = calloc(1, sizeof *answer);
        if (!answer)
                return NULL;
        *answer = (struct web_answer){
            .gateway = gateway,
            .entry = target->entry,
            .kind = target->kind,
            .key = key,
            .fields = STRBUF_INIT(FIELDS_MAX),
            .fd = -1,
            .next = gateway->web_answers,
        };
        if (answer->next)
                answer->next->previous = answer;
        gateway->web_answers = answer;
        return answer;
}

/* So that it can be asked for again. */
static void answer_reset(struct web_answer *answer)
{
        answer->ready = false;
        close_and_forget(&answer->fd);
        strbuf_clear(&answer->fields);
        git_ids_clear(&answer->ids);
}

static void answer_free(struct web_answer *answer)
{
        answer_reset(answer);
        if (answer->next)
                answer->next->previous = answer->previous;
        if (answer->previous)
                answer->previous->next = answer->next;
        else
                answer->gateway->web_answers = answer->next;
        free(answer->key);
        free(answer);
}

void web_clear(struct gateway *gateway)
{
        while (gateway->web_answers)
                answer_free(gateway->web_answers);
}

/* A few hundred at the most. */
static struct web_answer *find_answer(struct gateway *gateway, const char *method, const char *url)
{
        size_t length = strlen(method);
        for (struct web_answer *answer = gateway->web_answers; answer; answer = answer->next)
                if (answer->key && strncmp(answer->key, method, length) == 0 && answer->key[length] == ' ' &&
                    strcmp(answer->key + length + 1, url) == 0)
                        return answer;
        return NULL;
}

/* ---- What comes from upstream ---- */

/* Fields of an answer that say what it is. Cookies, and what sets up other protocols, are not among them. */
static const char *const passed_on[] = {"Content-Type", "Content-Encoding", "Content-Disposition",
    "Content-Language", "Last-Modified", "ETag", "Link", "Retry-After"};

static bool is_plain_text(const char *text, size_t size)
{
        for (size_t i = 0; i < size; i++)
                if ((text[i] < 0x20 && text[i] != '\t') || text[i] > 0x7e)
                        return false;
        return true;
}

static void take_field(void *context, const char *data, size_t size)
{
        struct web_answer *answer = context;
        if (size >= 5 && memcmp(data, "HTTP/", 5) == 0) {
                strbuf_clear(&answer->fields); /* of an interim answer, or of a proxy's */
                return;
        }
        const char *colon = memchr(data, ':', size);
        if (!colon)
                return;
        size_t name = (size_t)(colon - data), at = name + 1;
        while (at < size && (data[at] == ' ' || data[at] == '\t'))
                at++;
        while (size > at && strchr("\r\n \t", data[size - 1]))
                size--;
        if (size - at > FIELD_VALUE_MAX || !is_plain_text(data + at, size - at))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
                if (strlen(passed_on[i]) == name && strncasecmp(passed_on[i], data, name) == 0)
                        (void)strbuf_appendf(
                            &answer->fields, "%s: %.*s\r\n", passed_on[i], (int)(size - at), data + at);
}

static enum reason take_bytes(void *context, const void *data, size_t size)
{
        struct web_answer *answer = context;
        answer->size += size;
        return fd_write_all(answer->fd, data, size) == 0 ? REASON_NONE : REASON_INTERNAL;
}

/* Only where the client may go next itself. */
static enum reason take_redirect(struct web_answer *answer, const char *to)
{
        struct web_url url;
        struct web_target target;
        char copy[WEB_TARGET_MAX * 2];
        size_t length = strcspn(to, "#");
        if (length >= sizeof copy)
                return REASON_REDIRECT;
        memcpy(copy, to, length);
        copy[length] = '\0';
        if (DEFENCE("web-redirect")) {
                _cleanup_(freep) char *text = NULL;
                if (web_url_parse(copy, &url) != REASON_NONE ||
                    web_find(answer->gateway->config, &url, &target) != REASON_NONE)
                        return REASON_REDIRECT;
                if (web_url_text(&url, &text) < 0)
                        return REASON_INTERNAL;
                return strbuf_appendf(&answer->fields, "Location: %s\r\n", text) == 0 ? REASON_NONE
                                                                                      : REASON_REDIRECT;
        }
        return strbuf_appendf(&answer->fields, "Location: %s\r\n", copy) == 0 ? REASON_NONE
                                                                              : REASON_REDIRECT;
}

/* Which answers are passed on. Others belong to a conversation that we did not begin. */
static enum reason check_status(struct web_answer *answer, const struct fetch_end *end)
{
        static const long redirects[] = {301, 302, 303, 307, 308};
        for (size_t i = 0; i < ARRAY_SIZE(redirects); i++)
                if (end->status == redirects[i])
                        return end->redirect ? take_redirect(answer, end->redirect) : REASON_UPSTREAM;
        bool known = end->status == 200 || end->status == 203 || end->status == 204 ||
                     (end->status >= 400 && end->status < 600 && end->status != 407);
        return known ? REASON_NONE : REASON_UPSTREAM;
}

static enum reason read_ids(struct web_answer *answer)
{
        _cleanup_(freep) char *data = NULL;
        size_t size;
        if (lseek(answer->fd, 0, SEEK_SET) < 0 ||
            fd_read_whole(answer->fd, answer->gateway->config->limits.index_bytes, &data, &size) < 0)
                return REASON_TOO_LARGE;
        int r = git_refs_read(data, size, &answer->ids);
        return r == 0 ? REASON_NONE : r == -ENOMEM ? REASON_INTERNAL : REASON_INDEX;
}

/* Lets those who waited have it, or be told why not. */
static void answer_waiters(struct web_answer *answer, enum reason reason)
{
        /* Of HEAD only the server knows it. */
        bool head = answer->key && strncmp(answer->key, "HEAD ", 5) == 0;
        int64_t length = head ? answer->length : (int64_t)answer->size;
        for (struct connection *connection = waiters_take(&answer->waiters); connection;
             connection = waiters_take(&answer->waiters)) {
                if (reason == REASON_NONE)
                        connection_answer_web(connection, answer->status, strbuf_text(&answer->fields),
                            answer->fd, answer->size, length);
                else
                        connection_refuse(connection, reason);
        }
}

static void on_done(void *context, const struct fetch_end *end)
{
        struct web_answer *answer = context;
        enum reason reason = end->reason;
        if (reason == REASON_NONE)
                reason = check_status(answer, end);
        if (reason == REASON_NONE && answer->kind == WEB_GIT_REFS && end->status == 200)
                reason = read_ids(answer);
        answer->running = false;
        answer->ready = reason == REASON_NONE;
        answer->status = end->status;
        answer->length = end->length;
        answer_waiters(answer, reason);
        if (!answer->key)
                answer_free(answer);
        else if (!answer->ready || end->status >= 500 || end->status == 429) /* another time, perhaps */
                answer_reset(answer);
}

/* ---- What is asked for ---- */

struct body {
        const char *data;
        size_t size;
};

static enum reason start(struct web_answer *answer, const char *url, bool head, struct body body)
{
        struct gateway *gateway = answer->gateway;
        struct fetch_request request = {
            .url = url,
            .max_bytes = answer->kind == WEB_GIT_REFS ? gateway->config->limits.index_bytes
                                                      : gateway->config->limits.file_bytes,
            .as_is = true,
            .head = head,
            .body = body.data,
            .body_size = body.size,
            .body_type = "application/x-git-upload-pack-request",
            .context = answer,
            .field = take_field,
            .take = take_bytes,
            .done = on_done,
        };
        answer->size = 0;
        if (cache_scratch(gateway->cache, &answer->fd) < 0)
                return REASON_INTERNAL;
        enum reason reason =
            fetch_start(gateway->upstreams[answer->entry - gateway->config->entries], &request);
        answer->running = reason == REASON_NONE;
        if (!answer->running)
                answer_reset(answer);
        return reason;
}

/* One that was not asked for before. */
static enum reason add_answer(struct gateway *gateway, const struct web_target *target, const char *method,
    const char *url, struct web_answer **ret)
{
        enum reason reason = budget_url(&gateway->budget, target->entry, target->rest);
        if (reason != REASON_NONE)
                return reason;
        char *key = NULL;
        if (asprintf(&key, "%s %s", method, url) < 0)
                return REASON_INTERNAL;
        *ret = answer_new(gateway, target, key);
        if (!*ret)
                free(key);
        return *ret ? REASON_NONE : REASON_INTERNAL;
}

static void serve_page(struct gateway *gateway, struct connection *connection, const char *url)
{
        const struct web_target *target = connection_target(connection);
        bool head = connection_request(connection)->method == METHOD_HEAD;
        enum reason reason = REASON_NONE;
        struct web_answer *answer = find_answer(gateway, "GET", url);
        if (head && (!answer || !answer->ready))
                answer = find_answer(gateway, "HEAD", url);
        if (!answer)
                reason = add_answer(gateway, target, head ? "HEAD" : "GET", url, &answer);
        if (reason == REASON_NONE && !answer->ready && !answer->running)
                reason = start(answer, url, head, (struct body){});
        if (reason != REASON_NONE) {
                connection_refuse(connection, reason);
                return;
        }
        waiters_add(&answer->waiters, connection);
        if (answer->ready)
                answer_waiters(answer, REASON_NONE);
}

/* What the guest's body becomes: only what the repository has listed in this run. */
static enum reason rewrite(
    struct gateway *gateway, struct connection *connection, const struct git_ids *ids, struct strbuf *ret)
{
        _cleanup_(strbuf_clear) struct strbuf plain = STRBUF_INIT(GIT_BODY_MAX);
        struct body body;
        uint64_t bits = 0;
        enum reason reason = REASON_NONE;
        body.data = connection_body(connection, &body.size);
        if (connection_request(connection)->gzip) {
                reason = git_inflate(body.data, body.size, &plain);
                body = (struct body){strbuf_text(&plain), plain.size};
        }
        if (!DEFENCE("web-git"))
                return strbuf_append(ret, body.data, body.size) == 0 ? REASON_NONE : REASON_TOO_LARGE;
        if (reason == REASON_NONE)
                reason = git_request_rewrite(body.data, body.size, ids, ret, &bits);
        if (reason == REASON_NONE)
                reason = budget_url_bytes(&gateway->budget, (bits + 7) / 8);
        return reason;
}

static void serve_pack(struct gateway *gateway, struct connection *connection, const char *url)
{
        const struct web_target *target = connection_target(connection);
        _cleanup_(strbuf_clear) struct strbuf body = STRBUF_INIT(GIT_BODY_MAX);
        _cleanup_(freep) char *refs_url = NULL;
        struct web_answer *answer = NULL;
        enum reason reason = REASON_INTERNAL;
        if (web_refs_url(&target->url, &refs_url) == 0) {
                const struct web_answer *refs = find_answer(gateway, "GET", refs_url);
                reason = refs && refs->ready ? rewrite(gateway, connection, &refs->ids, &body) : REASON_GIT;
        }
        if (reason == REASON_NONE) {
                answer = answer_new(gateway, target, NULL);
                reason = answer ? start(answer, url, false, (struct body){strbuf_text(&body), body.size})
                                : REASON_INTERNAL;
        }
        if (reason == REASON_NONE) {
                waiters_add(&answer->waiters, connection);
                return;
        }
        if (answer)
                answer_free(answer);
        connection_refuse(connection, reason);
}

void web_serve(struct gateway *gateway, struct connection *connection)
{
        _cleanup_(freep) char *url = NULL;
        const struct web_target *target = connection_target(connection);
        if (web_url_text(&target->url, &url) < 0)
                connection_refuse(connection, REASON_INTERNAL);
        else if (target->kind == WEB_GIT_PACK)
                serve_pack(gateway, connection, url);
        else
                serve_page(gateway, connection, url);
}
