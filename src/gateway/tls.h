/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's side of TLS: the gateway stands in for a server that an entry names. Bytes go in and come out
 * through buffers; who reads and writes the descriptor is no matter of this. 1.2 or newer, HTTP/1.1 only, no
 * tickets, no sessions, no renegotiation, no early data, no client certificates.
 */
#pragma once

#include "gateway/authority.h"
#include "gateway/reason.h"

#include <event2/buffer.h>

/* What all connections of a run share. */
struct tls_server;

/*
 * `admits(context, host, tunnel)`: whether one may speak TLS as `host` (lower case); `tunnel` is the host
 * that the connection was made for, or NULL if it began with TLS. Called during a handshake.
 */
int tls_server_new(struct authority *authority, bool (*admits)(void *context, const char *host),
    void *context, struct tls_server **ret);
struct tls_server *tls_server_free(struct tls_server *server);

/* One connection. */
struct tls_stream;

/* `host`: for whom the tunnel is, or NULL where the name that the client gives decides. */
int tls_stream_new(struct tls_server *server, const char *host, struct tls_stream **ret);
struct tls_stream *tls_stream_free(struct tls_stream *stream);

/* Whom it speaks as; "" before the client has said. */
const char *tls_stream_host(const struct tls_stream *stream);

enum tls_state {
        TLS_HANDSHAKE,
        TLS_OPEN,
        TLS_CLOSED, /* the client said that it will send no more */
        TLS_FAILED, /* an alert may lie in `out` */
};

/*
 * Takes all that came (`in`) and puts what it was into `plain`, as long as that holds less than `max`; the
 * rest waits inside for the next call. What has to be answered goes to `out`. *ret_reason is set with
 * TLS_FAILED.
 */
enum tls_state tls_stream_read(struct tls_stream *stream, struct evbuffer *in, struct evbuffer *out,
    struct evbuffer *plain, size_t max, enum reason *ret_reason);

/* Moves from `plain` to `out`, until that holds `max` or more. 0, or -EIO. */
int tls_stream_write(struct tls_stream *stream, struct evbuffer *plain, struct evbuffer *out, size_t max);

/* Says that no more will come. */
void tls_stream_close(struct tls_stream *stream, struct evbuffer *out);
