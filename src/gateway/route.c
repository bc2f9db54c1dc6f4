/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/route.h"

#include "gateway/request.h"
#include "util/parse.h"

#define SEGMENTS_MAX 6

/* The target in pieces, percent-encoding undone. */
struct segments {
        char text[REQUEST_TARGET_MAX + SEGMENTS_MAX + 1];
        const char *at[SEGMENTS_MAX];
        size_t count;
        bool slash_at_end;
};

/* The next character of a segment; 0 if it is none that a name may hold. Moves *at past it. */
static char take_character(const char **at)
{
        char c = *(*at)++;
        if (c == '%') {
                int high = parse_hex_digit((*at)[0]);
                int low = high < 0 ? -1 : parse_hex_digit((*at)[1]);
                if (low < 0)
                        return '\0';
                *at += 2;
                c = (char)(high << 4 | low);
        }
        bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        /* A slash here was encoded: the grammars of names say where it may stand. */
        return alphanumeric || (c != '\0' && strchr("-._~!@+/", c)) ? c : '\0';
}

static enum reason split(const char *target, struct segments *ret)
{
        size_t used = 0;
        const char *at = target + 1;
        while (*at) {
                if (ret->count == SEGMENTS_MAX)
                        return REASON_PATH;
                const char *start = ret->text + used;
                ret->at[ret->count++] = start;
                while (*at && *at != '/') {
                        char c = take_character(&at);
                        if (c == '\0')
                                return REASON_NAME;
                        ret->text[used++] = c;
                }
                ret->text[used++] = '\0';
                if (start[0] == '\0' || strcmp(start, ".") == 0 || strcmp(start, "..") == 0)
                        return REASON_PATH;
                ret->slash_at_end = *at == '/';
                if (*at == '/')
                        at++;
        }
        return ret->count > 0 ? REASON_NONE : REASON_PATH;
}

int route_pypi_file(
    const struct index_entry *entry, const char *sha256, const char *file, char ret[ROUTE_PATH_MAX + 1])
{
        int n = snprintf(ret, ROUTE_PATH_MAX + 1, "/%s/files/%s/%s", entry->name, sha256, file);
        return n < 0 || n > ROUTE_PATH_MAX ? -E2BIG : 0;
}

int route_npm_file(
    const struct index_entry *entry, const char *name, const char *file, char ret[ROUTE_PATH_MAX + 1])
{
        int n = snprintf(ret, ROUTE_PATH_MAX + 1, "/%s/%s/-/%s", entry->name, name, file);
        return n < 0 || n > ROUTE_PATH_MAX ? -E2BIG : 0;
}

static bool is_sha256(const char *text)
{
        return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static enum reason route_pypi(const struct segments *segments, struct route *route)
{
        if (segments->count == 3 && strcmp(segments->at[1], "simple") == 0) {
                route->kind = ROUTE_PAGE;
                return name_pypi(segments->at[2], route->name) ? REASON_NONE : REASON_NAME;
        }
        if (segments->count == 4 && strcmp(segments->at[1], "files") == 0 && !segments->slash_at_end) {
                route->kind = ROUTE_FILE;
                if (!is_sha256(segments->at[2]) || !name_file(segments->at[3]))
                        return REASON_NAME;
                return route_pypi_file(route->entry, segments->at[2], segments->at[3], route->path) == 0
                           ? REASON_NONE
                           : REASON_NAME;
        }
        return REASON_PATH;
}

/* A scope may be a segment of its own, or joined to the name by an encoded slash. */
static enum reason route_npm(const struct segments *segments, struct route *route)
{
        if (segments->count < 2 || segments->slash_at_end)
                return REASON_PATH;
        size_t next = 2;
        int n;
        if (segments->at[1][0] == '@' && !strchr(segments->at[1], '/')) {
                if (segments->count < 3)
                        return REASON_NAME;
                n = snprintf(route->name, sizeof route->name, "%s/%s", segments->at[1], segments->at[2]);
                next = 3;
        } else {
                n = snprintf(route->name, sizeof route->name, "%s", segments->at[1]);
        }
        if (n < 0 || (size_t)n >= sizeof route->name || !name_npm(route->name))
                return REASON_NAME;
        if (segments->count == next) {
                route->kind = ROUTE_PAGE;
                return REASON_NONE;
        }
        if (segments->count != next + 2 || strcmp(segments->at[next], "-") != 0)
                return REASON_PATH;
        route->kind = ROUTE_FILE;
        if (!name_file(segments->at[next + 1]))
                return REASON_NAME;
        return route_npm_file(route->entry, route->name, segments->at[next + 1], route->path) == 0
                   ? REASON_NONE
                   : REASON_NAME;
}

enum reason route_parse(const struct gateway_config *config, const char *target, struct route *ret)
{
        struct segments segments = {};
        struct route route = {};
        enum reason reason = split(target, &segments);
        if (reason != REASON_NONE)
                return reason;
        for (size_t i = 0; i < config->entry_count; i++)
                if (strcmp(config->entries[i].name, segments.at[0]) == 0)
                        route.entry = &config->entries[i];
        if (!route.entry || route.entry->kind == ENTRY_WEB)
                return REASON_PATH;
        reason =
            route.entry->kind == ENTRY_PYPI ? route_pypi(&segments, &route) : route_npm(&segments, &route);
        if (reason != REASON_NONE)
                return reason;
        if (route.name[0] && !entry_offers(route.entry, route.name))
                return REASON_PACKAGE;
        *ret = route;
        return REASON_NONE;
}
