/* SPDX-License-Identifier: Apache-2.0 */
/* From a request of the web to the entry that allows it, or to the reason why none does. */
#pragma once

#include "gateway/config.h"
#include "gateway/request.h"
#include "gateway/web_url.h"

#define WEB_QUERY_MAX 256

enum web_kind {
        WEB_PAGE,     /* something to read */
        WEB_GIT_REFS, /* what a git repository lists */
        WEB_GIT_PACK, /* objects of it; the one POST there is */
};

struct web_target {
        const struct index_entry *entry; /* NULL: nothing of the web */
        enum web_kind kind;
        struct web_url url;
        size_t rest; /* characters that the entry's prefix does not give */
};

/* Whether an entry has a prefix there. */
bool web_lists(const struct gateway_config *config, bool tls, const char *host, uint16_t port);

/* The prefix that covers the URL; the kind is WEB_PAGE or WEB_GIT_REFS. */
enum reason web_find(const struct gateway_config *config, const struct web_url *url, struct web_target *ret);

/* CONNECT: whom the tunnel is for. */
enum reason web_route_tunnel(const struct gateway_config *config, const struct request *request,
    char ret_host[WEB_HOST_MAX + 1], uint16_t *ret_port);

/* A request in a tunnel to `host` and `port`, or with host NULL one whose target is a whole URL. */
enum reason web_route(const struct gateway_config *config, const struct request *request, const char *host,
    uint16_t port, struct web_target *ret);

/* For objects of a git repository: the URL of what it lists. -ENOMEM. */
int web_refs_url(const struct web_url *pack, char **ret);
