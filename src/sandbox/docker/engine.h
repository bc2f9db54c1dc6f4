/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the Docker Engine API, over libcurl, without waiting: a call is begun, and its end is told
 * through a function from engine_process(). All its descriptors are in one epoll set, the caller's; every
 * call has a time limit.
 *
 * One engine object serves one container and one thread. Closing it abandons the calls that are under way.
 */
#pragma once

#include "sandbox/docker/endpoint.h"
#include "util/strbuf.h"

#include <curl/curl.h>

/* The API as of Docker 20.10, whose requests this client speaks, and the oldest that has all of them. */
#define ENGINE_API_WANTED 41U
#define ENGINE_API_LEAST 40U

/* Everything but an image build or pull answers sooner than this, or something is wrong. */
#define ENGINE_CALL_MSEC 30000L

struct call;

struct engine {
        const struct endpoint *endpoint;
        CURLM *multi;
        int epoll;
        uint32_t tag;
        int timer;          /* libcurl's time-outs */
        unsigned api;       /* the minor version spoken, 1.`api`; 0: not known yet */
        unsigned calls;     /* under way */
        struct call *first; /* they */
};

struct engine_reply {
        int status; /* HTTP; 0: there was no answer, and `error` says why */
        const char *body;
        size_t size;
        unsigned api;        /* minor version that the engine names in its answer's head, or 0 */
        struct error *error; /* set when status is 0; the receiver may move it out */
};

typedef void engine_done(void *user, const struct engine_reply *reply);

struct engine_request {
        const char *method;
        const char *path; /* behind "/v1.NN", or from the root if `bare`; percent-encoded */
        bool bare;
        const char *body; /* copied; NULL: none */
        size_t body_size;
        const char *content_type;
        long limit_msec; /* 0: ENGINE_CALL_MSEC */
        engine_done *done;
        void *user;
};

/*
 * `epoll` is the set that its descriptors go into; each is marked with `tag` in the upper half of data.u64.
 * The endpoint must outlive the engine.
 */
int engine_open(
    struct engine *engine, const struct endpoint *endpoint, int epoll, uint32_t tag, struct error *err);
void engine_close(struct engine *engine);
#define ENGINE_INIT                                                                                         \
        {                                                                                                   \
                .timer = -1                                                                                 \
        }

int engine_call(struct engine *engine, const struct engine_request *request, struct error *err);

/* A descriptor with the tag is ready (`fd`, and epoll's events), or `fd` is -1: only time may have passed.
 */
void engine_process(struct engine *engine, int fd, uint32_t events);

/* Waits for at most `msec` until no call is under way. For teardown and small tools only. */
void engine_settle(struct engine *engine, unsigned msec);

/* An easy handle for this endpoint without a request: a plain connection. NULL: out of memory. */
CURL *engine_handle(struct engine *engine);

/* The engine's own words in an answer that is no success: `what` is "creating the container". -errno. */
int engine_refused(const struct engine_reply *reply, const char *what, struct error *err);

/* The same from an answer's status and body, for connections that are not calls. */
int engine_refusal(int status, const char *body, size_t size, const char *what, struct error *err);

/* What a failed transfer means, in words with a fix. Returns -errno. */
int engine_transfer_failed(CURL *easy, CURLcode code, const struct endpoint *endpoint, struct error *err);
