/* SPDX-License-Identifier: Apache-2.0 */
/* What comes in on a connection: heads, one after the other, and the states between. */
#include "gateway/connection_state.h"
#include "gateway/serve.h"
#include "gateway/web.h"
#include "util/clock.h"

#define LINGER_SECONDS 2
#define LINGER_BYTES (1U << 20)
#define TLS_HANDSHAKE_RECORD 0x16
#define ALERTS_AHEAD (64U << 10) /* what TLS itself may have to say while nobody reads it */

const struct request *connection_request(const struct connection *connection)
{
        return &connection->request;
}

const struct route *connection_route(const struct connection *connection)
{
        return &connection->route;
}

const struct web_target *connection_target(const struct connection *connection)
{
        return &connection->target;
}

const char *connection_body(const struct connection *connection, size_t *ret_size)
{
        *ret_size = connection->body.size;
        return strbuf_text(&connection->body);
}

struct waiting *connection_waiting(struct connection *connection)
{
        return &connection->waiting;
}

static void connection_free(struct connection *connection)
{
        struct gateway *gateway = connection->gateway;
        waiters_forget(connection);
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
        if (connection->plain_in)
                evbuffer_free(connection->plain_in);
        if (connection->plain_out)
                evbuffer_free(connection->plain_out);
        tls_stream_free(connection->tls);
        strbuf_clear(&connection->body);
        free(connection);
}

void connection_free_all(struct gateway *gateway)
{
        while (gateway->connections)
                connection_free(gateway->connections);
}

/* ---- States ---- */

void connection_set_timer(struct connection *connection, uint64_t nsec)
{
        struct timeval time = {(time_t)(nsec / NSEC_PER_SEC), (suseconds_t)(nsec % NSEC_PER_SEC / 1000)};
        (void)event_add(connection->timer, &time);
}

void connection_enter(struct connection *connection, enum state state)
{
        const struct gateway_limits *limits = &connection->gateway->config->limits;
        connection->state = state;
        (void)event_del(connection->timer);
        bool reads = state == STATE_IDLE || state == STATE_HANDSHAKE || state == STATE_HEAD ||
                     state == STATE_BODY || state == STATE_LINGER;
        (void)(reads ? bufferevent_enable(connection->stream, EV_READ)
                     : bufferevent_disable(connection->stream, EV_READ));
        if (state == STATE_IDLE)
                connection_set_timer(connection, limits->idle_seconds * NSEC_PER_SEC);
        else if (state == STATE_HANDSHAKE || state == STATE_HEAD || state == STATE_BODY)
                /* for all of it: a byte now and then does not lengthen it */
                connection_set_timer(connection, limits->head_seconds * NSEC_PER_SEC);
        else if (state == STATE_LINGER)
                connection_set_timer(connection, LINGER_SECONDS * NSEC_PER_SEC);
}

/* The last answer is out. */
static void linger(struct connection *connection)
{
        (void)shutdown(bufferevent_getfd(connection->stream), SHUT_WR);
        (void)evbuffer_drain(bufferevent_get_input(connection->stream),
            evbuffer_get_length(bufferevent_get_input(connection->stream)));
        connection_enter(connection, STATE_LINGER);
}

/* ---- After an answer ---- */

static void advance(struct connection *connection);

/* Ready for the next request of the same connection. */
static void begin_next(struct connection *connection)
{
        connection->request = (struct request){};
        connection->route = (struct route){};
        connection->target = (struct web_target){};
        strbuf_clear(&connection->body);
        connection->line[0] = '\0';
        connection->status = 0;
        connection->answer_bytes = 0;
        connection_enter(connection, STATE_IDLE);
        advance(connection);
}

/* From here on it is TLS: for `host`, or for whom the client says (then the port is that of https). */
static void begin_tls(struct connection *connection, const char *host)
{
        connection->plain_in = evbuffer_new();
        connection->plain_out = evbuffer_new();
        if (!host)
                connection->port = 443;
        if (!connection->plain_in || !connection->plain_out ||
            tls_stream_new(connection->gateway->tls, host, &connection->tls) < 0) {
                connection_free(connection);
                return;
        }
        connection->began = clock_now();
        connection_enter(connection, STATE_HANDSHAKE);
        advance(connection);
}

/* Once all of an answer is out. */
static void finish_answer(struct connection *connection)
{
        connection_report(connection);
        if (connection->tunnel_next) {
                connection->tunnel_next = false;
                begin_tls(connection, connection->host);
        } else if (connection->close_after) {
                linger(connection);
        } else {
                begin_next(connection);
        }
}

/* ---- TLS ---- */

/* TLS ends here, and so does the connection; an alert may be on its way. */
static void fail_tls(struct connection *connection, enum reason reason)
{
        uint64_t delay;
        connection->reason = budget_request(&connection->gateway->budget, clock_now(), &delay);
        if (connection->reason == REASON_NONE)
                connection->reason = reason;
        connection->request = (struct request){};
        connection->close_after = true;
        connection->closed_tls = true;
        if (connection->line[0] == '\0')
                (void)snprintf(connection->line, sizeof connection->line, "TLS");
        connection_enter(connection, STATE_ANSWER);
        /* Nothing may be on its way, and then nobody says when it is out. */
        if (evbuffer_get_length(bufferevent_get_output(connection->stream)) == 0)
                finish_answer(connection);
}

/* Decrypts what came. False if the connection is over, or nearly. */
static bool take_tls(struct connection *connection)
{
        enum reason reason = REASON_TLS_GUEST;
        struct evbuffer *out = bufferevent_get_output(connection->stream);
        size_t max = connection->state == STATE_BODY ? connection->request.length : REQUEST_HEAD_MAX;
        enum tls_state state = tls_stream_read(connection->tls, bufferevent_get_input(connection->stream),
            out, connection->plain_in, max, &reason);
        if (state == TLS_FAILED || evbuffer_get_length(out) > ALERTS_AHEAD) {
                if (connection->state == STATE_HANDSHAKE || connection->state == STATE_HEAD)
                        fail_tls(connection, reason);
                else
                        connection_free(connection);
                return false;
        }
        if (state == TLS_CLOSED && evbuffer_get_length(connection->plain_in) == 0) {
                connection_free(connection);
                return false;
        }
        if (state != TLS_HANDSHAKE && connection->state == STATE_HANDSHAKE) {
                (void)snprintf(
                    connection->host, sizeof connection->host, "%s", tls_stream_host(connection->tls));
                connection->line[0] = '\0';
                connection->request = (struct request){};
                connection_enter(connection, STATE_IDLE);
        }
        return true;
}

/* ---- Requests ---- */

static struct evbuffer *input_of(struct connection *connection)
{
        return connection->tls ? connection->plain_in : bufferevent_get_input(connection->stream);
}

static void take_body(struct connection *connection)
{
        struct evbuffer *input = input_of(connection);
        size_t missing = (size_t)connection->request.length - connection->body.size;
        size_t size = MIN(evbuffer_get_length(input), missing);
        const char *data = size > 0 ? (const char *)evbuffer_pullup(input, (ev_ssize_t)size) : "";
        if (!data || strbuf_append(&connection->body, data, size) < 0) {
                connection_free(connection);
                return;
        }
        (void)evbuffer_drain(input, size);
        if (size == missing) {
                connection_enter(connection, STATE_WORK);
                web_serve(connection->gateway, connection);
        }
}

static void remember_line(struct connection *connection, const char *data, size_t size)
{
        size_t length = MIN(size, (size_t)LINE_SHOWN), used = 0;
        for (size_t i = 0; i < length && data[i] != '\r' && data[i] != '\n'; i++)
                connection->line[used++] = data[i] >= 0x20 && data[i] < 0x7f ? data[i] : '?';
        connection->line[used] = '\0';
}

/* A request of the web, with or without TLS. */
static void handle_web(struct connection *connection)
{
        const struct gateway *gateway = connection->gateway;
        enum reason reason = web_route(gateway->config, &connection->request,
            connection->tls ? connection->host : NULL, connection->port, &connection->target);
        if (reason == REASON_NONE && connection->request.length > gateway->config->limits.post_bytes)
                reason = REASON_BODY;
        if (reason != REASON_NONE) {
                connection_refuse(connection, reason);
        } else if (connection->target.kind == WEB_GIT_PACK) {
                connection->body = (struct strbuf)STRBUF_INIT(connection->request.length);
                connection_enter(connection, STATE_BODY);
                advance(connection);
        } else {
                connection_enter(connection, STATE_WORK);
                web_serve(connection->gateway, connection);
        }
}

static void handle_tunnel(struct connection *connection)
{
        enum reason reason = web_route_tunnel(
            connection->gateway->config, &connection->request, connection->host, &connection->port);
        if (reason == REASON_NONE)
                connection_answer_tunnel(connection);
        else
                connection_refuse(connection, reason);
}

static void handle_index(struct connection *connection)
{
        enum reason reason =
            route_parse(connection->gateway->config, connection->request.target, &connection->route);
        if (reason != REASON_NONE) {
                connection_refuse(connection, reason);
                return;
        }
        connection_enter(connection, STATE_WORK);
        serve(connection->gateway, connection);
}

static void handle_request(struct connection *connection)
{
        if (connection->request.method == METHOD_CONNECT)
                handle_tunnel(connection);
        else if (connection->tls || connection->request.absolute)
                handle_web(connection);
        else
                handle_index(connection);
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
                connection_enter(connection, STATE_TURN);
                connection_set_timer(connection, delay);
        } else {
                handle_request(connection);
        }
}

/* Looks whether a head is complete. */
static void take_head(struct connection *connection)
{
        struct evbuffer *input = input_of(connection);
        size_t size = MIN(evbuffer_get_length(input), (size_t)REQUEST_HEAD_MAX), length = 0;
        if (size == 0)
                return;
        if (connection->state == STATE_IDLE) {
                connection->began = clock_now();
                connection_enter(connection, STATE_HEAD);
        }
        const char *data = (const char *)evbuffer_pullup(input, (ev_ssize_t)size);
        if (!data) {
                connection_free(connection);
                return;
        }
        enum request_side side = connection->tls            ? REQUEST_TUNNEL
                                 : connection->gateway->tls ? REQUEST_PROXY
                                                            : REQUEST_INDEX;
        if (side == REQUEST_PROXY && data[0] == TLS_HANDSHAKE_RECORD) {
                begin_tls(connection, NULL);
                return;
        }
        enum reason reason = request_scan(data, size, &length);
        if (reason == REASON_NONE && length == 0)
                return;
        remember_line(connection, data, length > 0 ? length : size);
        if (reason == REASON_NONE)
                reason = request_parse(data, length, side, &connection->request);
        if (length > 0)
                (void)evbuffer_drain(input, length);
        admit(connection, reason);
}

/* Looks at what has come. */
static void advance(struct connection *connection)
{
        if (connection->tls && !take_tls(connection))
                return;
        if (connection->state == STATE_BODY)
                take_body(connection);
        else if (connection->state != STATE_HANDSHAKE)
                take_head(connection);
}

/* ---- Callbacks of the event loop ---- */

static void on_read(struct bufferevent *stream, void *context)
{
        struct connection *connection = context;
        if (connection->state == STATE_IDLE || connection->state == STATE_HANDSHAKE ||
            connection->state == STATE_HEAD || connection->state == STATE_BODY) {
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
        if (connection->state != STATE_ANSWER || !connection_push(connection))
                return;
        finish_answer(connection);
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
                size_t unsent = evbuffer_get_length(bufferevent_get_output(stream)) +
                                (connection->plain_out ? evbuffer_get_length(connection->plain_out) : 0);
                connection->answer_bytes -= MIN(connection->answer_bytes, unsent);
                connection_report(connection);
        }
        connection_free(connection);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
        struct connection *connection = context;
        if (connection->state == STATE_HEAD) {
                struct evbuffer *input = input_of(connection);
                size_t size = evbuffer_get_length(input);
                remember_line(connection, (const char *)evbuffer_pullup(input, (ev_ssize_t)size), size);
                admit(connection, REASON_SLOW);
        } else if (connection->state == STATE_HANDSHAKE) {
                fail_tls(connection, REASON_SLOW);
        } else if (connection->state == STATE_BODY) {
                connection_refuse(connection, REASON_SLOW);
        } else if (connection->state == STATE_TURN) {
                handle_request(connection);
        } else {
                connection_free(connection);
        }
}

/* What the guest sends, refused or not, is counted where it comes in. */
static void on_received(struct evbuffer *input, const struct evbuffer_cb_info *info, void *context)
{
        struct gateway *gateway = context;
        gateway->budget.received_bytes += info->n_added;
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
        (void)evbuffer_add_cb(bufferevent_get_input(connection->stream), on_received, gateway);
        bufferevent_setcb(connection->stream, on_read, on_written, on_end, connection);
        bufferevent_setwatermark(connection->stream, EV_READ, 0, REQUEST_HEAD_MAX);
        struct timeval stalled = {(time_t)limits->idle_seconds, 0};
        bufferevent_set_timeouts(connection->stream, NULL, &stalled);
        (void)bufferevent_enable(connection->stream, EV_WRITE);
        connection->began = clock_now();
        connection_enter(connection, STATE_IDLE);
        if (gateway->connection_count > limits->connections)
                admit(connection, REASON_LIMIT_CONNECTIONS);
}
