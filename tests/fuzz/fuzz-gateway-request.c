/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds bytes to the reader of request heads, all at once and in pieces, and what it accepts on to the
 * router. What must hold: both ways of feeding agree; an accepted head is one that any reader would end at
 * the same place; an accepted path is in its normal form, and nothing but the characters of names reaches an
 * upstream.
 */
#include "gateway/request.h"
#include "gateway/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
        if (!condition)
                abort();
}

static struct index_entry entries[] = {
    {.name = (char *)"pypi", .kind = ENTRY_PYPI},
    {.name = (char *)"npm", .kind = ENTRY_NPM},
};
static const struct gateway_config config = {.entries = entries, .entry_count = ARRAY_SIZE(entries)};

static void check_route(const char *target)
{
        struct route route, again;
        if (route_parse(&config, target, &route) != REASON_NONE)
                return;
        static const char safe[] = "abcdefghijklmnopqrstuvwxyz0123456789-._";
        const char *name = route.name;
        if (route.entry->kind == ENTRY_NPM) {
                must(name_npm(name));
                const char *slash = strchr(name, '/');
                must((name[0] == '@') == (slash != NULL));
                if (slash) {
                        must(strspn(name + 1, safe) == (size_t)(slash - name - 1));
                        name = slash + 1;
                }
        }
        must(strspn(name, safe) == strlen(name) && strlen(name) <= NAME_MAX_BYTES);
        if (route.kind == ROUTE_FILE) {
                must(!strstr(route.path, "..") || name_file(strrchr(route.path, '/') + 1));
                must(!strchr(route.path, '%') && !strstr(route.path, "//") && !strstr(route.path, "/../"));
                /* The normal form leads to itself. */
                must(route_parse(&config, route.path, &again) == REASON_NONE);
                must(strcmp(route.path, again.path) == 0 && strcmp(route.name, again.name) == 0);
        }
}

static void check_head(const char *head, size_t length)
{
        struct request request;
        must(length >= 4 && memcmp(head + length - 4, "\r\n\r\n", 4) == 0);
        must(!memmem(head, length - 1, "\r\n\r\n", 4));
        for (size_t i = 0; i < length; i++) {
                must(head[i] != '\0' && (unsigned char)head[i] < 0x7f);
                must((head[i] == '\n') == (i > 0 && head[i - 1] == '\r'));
        }
        if (request_parse(head, length, REQUEST_INDEX, &request) != REASON_NONE)
                return;
        must(strncmp(head, "GET /", 5) == 0 || strncmp(head, "HEAD /", 6) == 0);
        must(!strcasestr(head, "\r\ntransfer-encoding:"));
        must(request.target[0] == '/' && !strpbrk(request.target, "?# \t\r\n\\"));
        check_route(request.target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        /* A copy of the exact size, so that one byte too far is seen, with a NUL for strcasestr() behind a
         * head. */
        char *copy = malloc(size + 1);
        if (!copy)
                return 0;
        memcpy(copy, data, size);
        copy[size] = '\0';
        size_t whole = 0, length = 0, pieces = 0;
        enum reason reason = request_scan(copy, size, &whole), piecewise = REASON_NONE;
        size_t step = size > 512 ? 61 : 1;
        for (size_t seen = MIN(step, size);; seen = MIN(seen + step, size)) {
                piecewise = request_scan(copy, seen, &pieces);
                if (piecewise != REASON_NONE || pieces > 0 || seen == size)
                        break;
        }
        must(reason == piecewise);
        if (reason == REASON_NONE) {
                must(whole == pieces);
                length = whole;
        }
        if (length > 0) {
                char *head = strndup(copy, length);
                if (head)
                        check_head(head, length);
                free(head);
        }
        free(copy);
        return 0;
}
