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

/* The time limit of calls where no policy says another (docker.call_timeout). */
#define ENGINE_CALL_MSEC 30000L
/* An answer that comes in pieces may pause for so long. */
#define ENGINE_STALL_SEC 300L

struct call;

struct engine {
        const struct endpoint *endpoint;
        CURLM *multi;
        int epoll;
        uint32_t tag;
        int timer;          /* libcurl's time-outs */
        long call_msec;     /* time limit of a call that brings none of its own */
        unsigned api;       /* the minor version spoken, 1.`api`; 0: not known yet */
        char server[64];    /* what it calls itself in its answers' heads: "Docker/20.10.24"; or "" */
        unsigned calls;     /* under way */
        struct call *first; /* they */
        CURL *plain_failed; /* a plain connection (engine_handle) that did not come about, and why */
        CURLcode plain_code;
};

struct engine_reply {
        int status; /* HTTP; 0: there was no answer, and `error` says why */
        const char *body;
        size_t size;
        unsigned api;        /* minor version that the engine names in its answer's head, or 0 */
        struct error *error; /* set when status is 0; the receiver may move it out */
};

typedef void engine_done(void *user, const struct engine_reply *reply);

/* A piece of a successful answer's body as it arrives. Not 0: no more of it is wanted, the call fails. */
typedef int engine_data(void *user, const char *data, size_t size);

struct engine_request {
        const char *method;
        const char *path; /* behind "/v1.NN", or from the root if `bare`; percent-encoded */
        bool bare;
        const char *body; /* copied; NULL: none */
        size_t body_size;
        const char *content_type;
        long limit_msec;   /* 0: the engine's call_msec */
        engine_data *data; /* NULL: the whole answer comes with `done`; else no limit but ENGINE_STALL_SEC */
        engine_done *done;
        void *user;
};

/*
 * `epoll` is the set that its descriptors go into; each is marked with `tag` in the upper half of data.u64.
 * The endpoint must outlive the engine. `call_msec`: time limit of calls.
 */
int engine_open(struct engine *engine, const struct endpoint *endpoint, int epoll, uint32_t tag,
    long call_msec, struct error *err);
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

/*
 * An easy handle for this endpoint without a request: a plain connection. `detail`, of CURL_ERROR_SIZE
 * bytes, lives as long as it and gets libcurl's words on what fails. NULL: out of memory.
 */
CURL *engine_handle(struct engine *engine, char *detail);

/* The engine's own words in an answer that is no success: `what` is "creating the container". -errno. */
int engine_refused(const struct engine_reply *reply, const char *what, struct error *err);

/* The same from an answer's status and body, for connections that are not calls. */
int engine_refusal(int status, const char *body, size_t size, const char *what, struct error *err);

/* What a failed transfer means, in words with a fix. `detail` as in engine_handle(). Returns -errno. */
int engine_transfer_failed(
    CURL *easy, CURLcode code, const char *detail, const struct endpoint *endpoint, struct error *err);

/*
 * Words of the engine's as they may stand in a message of ours: on one line, nothing but printable
 * characters, cut to the buffer. NULL counts as "". Returns `buffer`.
 */
#define ENGINE_WORDS_MAX 1000U
const char *engine_words(const char *text, size_t size, char *buffer, size_t buffer_size);
