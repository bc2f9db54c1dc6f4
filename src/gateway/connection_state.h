/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection is made of: for connection.c (what comes in) and answer.c (what goes out) only. */
#pragma once

#include "gateway/connection.h"
#include "gateway/tls.h"
#include "util/strbuf.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#define LINE_SHOWN 200

enum state {
        STATE_IDLE,      /* no byte of a request has come */
        STATE_HANDSHAKE, /* TLS begins */
        STATE_HEAD,      /* some of a head has come */
        STATE_TURN,      /* the rate makes it wait */
        STATE_BODY,      /* some of a body has come */
        STATE_WORK,      /* something is being fetched for it */
        STATE_ANSWER,    /* the answer is being written */
        STATE_LINGER,    /* answered for the last time: what still comes is thrown away, so that the answer
                            arrives */
};

struct connection {
        struct gateway *gateway;
        struct bufferevent *stream;
        struct event *timer; /* of the state */
        enum state state;

        /* With TLS: what was read and what is to be written, in plain. */
        struct tls_stream *tls;
        struct evbuffer *plain_in, *plain_out;
        bool closed_tls; /* we have said that no more will come */
        /* The tunnel that was asked for; its TLS begins when the answer is out. */
        bool tunnel_next;
        char host[WEB_HOST_MAX + 1];
        uint16_t port;

        struct request request;
        struct route route;
        struct web_target target;
        struct strbuf body;
        struct waiting waiting;
        bool close_after;
        uint64_t began;            /* clock_now() at the first byte of the head */
        char line[LINE_SHOWN + 1]; /* the request line, for the event of a refusal */
        enum reason reason;
        long status; /* of an answer of the web; else 0 */
        uint64_t answer_bytes;
        size_t lingered;
        struct connection *next, *previous;
};

/* Another state, with its timer and with reading on or off. */
void connection_enter(struct connection *connection, enum state state);

void connection_set_timer(struct connection *connection, uint64_t nsec);

/* Where the bytes of an answer go. */
struct evbuffer *connection_output(struct connection *connection);

/* Moves what can be moved from there to the descriptor's buffer. True if that was all. */
bool connection_push(struct connection *connection);

/* The event of the request at hand, which is over. */
void connection_report(struct connection *connection);
