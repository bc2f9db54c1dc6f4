/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/request.h"

#include <strings.h>

/* A piece of the head: not NUL-terminated. */
struct piece {
        const char *data;
        size_t size;
};

static bool piece_is(struct piece piece, const char *text)
{
        return piece.size == strlen(text) && memcmp(piece.data, text, piece.size) == 0;
}

static bool piece_is_nocase(struct piece piece, const char *text)
{
        return piece.size == strlen(text) && strncasecmp(piece.data, text, piece.size) == 0;
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* RFC 9110's tchar. */
static bool is_token_char(char c)
{
        return is_alpha(c) || is_digit(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_text_char(char c)
{
        return c == '\t' || (c >= 0x20 && c < 0x7f);
}

enum reason request_scan(const char *data, size_t size, size_t *ret_length)
{
        size_t looked = MIN(size, (size_t)REQUEST_HEAD_MAX);
        for (size_t i = 0; i < looked; i++) {
                if (data[i] == '\n') {
                        if (i == 0 || data[i - 1] != '\r')
                                return REASON_MALFORMED;
                        if (i >= 3 && data[i - 2] == '\n') {
                                *ret_length = i + 1;
                                return REASON_NONE;
                        }
                        continue;
                }
                if (i > 0 && data[i - 1] == '\r')
                        return REASON_MALFORMED;
                if (data[i] == '\r') {
                        if (i == 0) /* an empty line before the request */
                                return REASON_MALFORMED;
                        continue;
                }
                if (!is_text_char(data[i]) || (i == 0 && !is_alpha(data[i])))
                        return REASON_MALFORMED;
        }
        if (looked == REQUEST_HEAD_MAX)
                return REASON_HEAD_TOO_LARGE;
        *ret_length = 0;
        return REASON_NONE;
}

/* Takes the next line off the front of `rest`. Lines end in CR LF here, since request_scan() passed them. */
static struct piece take_line(struct piece *rest)
{
        const char *end = memchr(rest->data, '\r', rest->size);
        size_t size = end ? (size_t)(end - rest->data) : rest->size;
        struct piece line = {rest->data, size};
        size_t taken = MIN(size + 2, rest->size);
        rest->data += taken;
        rest->size -= taken;
        return line;
}

static enum reason check_target(struct piece target)
{
        /* "*", "host:443" and "http://host/" are other requests than those we answer. */
        if (target.size == 0 || target.data[0] != '/')
                return REASON_TARGET;
        if (target.size > REQUEST_TARGET_MAX)
                return REASON_HEAD_TOO_LARGE;
        for (size_t i = 0; i < target.size; i++) {
                char c = target.data[i];
                if (c == '?' || c == '#')
                        return REASON_QUERY;
                if (!is_alpha(c) && !is_digit(c) && !strchr("/-._~!@+%", c))
                        return REASON_TARGET;
        }
        return REASON_NONE;
}

/* METHOD SP target SP version, single spaces. */
static enum reason parse_request_line(struct piece line, struct request *request, bool *ret_old)
{
        const char *first = memchr(line.data, ' ', line.size);
        if (!first)
                return REASON_MALFORMED;
        struct piece method = {line.data, (size_t)(first - line.data)};
        struct piece rest = {first + 1, line.size - method.size - 1};
        const char *second = memchr(rest.data, ' ', rest.size);
        if (!second)
                return REASON_MALFORMED;
        struct piece target = {rest.data, (size_t)(second - rest.data)};
        struct piece version = {second + 1, rest.size - target.size - 1};

        for (size_t i = 0; i < method.size; i++)
                if (!is_token_char(method.data[i]))
                        return REASON_MALFORMED;
        request->head = piece_is(method, "HEAD");
        if (!request->head && !piece_is(method, "GET"))
                return REASON_METHOD;
        *ret_old = piece_is(version, "HTTP/1.0");
        if (!*ret_old && !piece_is(version, "HTTP/1.1"))
                return REASON_VERSION;
        enum reason reason = check_target(target);
        if (reason != REASON_NONE)
                return reason;
        memcpy(request->target, target.data, target.size);
        request->target[target.size] = '\0';
        return REASON_NONE;
}

static struct piece trim(struct piece value)
{
        while (value.size > 0 && (value.data[0] == ' ' || value.data[0] == '\t')) {
                value.data++;
                value.size--;
        }
        while (value.size > 0 && (value.data[value.size - 1] == ' ' || value.data[value.size - 1] == '\t'))
                value.size--;
        return value;
}

/* What the fields that matter said. */
struct seen {
        bool host, length, connection, close, keep_alive;
};

static enum reason field_host(struct piece value, struct request *request, struct seen *seen)
{
        if (seen->host)
                return REASON_FIELD;
        seen->host = true;
        /* Its value is of no use to us, but another reader may use it: nothing that could be a path. */
        for (size_t i = 0; i < value.size; i++)
                if (!is_alpha(value.data[i]) && !is_digit(value.data[i]) && !strchr(".-_:[]", value.data[i]))
                        return REASON_FIELD;
        return value.size > 0 ? REASON_NONE : REASON_FIELD;
}

static enum reason field_length(struct piece value, struct request *request, struct seen *seen)
{
        if (seen->length)
                return REASON_FIELD;
        seen->length = true;
        return piece_is(value, "0") ? REASON_NONE : REASON_BODY;
}

static enum reason field_connection(struct piece value, struct request *request, struct seen *seen)
{
        if (seen->connection)
                return REASON_FIELD;
        seen->connection = true;
        seen->close = piece_is_nocase(value, "close");
        seen->keep_alive = piece_is_nocase(value, "keep-alive");
        return seen->close || seen->keep_alive ? REASON_NONE : REASON_FIELD;
}

static enum reason field_accept(struct piece value, struct request *request, struct seen *seen)
{
        size_t used = strlen(request->accept), comma = used > 0 ? 1 : 0;
        if (used + comma + value.size > REQUEST_ACCEPT_MAX)
                return REASON_HEAD_TOO_LARGE;
        if (comma)
                request->accept[used] = ',';
        memcpy(request->accept + used + comma, value.data, value.size);
        request->accept[used + comma + value.size] = '\0';
        return REASON_NONE;
}

static enum reason field_body(struct piece value, struct request *request, struct seen *seen)
{
        return REASON_BODY;
}

static enum reason field_refused(struct piece value, struct request *request, struct seen *seen)
{
        return REASON_FIELD;
}

/* Every other field is read past: it reaches nobody. */
static const struct {
        const char *name;
        enum reason (*take)(struct piece value, struct request *request, struct seen *seen);
} fields[] = {
    {"Host", field_host},
    {"Content-Length", field_length},
    {"Connection", field_connection},
    {"Accept", field_accept},
    {"Transfer-Encoding", field_body},
    {"Expect", field_body},
    {"Trailer", field_body},
    {"TE", field_refused},
    {"Upgrade", field_refused},
    {"HTTP2-Settings", field_refused},
    {"Proxy-Connection", field_refused},
    {"Proxy-Authorization", field_refused},
};

static enum reason parse_field(struct piece line, struct request *request, struct seen *seen)
{
        /* A line that begins with white space would go on with the field before it. */
        const char *colon = memchr(line.data, ':', line.size);
        if (!colon || colon == line.data)
                return REASON_MALFORMED;
        struct piece name = {line.data, (size_t)(colon - line.data)};
        struct piece value = trim((struct piece){colon + 1, line.size - name.size - 1});
        for (size_t i = 0; i < name.size; i++)
                if (!is_token_char(name.data[i]))
                        return REASON_MALFORMED;
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                if (piece_is_nocase(name, fields[i].name))
                        return fields[i].take(value, request, seen);
        return REASON_NONE;
}

enum reason request_parse(const char *data, size_t length, struct request *ret)
{
        struct request request = {};
        struct seen seen = {};
        struct piece rest = {data, length};
        bool old;
        enum reason reason = parse_request_line(take_line(&rest), &request, &old);
        if (reason != REASON_NONE)
                return reason;

        size_t count = 0;
        for (struct piece line = take_line(&rest); line.size > 0; line = take_line(&rest)) {
                if (++count > REQUEST_FIELDS_MAX)
                        return REASON_HEAD_TOO_LARGE;
                reason = parse_field(line, &request, &seen);
                if (reason != REASON_NONE)
                        return reason;
        }
        if (!old && !seen.host)
                return REASON_FIELD;
        request.keep_alive = old ? seen.keep_alive : !seen.close;
        *ret = request;
        return REASON_NONE;
}
