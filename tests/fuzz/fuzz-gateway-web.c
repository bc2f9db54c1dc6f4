/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds bytes to what reads for entries of kind web; the first byte says to which of: URLs, heads to a
 * proxy, heads in a tunnel, what a git repository lists, what git asks for. What must hold: a normal form is
 * its own normal form and leaves nothing to opinion; what is routed lies below a prefix, at the tunnel's
 * host; what is written for git holds nothing but listed objects and known words.
 */
#include "gateway/git.h"
#include "gateway/request.h"
#include "gateway/web_route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
        if (!condition)
                abort();
}

static struct web_url prefixes[] = {
    {.tls = true, .port = 443, .host = "a.org", .path = "/docs/"},
    {.tls = false, .port = 80, .host = "a.org", .path = "/file"},
    {.tls = true, .port = 8443, .host = "git.a.org", .path = "/"},
};
static struct index_entry entries[] = {
    {.name = (char *)"web", .kind = ENTRY_WEB, .prefixes = prefixes, .prefix_count = 2, .query = true},
    {.name = (char *)"git", .kind = ENTRY_WEB, .prefixes = prefixes + 2, .prefix_count = 1, .git = true},
};
static const struct gateway_config config = {.entries = entries, .entry_count = ARRAY_SIZE(entries)};

static void check_url(const struct web_url *url)
{
        static const char plain[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/%";
        must(url->path[0] == '/' && url->path[1] != '/');
        must(strspn(url->path, plain) == strlen(url->path));
        must(!strstr(url->path, "/../") && !strstr(url->path, "/./") && !strstr(url->path, "/..;"));
        must(!strstr(url->path, "%2F") && !strstr(url->path, "%25") && !strstr(url->path, "%5C"));
        must(!strstr(url->path, "%00") && !strstr(url->path, "%0") && !strstr(url->path, "%1"));
        must(url->has_query || !url->query[0]);
        must(!strpbrk(url->query, "# \"<>\\^`{|}\r\n"));
        must(strspn(url->host, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == strlen(url->host));
        must(url->host[0] && url->host[0] != '.' && url->host[strlen(url->host) - 1] != '.' &&
             url->port != 0);
}

static void try_url(const char *text)
{
        struct web_url url = {}, again = {};
        char *normal = NULL;
        if (web_url_parse(text, &url) != REASON_NONE)
                return;
        check_url(&url);
        must(web_url_text(&url, &normal) == 0);
        must(web_url_parse(normal, &again) == REASON_NONE);
        must(url.tls == again.tls && url.port == again.port && strcmp(url.host, again.host) == 0);
        must(strcmp(url.path, again.path) == 0 && strcmp(url.query, again.query) == 0);
        free(normal);
}

static void try_head(const char *data, size_t size, enum request_side side)
{
        struct request request;
        struct web_target target = {};
        size_t length = 0, rest;
        if (request_scan(data, size, &length) != REASON_NONE || length == 0)
                return;
        if (request_parse(data, length, side, &request) != REASON_NONE)
                return;
        must(side == REQUEST_TUNNEL || request.method != METHOD_POST);
        must(request.method == METHOD_POST || request.length == 0);
        if (request.method == METHOD_CONNECT) {
                char host[WEB_HOST_MAX + 1];
                uint16_t port;
                if (web_route_tunnel(&config, &request, host, &port) == REASON_NONE)
                        must((strcmp(host, "a.org") == 0 && port == 443) ||
                             (strcmp(host, "git.a.org") == 0 && port == 8443));
                return;
        }
        if (side == REQUEST_PROXY && !request.absolute)
                return;
        const char *host = side == REQUEST_TUNNEL ? "git.a.org" : NULL;
        if (web_route(&config, &request, host, 8443, &target) != REASON_NONE)
                return;
        check_url(&target.url);
        must(target.url.tls == (side == REQUEST_TUNNEL));
        if (host)
                must(strcmp(target.url.host, host) == 0 && target.url.port == 8443);
        bool below = false;
        for (size_t i = 0; i < target.entry->prefix_count; i++)
                below |= web_url_below(&target.entry->prefixes[i], &target.url, &rest);
        must(below && target.rest <= strlen(target.url.path) + strlen(target.url.query) + 1);
        must(!target.url.has_query || target.entry->query || target.kind == WEB_GIT_REFS);
        must(request.method != METHOD_POST || target.kind == WEB_GIT_PACK);
        if (target.kind == WEB_GIT_PACK) {
                char *refs = NULL;
                if (web_refs_url(&target.url, &refs) == 0)
                        must(strstr(refs, "/info/refs?service=git-upload-pack") != NULL);
                free(refs);
        }
}

static void try_refs(const char *data, size_t size)
{
        struct git_ids ids = {};
        if (git_refs_read(data, size, &ids) == 0)
                for (size_t i = 0; i < ids.count; i++)
                        must((strlen(ids.ids[i].text) == 40 || strlen(ids.ids[i].text) == 64) &&
                             (i == 0 || strcmp(ids.ids[i - 1].text, ids.ids[i].text) < 0));
        git_ids_clear(&ids);
}

static void try_question(const char *data, size_t size)
{
        static struct git_id listed[] = {
            {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, {"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}};
        static const struct git_ids ids = {listed, ARRAY_SIZE(listed)};
        struct strbuf text = STRBUF_INIT(65536), again = STRBUF_INIT(65536), plain = STRBUF_INIT(65536);
        uint64_t bits = 0, bits_again = 0;
        (void)git_inflate(data, size, &plain);
        if (git_request_rewrite(data, size, &ids, &text, &bits) == REASON_NONE) {
                must(bits > 0 && bits < 64 && text.size < 400);
                must(!strstr(strbuf_text(&text), "have") && !strstr(strbuf_text(&text), "agent"));
                must(git_request_rewrite(strbuf_text(&text), text.size, &ids, &again, &bits_again) ==
                     REASON_NONE);
                must(strcmp(strbuf_text(&text), strbuf_text(&again)) == 0 && bits == bits_again);
        }
        strbuf_clear(&text);
        strbuf_clear(&again);
        strbuf_clear(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0)
                return 0;
        /* A copy of the exact size, so that one byte too far is seen. */
        char *copy = malloc(size);
        if (!copy)
                return 0;
        memcpy(copy, data + 1, size - 1);
        copy[size - 1] = '\0';
        if (data[0] == 'u')
                try_url(copy);
        else if (data[0] == 'p')
                try_head(copy, size - 1, REQUEST_PROXY);
        else if (data[0] == 't')
                try_head(copy, size - 1, REQUEST_TUNNEL);
        else if (data[0] == 'l')
                try_refs(copy, size - 1);
        else if (data[0] == 'q')
                try_question(copy, size - 1);
        free(copy);
        return 0;
}
