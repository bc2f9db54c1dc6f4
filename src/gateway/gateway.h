/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One gateway serves one run: this is all that it holds. Connections come in (intake), heads of requests are
 * read and answers written (connection), and what is asked for is found, fetched and checked (serve).
 *
 * Everything happens in one thread, in the callbacks of one event loop.
 */
#pragma once

#include "gateway/budget.h"
#include "gateway/cache.h"
#include "gateway/events.h"
#include "gateway/fetch.h"
#include "gateway/listing.h"

struct authority;
struct connection;
struct intake;
struct tls_server;
struct web_answer;

struct gateway {
        const struct gateway_config *config;
        struct event_base *base;
        struct budget budget;
        struct cache *cache;
        struct events *events;
        struct upstream **upstreams; /* one per entry of the configuration, in its order */
        struct listing listing;
        void *pages;      /* tsearch() tree of the pages asked for in this run, see serve.c */
        struct job *jobs; /* fetches under way */
        struct web_answer *web_answers;
        struct authority *authority; /* NULL: no entry of kind web */
        struct tls_server *tls;
        struct connection *connections;
        size_t connection_count;
        size_t verdicts[VERDICT_COUNT_]; /* requests that ended so */
};
