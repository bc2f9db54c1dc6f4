/* SPDX-License-Identifier: Apache-2.0 */
/* What goes out on a connection, and the event that says so. */
#include "gateway/connection_state.h"
#include "util/clock.h"

#include <fcntl.h>

#define ENCRYPTED_AHEAD (128U << 10)

struct evbuffer *connection_output(struct connection *connection)
{
        return connection->tls ? connection->plain_out : bufferevent_get_output(connection->stream);
}

bool connection_push(struct connection *connection)
{
        struct evbuffer *out = bufferevent_get_output(connection->stream);
        if (!connection->tls)
                return evbuffer_get_length(out) == 0;
        if (tls_stream_write(connection->tls, connection->plain_out, out, ENCRYPTED_AHEAD) < 0) {
                (void)evbuffer_drain(connection->plain_out, evbuffer_get_length(connection->plain_out));
                connection->close_after = true;
        }
        if (evbuffer_get_length(connection->plain_out) == 0 && connection->close_after &&
            !connection->closed_tls) {
                connection->closed_tls = true;
                tls_stream_close(connection->tls, out);
        }
        return evbuffer_get_length(out) == 0 && evbuffer_get_length(connection->plain_out) == 0;
}

/* ---- Events ---- */

static void set_text(json_t *object, const char *key, const char *text)
{
        (void)json_object_set_new(object, key, text && text[0] ? json_string(text) : json_null());
}

static void add_index(json_t *event, const struct route *route)
{
        static const char *const kinds[2][2] = {{"page", "file"}, {"packument", "tarball"}};
        const char *file = route->kind == ROUTE_FILE ? strrchr(route->path, '/') + 1 : NULL;
        set_text(event, "entry", route->entry->name);
        set_text(event, "kind", kinds[route->entry->kind][route->kind]);
        set_text(event, "name", route->name[0] ? route->name : file);
        if (file)
                set_text(event, "file", file);
}

static void add_web(json_t *event, const struct connection *connection)
{
        static const char *const kinds[] = {
            [WEB_PAGE] = "web", [WEB_GIT_REFS] = "git_refs", [WEB_GIT_PACK] = "git_pack"};
        const struct web_target *target = &connection->target;
        _cleanup_(freep) char *url = NULL;
        (void)web_url_text(&target->url, &url);
        set_text(event, "entry", target->entry->name);
        set_text(event, "kind", kinds[target->kind]);
        set_text(event, "name", NULL);
        set_text(event, "url", url);
        if (connection->status)
                (void)json_object_set_new(event, "status", json_integer(connection->status));
}

static void add_nothing(json_t *event, const struct connection *connection)
{
        bool tunnel = connection->request.method == METHOD_CONNECT && connection->reason == REASON_NONE;
        set_text(event, "entry", NULL);
        set_text(event, "kind", tunnel ? "tunnel" : NULL);
        set_text(event, "name", tunnel ? connection->request.target : NULL);
}

void connection_report(struct connection *connection)
{
        struct gateway *gateway = connection->gateway;
        enum verdict verdict = reason_verdict(connection->reason);
        json_t *event = json_pack("{s:s, s:s, s:s, s:I, s:f}", "event", "request", "verdict",
            verdict_word(verdict), "reason", reason_word(connection->reason), "bytes",
            (json_int_t)connection->answer_bytes, "seconds", nsec_to_sec(clock_now() - connection->began));
        gateway->verdicts[verdict]++;
        if (event) {
                bool parsed = connection->request.target[0] != '\0';
                set_text(event, "method", parsed ? request_method_word(connection->request.method) : NULL);
                if (connection->target.entry)
                        add_web(event, connection);
                else if (connection->route.entry)
                        add_index(event, &connection->route);
                else
                        add_nothing(event, connection);
                if (verdict == VERDICT_DENIED)
                        set_text(event, "line", connection->line);
                if (verdict == VERDICT_DENIED && connection->host[0])
                        set_text(event, "host", connection->host);
        }
        events_emit(gateway->events, event);
}

/* ---- Answers ---- */

static const struct {
        const char *status;
        const char *body;
} failures[VERDICT_COUNT_] = {
    [VERDICT_DENIED] = {"403 Forbidden", "{\"error\":\"network_denied\",\"message\":\"The package gateway "
                                         "of this sandbox refuses the request.\"}\n"},
    [VERDICT_MISSING] = {"404 Not Found",
        "{\"error\":\"not_found\",\"message\":\"The package index knows no such package.\"}\n"},
    [VERDICT_FAILED] = {"502 Bad Gateway",
        "{\"error\":\"upstream_failed\",\"message\":\"The package index could not be read.\"}\n"},
};

static bool is_head(const struct connection *connection)
{
        return connection->request.method == METHOD_HEAD;
}

/* `size` < 0: nothing is said of it. */
static void write_head(struct connection *connection, const char *status, const char *fields, int64_t size)
{
        struct evbuffer *output = connection_output(connection);
        int r = evbuffer_add_printf(output, "HTTP/1.1 %s\r\n%s", status, fields);
        if (r >= 0 && size >= 0)
                r = evbuffer_add_printf(output, "Content-Length: %lld\r\n", (long long)size);
        if (r >= 0)
                r = evbuffer_add_printf(
                    output, "Connection: %s\r\n\r\n", connection->close_after ? "close" : "keep-alive");
        if (r < 0)
                connection_set_timer(connection, 0); /* no memory even for that: the connection ends */
}

static void write_reference(struct connection *connection, const char *data, size_t size)
{
        (void)evbuffer_add_reference(connection_output(connection), data, size, NULL, NULL);
}

static void write_file(struct connection *connection, int fd, uint64_t size)
{
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (copy < 0 || evbuffer_add_file(connection_output(connection), copy, 0, (ev_off_t)size) < 0) {
                /* The head promises bytes that will not come: only closing tells the guest. */
                closep(&copy);
                connection->reason = REASON_INTERNAL;
                connection->close_after = true;
        }
}

void connection_refuse(struct connection *connection, enum reason reason)
{
        enum verdict verdict = reason_verdict(reason);
        const char *body = failures[verdict].body;
        connection->reason = reason;
        connection->close_after |= verdict == VERDICT_DENIED || !connection->request.keep_alive;
        connection_enter(connection, STATE_ANSWER);
        connection->answer_bytes = is_head(connection) ? 0 : strlen(body);
        write_head(connection, failures[verdict].status, "Content-Type: application/json\r\n",
            (int64_t)strlen(body));
        if (!is_head(connection))
                write_reference(connection, body, strlen(body));
        (void)connection_push(connection);
}

/* What a refusal for the bytes of an answer looks like is the same as for any other. */
static bool begin_answer(
    struct connection *connection, const char *status, const char *fields, uint64_t size, int64_t length)
{
        enum reason reason = budget_sent(&connection->gateway->budget, is_head(connection) ? 0 : size);
        if (reason != REASON_NONE) {
                connection_refuse(connection, reason);
                return false;
        }
        connection->reason = REASON_NONE;
        connection->close_after |= !connection->request.keep_alive;
        connection_enter(connection, STATE_ANSWER);
        connection->answer_bytes = is_head(connection) ? 0 : size;
        write_head(connection, status, fields, length);
        return true;
}

/* The fields of an answer whose type is all that there is to say. */
static bool begin_typed(struct connection *connection, const char *media_type, uint64_t size)
{
        char fields[128];
        (void)snprintf(fields, sizeof fields, "Content-Type: %s\r\n", media_type);
        return begin_answer(connection, "200 OK", fields, size, (int64_t)size);
}

void connection_answer_memory(
    struct connection *connection, const char *media_type, const char *data, size_t size)
{
        if (begin_typed(connection, media_type, size) && !is_head(connection) && size > 0)
                write_reference(connection, data, size);
        (void)connection_push(connection);
}

void connection_answer_file(struct connection *connection, int fd, uint64_t size)
{
        if (begin_typed(connection, "application/octet-stream", size) && !is_head(connection) && size > 0)
                write_file(connection, fd, size);
        (void)connection_push(connection);
}

void connection_answer_web(
    struct connection *connection, long status, const char *fields, int fd, uint64_t size, int64_t length)
{
        char line[32];
        bool bodiless = status == 204;
        (void)snprintf(line, sizeof line, "%ld %s", status, status == 200 ? "OK" : "Upstream");
        if (begin_answer(connection, line, fields, size, bodiless ? -1 : length)) {
                connection->status = status;
                /* For the event; the guest got what the server said. */
                if (status == 404 || status == 410)
                        connection->reason = REASON_MISSING;
                else if (status >= 500)
                        connection->reason = REASON_UPSTREAM;
                if (!is_head(connection) && !bodiless && size > 0)
                        write_file(connection, fd, size);
        }
        (void)connection_push(connection);
}

void connection_answer_tunnel(struct connection *connection)
{
        connection->reason = REASON_NONE;
        connection->tunnel_next = true;
        connection_enter(connection, STATE_ANSWER);
        if (evbuffer_add_printf(
                connection_output(connection), "HTTP/1.1 200 Connection established\r\n\r\n") < 0)
                connection_set_timer(connection, 0);
}
