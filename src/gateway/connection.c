/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/connection.h"

#include "gateway/serve.h"
#include "util/clock.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <fcntl.h>

#define LINGER_SECONDS 2
#define LINGER_BYTES (1U << 20)
#define LINE_SHOWN 200

enum state {
        STATE_IDLE,   /* no byte of a request has come */
        STATE_HEAD,   /* some have */
        STATE_TURN,   /* the rate makes it wait */
        STATE_WORK,   /* something is being fetched for it */
        STATE_ANSWER, /* the answer is being written */
        STATE_LINGER, /* answered for the last time: what still comes is thrown away, so that the answer
                         arrives */
};

struct connection {
        struct gateway *gateway;
        struct bufferevent *stream;
        struct event *timer; /* of the state */
        enum state state;
        struct request request;
        struct route route;
        struct waiting waiting;
        bool close_after;
        uint64_t began;            /* clock_now() at the first byte of the head */
        char line[LINE_SHOWN + 1]; /* the request line, for the event of a refusal */
        enum reason reason;
        uint64_t answer_bytes;
        size_t lingered;
        struct connection *next, *previous;
};

const struct request *connection_request(const struct connection *connection)
{
        return &connection->request;
}

const struct route *connection_route(const struct connection *connection)
{
        return &connection->route;
}

struct waiting *connection_waiting(struct connection *connection)
{
        return &connection->waiting;
}

static void connection_free(struct connection *connection)
{
        struct gateway *gateway = connection->gateway;
        serve_forget(gateway, connection);
        if (connection->next)
                connection->next->previous = connection->previous;
        if (connection->previous)
                connection->previous->next = connection->next;
        else
                gateway->connections = connection->next;
        gateway->connection_count--;
        if (connection->timer)
                event_free(connection->timer);
        if (connection->stream)
                bufferevent_free(connection->stream);
        free(connection);
}

void connection_free_all(struct gateway *gateway)
{
        while (gateway->connections)
                connection_free(gateway->connections);
}

/* ---- Events ---- */

static void set_text(json_t *object, const char *key, const char *text)
{
        (void)json_object_set_new(object, key, text && text[0] ? json_string(text) : json_null());
}

static void report(struct connection *connection)
{
        struct gateway *gateway = connection->gateway;
        const struct route *route = &connection->route;
        enum verdict verdict = reason_verdict(connection->reason);
        static const char *const kinds[2][2] = {{"page", "file"}, {"packument", "tarball"}};
        json_t *event = json_pack("{s:s, s:s, s:s, s:I, s:f}", "event", "request", "verdict",
            verdict_word(verdict), "reason", reason_word(connection->reason), "bytes",
            (json_int_t)connection->answer_bytes, "seconds", nsec_to_sec(clock_now() - connection->began));
        gateway->verdicts[verdict]++;
        if (event) {
                bool parsed = connection->request.target[0] != '\0', routed = route->entry != NULL;
                set_text(event, "method", parsed ? (connection->request.head ? "HEAD" : "GET") : NULL);
                set_text(event, "entry", routed ? route->entry->name : NULL);
                set_text(event, "kind", routed ? kinds[route->entry->kind][route->kind] : NULL);
                const char *file =
                    routed && route->kind == ROUTE_FILE ? strrchr(route->path, '/') + 1 : NULL;
                set_text(event, "name", routed && route->name[0] ? route->name : file);
                if (file)
                        set_text(event, "file", file);
                if (verdict == VERDICT_DENIED)
                        set_text(event, "line", connection->line);
        }
        events_emit(gateway->events, event);
}

/* ---- States ---- */

static void set_timer(struct connection *connection, uint64_t nsec)
{
        struct timeval time = {(time_t)(nsec / NSEC_PER_SEC), (suseconds_t)(nsec % NSEC_PER_SEC / 1000)};
        (void)event_add(connection->timer, &time);
}

static void enter(struct connection *connection, enum state state)
{
        const struct gateway_limits *limits = &connection->gateway->config->limits;
        connection->state = state;
        (void)event_del(connection->timer);
        bool reads = state == STATE_IDLE || state == STATE_HEAD || state == STATE_LINGER;
        (void)(reads ? bufferevent_enable(connection->stream, EV_READ)
                     : bufferevent_disable(connection->stream, EV_READ));
        if (state == STATE_IDLE)
                set_timer(connection, limits->idle_seconds * NSEC_PER_SEC);
        else if (state == STATE_HEAD) /* for all of it: a byte now and then does not lengthen it */
                set_timer(connection, limits->head_seconds * NSEC_PER_SEC);
        else if (state == STATE_LINGER)
                set_timer(connection, LINGER_SECONDS * NSEC_PER_SEC);
}

/* The last answer is out. */
static void linger(struct connection *connection)
{
        (void)shutdown(bufferevent_getfd(connection->stream), SHUT_WR);
        (void)evbuffer_drain(bufferevent_get_input(connection->stream),
            evbuffer_get_length(bufferevent_get_input(connection->stream)));
        enter(connection, STATE_LINGER);
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

static void write_head(
    struct connection *connection, const char *status, const char *media_type, uint64_t size)
{
        connection->answer_bytes = connection->request.head ? 0 : size;
        if (evbuffer_add_printf(bufferevent_get_output(connection->stream),
                "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %llu\r\nConnection: %s\r\n\r\n", status,
                media_type, (unsigned long long)size, connection->close_after ? "close" : "keep-alive") < 0)
                set_timer(connection, 0); /* no memory even for that: the connection ends */
}

void connection_refuse(struct connection *connection, enum reason reason)
{
        enum verdict verdict = reason_verdict(reason);
        const char *body = failures[verdict].body;
        connection->reason = reason;
        connection->close_after |= verdict == VERDICT_DENIED || !connection->request.keep_alive;
        enter(connection, STATE_ANSWER);
        write_head(connection, failures[verdict].status, "application/json", strlen(body));
        if (!connection->request.head)
                (void)evbuffer_add_reference(
                    bufferevent_get_output(connection->stream), body, strlen(body), NULL, NULL);
}

/* What a refusal for the bytes of an answer looks like is the same as for any other. */
static bool begin_answer(struct connection *connection, const char *media_type, uint64_t size)
{
        enum reason reason = budget_sent(&connection->gateway->budget, connection->request.head ? 0 : size);
        if (reason != REASON_NONE) {
                connection_refuse(connection, reason);
                return false;
        }
        connection->reason = REASON_NONE;
        connection->close_after |= !connection->request.keep_alive;
        enter(connection, STATE_ANSWER);
        write_head(connection, "200 OK", media_type, size);
        return !connection->request.head && size > 0;
}

void connection_answer_memory(
    struct connection *connection, const char *media_type, const char *data, size_t size)
{
        if (begin_answer(connection, media_type, size))
                (void)evbuffer_add_reference(
                    bufferevent_get_output(connection->stream), data, size, NULL, NULL);
}

void connection_answer_file(struct connection *connection, int fd, uint64_t size)
{
        if (!begin_answer(connection, "application/octet-stream", size))
                return;
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (copy < 0 ||
            evbuffer_add_file(bufferevent_get_output(connection->stream), copy, 0, (ev_off_t)size) < 0) {
                /* The head promises bytes that will not come: only closing tells the guest. */
                closep(&copy);
                connection->reason = REASON_INTERNAL;
                connection->close_after = true;
        }
}

/* ---- Requests ---- */

static void remember_line(struct connection *connection, const char *data, size_t size)
{
        size_t length = MIN(size, (size_t)LINE_SHOWN), used = 0;
        for (size_t i = 0; i < length && data[i] != '\r' && data[i] != '\n'; i++)
                connection->line[used++] = data[i] >= 0x20 && data[i] < 0x7f ? data[i] : '?';
        connection->line[used] = '\0';
}

static void handle_request(struct connection *connection)
{
        enum reason reason =
            route_parse(connection->gateway->config, connection->request.target, &connection->route);
        if (reason != REASON_NONE) {
                connection_refuse(connection, reason);
                return;
        }
        enter(connection, STATE_WORK);
        serve(connection->gateway, connection);
}

/* Counts what was read, refused or not, and lets it wait for its turn. */
static void admit(struct connection *connection, enum reason parsed)
{
        uint64_t delay;
        enum reason reason = budget_request(&connection->gateway->budget, clock_now(), &delay);
        if (reason == REASON_NONE)
                reason = parsed;
        if (reason != REASON_NONE) {
                connection_refuse(connection, reason);
        } else if (delay > 0) {
                enter(connection, STATE_TURN);
                set_timer(connection, delay);
        } else {
                handle_request(connection);
        }
}

/* Looks whether a head is complete. */
static void advance(struct connection *connection)
{
        struct evbuffer *input = bufferevent_get_input(connection->stream);
        size_t size = MIN(evbuffer_get_length(input), (size_t)REQUEST_HEAD_MAX), length = 0;
        if (size == 0)
                return;
        if (connection->state == STATE_IDLE) {
                connection->began = clock_now();
                enter(connection, STATE_HEAD);
        }
        const char *data = (const char *)evbuffer_pullup(input, (ev_ssize_t)size);
        if (!data) {
                connection_free(connection);
                return;
        }
        enum reason reason = request_scan(data, size, &length);
        if (reason == REASON_NONE && length == 0)
                return;
        remember_line(connection, data, length > 0 ? length : size);
        if (reason == REASON_NONE)
                reason = request_parse(data, length, &connection->request);
        if (length > 0)
                (void)evbuffer_drain(input, length);
        admit(connection, reason);
}

/* Ready for the next request of the same connection. */
static void begin_next(struct connection *connection)
{
        connection->request = (struct request){};
        connection->route = (struct route){};
        connection->line[0] = '\0';
        connection->answer_bytes = 0;
        enter(connection, STATE_IDLE);
        advance(connection);
}

/* ---- Callbacks of the event loop ---- */

static void on_read(struct bufferevent *stream, void *context)
{
        struct connection *connection = context;
        if (connection->state == STATE_IDLE || connection->state == STATE_HEAD) {
                advance(connection);
        } else if (connection->state == STATE_LINGER) {
                struct evbuffer *input = bufferevent_get_input(stream);
                connection->lingered += evbuffer_get_length(input);
                (void)evbuffer_drain(input, evbuffer_get_length(input));
                if (connection->lingered > LINGER_BYTES)
                        connection_free(connection);
        }
}

static void on_written(struct bufferevent *stream, void *context)
{
        struct connection *connection = context;
        /* A call may be left over from before the answer. */
        if (connection->state != STATE_ANSWER || evbuffer_get_length(bufferevent_get_output(stream)) > 0)
                return;
        report(connection);
        if (connection->close_after)
                linger(connection);
        else
                begin_next(connection);
}

static void on_end(struct bufferevent *stream, short what, void *context)
{
        struct connection *connection = context;
        /* The guest may stop sending and still read. */
        if (connection->state == STATE_ANSWER && (what & BEV_EVENT_EOF))
                return;
        if (connection->state == STATE_ANSWER) {
                if (what & BEV_EVENT_TIMEOUT)
                        connection->reason = REASON_SLOW;
                connection->answer_bytes -=
                    MIN(connection->answer_bytes, evbuffer_get_length(bufferevent_get_output(stream)));
                report(connection);
        }
        connection_free(connection);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
        struct connection *connection = context;
        if (connection->state == STATE_HEAD) {
                struct evbuffer *input = bufferevent_get_input(connection->stream);
                size_t size = evbuffer_get_length(input);
                remember_line(connection, (const char *)evbuffer_pullup(input, (ev_ssize_t)size), size);
                admit(connection, REASON_SLOW);
        } else if (connection->state == STATE_TURN) {
                handle_request(connection);
        } else {
                connection_free(connection);
        }
}

void connection_new(struct gateway *gateway, int fd)
{
        const struct gateway_limits *limits = &gateway->config->limits;
        struct connection *connection = calloc(1, sizeof *connection);
        /* A few more than the limit are told so; beyond that the door is shut without a word. */
        if (!connection || gateway->connection_count >= limits->connections + 8 ||
            evutil_make_socket_nonblocking(fd) < 0) {
                closep(&fd);
                free(connection);
                return;
        }
        connection->gateway = gateway;
        connection->next = gateway->connections;
        if (connection->next)
                connection->next->previous = connection;
        gateway->connections = connection;
        gateway->connection_count++;

        connection->timer = evtimer_new(gateway->base, on_timer, connection);
        connection->stream =
            bufferevent_socket_new(gateway->base, fd, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
        if (!connection->stream)
                closep(&fd);
        if (!connection->timer || !connection->stream) {
                connection_free(connection);
                return;
        }
        bufferevent_setcb(connection->stream, on_read, on_written, on_end, connection);
        bufferevent_setwatermark(connection->stream, EV_READ, 0, REQUEST_HEAD_MAX);
        struct timeval stalled = {(time_t)limits->idle_seconds, 0};
        bufferevent_set_timeouts(connection->stream, NULL, &stalled);
        (void)bufferevent_enable(connection->stream, EV_WRITE);
        connection->began = clock_now();
        enter(connection, STATE_IDLE);
        if (gateway->connection_count > limits->connections)
                admit(connection, REASON_LIMIT_CONNECTIONS);
}
