/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container's standard streams, attached: the connection that the engine gives over to them ("hijacked")
 * after a request and an answer in HTTP. Writing is queued and never waits; reading gives pieces of what the
 * container wrote.
 */
#pragma once

#include "sandbox/docker/demux.h"
#include "sandbox/docker/engine.h"

#define ATTACH_READ_SIZE 65536U

enum attach_state {
        ATTACH_CLOSED,
        ATTACH_CONNECTING,
        ATTACH_HEAD,    /* the request is under way, or its answer's head is */
        ATTACH_REFUSED, /* the answer is no success; its body is under way */
        ATTACH_OPEN,
        ATTACH_ENDED, /* the engine closed it: the container's streams are at their end */
};

struct attach {
        enum attach_state state;
        struct engine *engine;
        CURL *easy;
        int socket;
        uint32_t tag;
        bool watching_writes;
        char detail[CURL_ERROR_SIZE];
        struct strbuf request, head;
        size_t request_at;
        int status;            /* of a refusal */
        struct strbuf refusal; /* its body */
        size_t refusal_size;   /* as announced; SIZE_MAX: until the connection's end */
        struct strbuf out;     /* to the container */
        size_t out_at;
        struct demux demux;
        char *buffer;
        const char *in; /* what of the buffer is still to be taken */
        size_t in_size;
};

/* Begins to attach. The owner sets out.max, the most bytes that may wait to be written. Descriptors go into
 * the engine's epoll set with `tag`. */
int attach_open(
    struct attach *attach, struct engine *engine, const char *id, uint32_t tag, struct error *err);
void attach_close(struct attach *attach);
#define ATTACH_INIT                                                                                         \
        {                                                                                                   \
                .socket = -1                                                                                \
        }

/* Queues bytes for the container's standard input. Allowed before it is open. 0, -E2BIG, -ENOMEM. */
int attach_write(struct attach *attach, const void *data, size_t size);
/* Bytes that wait. */
size_t attach_backlog(const struct attach *attach);

/* It has taken too long to open: what is known of the reason. */
int attach_late(struct attach *attach, struct error *err);

/* Moves on: connects, sends what waits. 0 or -errno with the error. Call when its descriptor is ready. */
int attach_process(struct attach *attach, struct error *err);

/* 1: *ret_data is something of *ret_stream, valid until the next call; 0: nothing now, or at the end
 * (state); -errno. */
int attach_read(struct attach *attach, enum demux_stream *ret_stream, const char **ret_data,
    size_t *ret_size, struct error *err);
