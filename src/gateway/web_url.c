/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/web_url.h"

#include "util/defence.h"
#include "util/parse.h"

#include <arpa/inet.h>
#include <strings.h>

static bool is_alphanumeric(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* RFC 3986: what means the same with and without percent-encoding. */
static bool is_unreserved(char c)
{
        return is_alphanumeric(c) || (c != '\0' && strchr("-._~", c));
}

static bool is_path_char(char c)
{
        return is_unreserved(c) || (c != '\0' && strchr("!$&'()*+,;=:@/", c));
}

/* ---- Host and port ---- */

/* "127.1", "0x7f000001", "2130706433": a name for some readers, an address for others. */
static bool is_doubtful_number(const char *host)
{
        struct in_addr address;
        const char *dot = strrchr(host, '.');
        const char *last = dot ? dot + 1 : host;
        bool number = strspn(last, "0123456789") == strlen(last) || strncmp(last, "0x", 2) == 0;
        return number && inet_pton(AF_INET, host, &address) != 1;
}

static bool take_host(const char *text, size_t size, char *ret)
{
        if (size == 0 || size > WEB_HOST_MAX)
                return false;
        for (size_t i = 0; i < size; i++) {
                char c = text[i];
                bool label_begins = i == 0 || text[i - 1] == '.', label_ends = i + 1 == size;
                if (!is_alphanumeric(c) && c != '-' && c != '_' && c != '.')
                        return false;
                if ((c == '.' || c == '-') && (label_begins || label_ends))
                        return false;
                ret[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
        ret[size] = '\0';
        return !is_doubtful_number(ret);
}

static bool take_port(const char *text, size_t size, uint16_t *ret)
{
        char copy[6];
        uint64_t port;
        if (size == 0 || size >= sizeof copy || text[0] == '0')
                return false;
        memcpy(copy, text, size);
        copy[size] = '\0';
        if (!parse_u64(copy, &port) || port > UINT16_MAX)
                return false;
        *ret = (uint16_t)port;
        return true;
}

enum reason web_authority_parse(
    const char *text, size_t size, uint16_t port, char ret_host[WEB_HOST_MAX + 1], uint16_t *ret_port)
{
        char host[WEB_HOST_MAX + 1];
        const char *colon = memchr(text, ':', size);
        size_t length = colon ? (size_t)(colon - text) : size;
        if (!take_host(text, length, host) || (!colon && port == 0))
                return REASON_HOST;
        if (colon && !take_port(colon + 1, size - length - 1, &port))
                return REASON_HOST;
        memcpy(ret_host, host, length + 1);
        *ret_port = port;
        return REASON_NONE;
}

/* ---- Path and query ---- */

/* One well-formed UTF-8 sequence at the front: its length, or 0. Overlong forms are how ".." was hidden. */
static size_t utf8_sequence(const unsigned char *at, size_t size)
{
        static const struct {
                unsigned char first, last, low, high; /* of the first byte, and of the second */
                size_t length;
        } forms[] = {
            {0x00, 0x7f, 0, 0, 1},
            {0xc2, 0xdf, 0x80, 0xbf, 2},
            {0xe0, 0xe0, 0xa0, 0xbf, 3},
            {0xe1, 0xec, 0x80, 0xbf, 3},
            {0xed, 0xed, 0x80, 0x9f, 3},
            {0xee, 0xef, 0x80, 0xbf, 3},
            {0xf0, 0xf0, 0x90, 0xbf, 4},
            {0xf1, 0xf3, 0x80, 0xbf, 4},
            {0xf4, 0xf4, 0x80, 0x8f, 4},
        };
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                if (at[0] < forms[i].first || at[0] > forms[i].last)
                        continue;
                if (forms[i].length > size ||
                    (forms[i].length > 1 && (at[1] < forms[i].low || at[1] > forms[i].high)))
                        return 0;
                for (size_t j = 2; j < forms[i].length; j++)
                        if (at[j] < 0x80 || at[j] > 0xbf)
                                return 0;
                return forms[i].length;
        }
        return 0;
}

static bool is_utf8(const unsigned char *text, size_t size)
{
        for (size_t length; size > 0; text += length, size -= length) {
                length = utf8_sequence(text, size);
                if (length == 0)
                        return false;
        }
        return true;
}

/* What a percent-encoding may stand for. In a path, a slash or a percent sign could be decoded once more. */
static bool is_encodable(unsigned char byte, bool query)
{
        return byte >= 0x20 && byte != 0x7f && byte != '\\' && (query || (byte != '/' && byte != '%'));
}

/* Writes the normal form. `ret` has room for three times the size. */
static enum reason normalise(const char *text, size_t size, bool query, char *ret)
{
        unsigned char decoded[WEB_TARGET_MAX];
        size_t used = 0, count = 0;
        if (size > WEB_TARGET_MAX)
                return REASON_HEAD_TOO_LARGE;
        for (size_t i = 0; i < size; i++) {
                char c = text[i];
                if (c != '%') {
                        if (!is_path_char(c) && !(query && c == '?'))
                                return REASON_TARGET;
                        decoded[count++] = (unsigned char)c;
                        ret[used++] = c;
                        continue;
                }
                int high = i + 2 < size ? parse_hex_digit(text[i + 1]) : -1;
                int low = i + 2 < size ? parse_hex_digit(text[i + 2]) : -1;
                if (high < 0 || low < 0 || !is_encodable((unsigned char)(high << 4 | low), query))
                        return REASON_PATH;
                decoded[count++] = (unsigned char)(high << 4 | low);
                i += 2;
                if (is_unreserved((char)decoded[count - 1])) {
                        ret[used++] = (char)decoded[count - 1];
                } else {
                        ret[used++] = '%';
                        ret[used++] = "0123456789ABCDEF"[high];
                        ret[used++] = "0123456789ABCDEF"[low];
                }
        }
        ret[used] = '\0';
        return is_utf8(decoded, count) ? REASON_NONE : REASON_PATH;
}

/*
 * "." and "..", also with parameters, which some servers cut off before they resolve: "/..;x/", in any
 * spelling.
 */
static bool has_dot_segments(const char *path)
{
        while (*path) {
                path++; /* the slash */
                size_t size = strcspn(path, "/"), name = strcspn(path, "/;%");
                if ((name == 1 && path[0] == '.') || (name == 2 && path[0] == '.' && path[1] == '.'))
                        return true;
                path += size;
        }
        return false;
}

enum reason web_target_parse(const char *text, size_t size, struct web_url *ret)
{
        char path[WEB_TARGET_MAX + 1] = "", query[WEB_TARGET_MAX + 1] = "";
        if (size == 0 || text[0] != '/')
                return REASON_TARGET;
        const char *mark = memchr(text, '?', size);
        size_t length = mark ? (size_t)(mark - text) : size;
        enum reason reason = normalise(text, length, false, path);
        if (reason == REASON_NONE && mark)
                reason = normalise(mark + 1, size - length - 1, true, query);
        if (reason != REASON_NONE)
                return reason;
        /* "//host/" is a host to some readers. */
        if (path[1] == '/' || (DEFENCE("web-path") && has_dot_segments(path)))
                return REASON_PATH;
        ret->has_query = mark != NULL;
        memcpy(ret->path, path, strlen(path) + 1);
        memcpy(ret->query, query, strlen(query) + 1);
        return REASON_NONE;
}

enum reason web_url_parse(const char *text, struct web_url *ret)
{
        struct web_url url = {};
        url.tls = strncasecmp(text, "https://", 8) == 0;
        if (!url.tls && strncasecmp(text, "http://", 7) != 0)
                return REASON_TARGET;
        const char *host = text + (url.tls ? 8 : 7);
        size_t length = strcspn(host, "/?#");
        const char *target = host[length] ? host + length : "/";
        enum reason reason = web_authority_parse(host, length, url.tls ? 443 : 80, url.host, &url.port);
        if (reason == REASON_NONE)
                reason = web_target_parse(target, strlen(target), &url);
        if (reason == REASON_NONE)
                *ret = url;
        return reason;
}

int web_url_text(const struct web_url *url, char **ret)
{
        char port[8] = "";
        char *text = NULL;
        if (url->port != (url->tls ? 443 : 80))
                (void)snprintf(port, sizeof port, ":%u", url->port);
        if (asprintf(&text, "%s://%s%s%s%s%s", url->tls ? "https" : "http", url->host, port, url->path,
                url->has_query ? "?" : "", url->query) < 0)
                return -ENOMEM;
        *ret = text;
        return 0;
}

bool web_url_below(const struct web_url *prefix, const struct web_url *url, size_t *ret_rest)
{
        size_t length = strlen(prefix->path);
        if (prefix->tls != url->tls || prefix->port != url->port || strcmp(prefix->host, url->host) != 0 ||
            strncmp(prefix->path, url->path, length) != 0)
                return false;
        if (prefix->path[length - 1] != '/' && url->path[length] != '\0' && url->path[length] != '/')
                return false;
        *ret_rest = strlen(url->path) - length + (url->has_query ? 1 + strlen(url->query) : 0);
        return true;
}
