/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/web_route.h"

#include "util/defence.h"

static const char git_refs[] = "/info/refs";
static const char git_refs_query[] = "service=git-upload-pack";
static const char git_pack[] = "/git-upload-pack";
static const char git_push[] = "git-receive-pack";

static bool ends_with(const char *text, const char *end)
{
        size_t length = strlen(text), end_length = strlen(end);
        return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

bool web_lists(const struct gateway_config *config, bool tls, const char *host, uint16_t port)
{
        for (size_t i = 0; i < config->entry_count; i++) {
                const struct index_entry *entry = &config->entries[i];
                for (size_t j = 0; j < entry->prefix_count; j++)
                        if (entry->prefixes[j].tls == tls && entry->prefixes[j].port == port &&
                            strcmp(entry->prefixes[j].host, host) == 0)
                                return true;
        }
        return false;
}

/* The longest prefix, of whatever entry. */
static bool find_prefix(
    const struct gateway_config *config, const struct web_url *url, struct web_target *target)
{
        for (size_t i = 0; i < config->entry_count; i++) {
                const struct index_entry *entry = &config->entries[i];
                for (size_t j = 0; j < entry->prefix_count; j++) {
                        size_t rest;
                        if (!web_url_below(&entry->prefixes[j], url, &rest))
                                continue;
                        if (target->entry && rest >= target->rest)
                                continue;
                        target->entry = entry;
                        target->rest = rest;
                }
        }
        return target->entry != NULL;
}

/* Test builds only: the entry that has the host, wherever the path leads. */
static void find_host(
    const struct gateway_config *config, const struct web_url *url, struct web_target *target)
{
        for (size_t i = 0; i < config->entry_count; i++)
                for (size_t j = 0; j < config->entries[i].prefix_count; j++)
                        if (strcmp(config->entries[i].prefixes[j].host, url->host) == 0)
                                target->entry = &config->entries[i];
        target->rest = strlen(url->path);
}

enum reason web_find(const struct gateway_config *config, const struct web_url *url, struct web_target *ret)
{
        struct web_target target = {.url = *url};
        if (!web_lists(config, url->tls, url->host, url->port))
                return REASON_HOST;
        if (!find_prefix(config, url, &target)) {
                if (DEFENCE("web-prefix"))
                        return REASON_PREFIX;
                find_host(config, url, &target);
        }
        if (ends_with(url->path, git_push) || strstr(url->query, git_push))
                return REASON_GIT;
        bool refs = ends_with(url->path, git_refs) && strcmp(url->query, git_refs_query) == 0;
        if (refs && target.entry->git)
                target.kind = WEB_GIT_REFS;
        else if (url->has_query && DEFENCE("web-query") &&
                 (!target.entry->query || strlen(url->query) > WEB_QUERY_MAX))
                return REASON_QUERY;
        *ret = target;
        return REASON_NONE;
}

enum reason web_route_tunnel(const struct gateway_config *config, const struct request *request,
    char ret_host[WEB_HOST_MAX + 1], uint16_t *ret_port)
{
        char host[WEB_HOST_MAX + 1], field[WEB_HOST_MAX + 1];
        uint16_t port, field_port;
        enum reason reason = web_authority_parse(request->target, strlen(request->target), 0, host, &port);
        if (reason != REASON_NONE)
                return reason;
        /* Some clients leave the port out there. */
        if (request->host[0] && (web_authority_parse(request->host, strlen(request->host), port, field,
                                     &field_port) != REASON_NONE ||
                                    strcmp(field, host) != 0 || field_port != port))
                return REASON_HOST;
        if (!web_lists(config, true, host, port))
                return REASON_HOST;
        memcpy(ret_host, host, strlen(host) + 1);
        *ret_port = port;
        return REASON_NONE;
}

static enum reason check_host_field(const struct request *request, const struct web_url *url)
{
        char host[WEB_HOST_MAX + 1];
        uint16_t port;
        if (!request->host[0] || !DEFENCE("web-host-field"))
                return REASON_NONE; /* HTTP/1.0 */
        enum reason reason =
            web_authority_parse(request->host, strlen(request->host), url->tls ? 443 : 80, host, &port);
        return reason == REASON_NONE && strcmp(host, url->host) == 0 && port == url->port ? REASON_NONE
                                                                                          : REASON_HOST;
}

enum reason web_route(const struct gateway_config *config, const struct request *request, const char *host,
    uint16_t port, struct web_target *ret)
{
        struct web_url url = {.tls = true, .port = port};
        struct web_target target;
        enum reason reason;
        if (host) {
                memcpy(url.host, host, strlen(host) + 1);
                reason = web_target_parse(request->target, strlen(request->target), &url);
        } else {
                reason = strchr(request->target, '#') ? REASON_TARGET : web_url_parse(request->target, &url);
        }
        if (reason == REASON_NONE)
                reason = check_host_field(request, &url);
        if (reason == REASON_NONE)
                reason = web_find(config, &url, &target);
        if (reason != REASON_NONE)
                return reason;
        if (request->method == METHOD_POST) {
                if (!target.entry->git || !ends_with(url.path, git_pack))
                        return REASON_METHOD;
                if (url.has_query || !request->git_body)
                        return REASON_GIT;
                target.kind = WEB_GIT_PACK;
        }
        *ret = target;
        return REASON_NONE;
}

int web_refs_url(const struct web_url *pack, char **ret)
{
        struct web_url refs = *pack;
        size_t length = strlen(refs.path) - strlen(git_pack);
        if (length + sizeof git_refs > sizeof refs.path)
                return -ENOMEM;
        memcpy(refs.path + length, git_refs, sizeof git_refs);
        refs.has_query = true;
        memcpy(refs.query, git_refs_query, sizeof git_refs_query);
        return web_url_text(&refs, ret);
}
