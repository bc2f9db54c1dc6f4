/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/request.h"

#include "util/parse.h"

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

/* Of package indexes: there is nothing but names in it. */
static enum reason check_index_target(struct piece target)
{
        /* "*", "host:443" and "http://host/" are other requests than those we answer. */
        if (target.size == 0 || target.data[0] != '/')
                return REASON_TARGET;
        for (size_t i = 0; i < target.size; i++) {
                char c = target.data[i];
                if (c == '?' || c == '#')
                        return REASON_QUERY;
                if (!is_alpha(c) && !is_digit(c) && !strchr("/-._~!@+%", c))
                        return REASON_TARGET;
        }
        return REASON_NONE;
}

/* Which forms there may be; the web's are read further by those who know the entries (web_url.c). */
static enum reason check_target(struct piece target, enum request_side side, struct request *request)
{
        static const char scheme[] = "http://";
        if (target.size > REQUEST_TARGET_MAX)
                return REASON_HEAD_TOO_LARGE;
        if (request->method == METHOD_CONNECT)
                return REASON_NONE;
        if (side == REQUEST_TUNNEL)
                return target.size > 0 && target.data[0] == '/' ? REASON_NONE : REASON_TARGET;
        request->absolute = side == REQUEST_PROXY && target.size >= sizeof scheme &&
                            strncasecmp(target.data, scheme, sizeof scheme - 1) == 0;
        return request->absolute ? REASON_NONE : check_index_target(target);
}

static const struct {
        const char *word;
        bool on[3]; /* by the side */
} methods[] = {
    [METHOD_GET] = {"GET", {true, true, true}},
    [METHOD_HEAD] = {"HEAD", {true, true, true}},
    [METHOD_POST] = {"POST", {false, false, true}},
    [METHOD_CONNECT] = {"CONNECT", {false, true, false}},
};

const char *request_method_word(enum request_method method)
{
        return methods[method].word;
}

static bool take_method(struct piece word, enum request_side side, struct request *request)
{
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                request->method = (enum request_method)i;
                if (methods[i].on[side] && piece_is(word, methods[i].word))
                        return true;
        }
        return false;
}

/* METHOD SP target SP version, single spaces. */
static enum reason parse_request_line(
    struct piece line, enum request_side side, struct request *request, bool *ret_old)
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
        if (!take_method(method, side, request))
                return REASON_METHOD;
        *ret_old = piece_is(version, "HTTP/1.0");
        if (!*ret_old && !piece_is(version, "HTTP/1.1"))
                return REASON_VERSION;
        enum reason reason = check_target(target, side, request);
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
        enum request_side side;
        bool host, length, connection, proxy_connection, close, keep_alive, coding;
};

static enum reason field_host(struct piece value, struct request *request, struct seen *seen)
{
        if (seen->host)
                return REASON_FIELD;
        seen->host = true;
        /* Of no use to package indexes, but another reader may use it: nothing that could be a path. */
        for (size_t i = 0; i < value.size; i++)
                if (!is_alpha(value.data[i]) && !is_digit(value.data[i]) && !strchr(".-_:[]", value.data[i]))
                        return REASON_FIELD;
        if (value.size == 0 || value.size > REQUEST_HOST_MAX)
                return REASON_FIELD;
        memcpy(request->host, value.data, value.size);
        request->host[value.size] = '\0';
        return REASON_NONE;
}

static enum reason field_length(struct piece value, struct request *request, struct seen *seen)
{
        if (seen->length)
                return REASON_FIELD;
        seen->length = true;
        if (request->method != METHOD_POST)
                return piece_is(value, "0") ? REASON_NONE : REASON_BODY;
        char digits[16];
        if (value.size == 0 || value.size >= sizeof digits)
                return REASON_BODY;
        memcpy(digits, value.data, value.size);
        digits[value.size] = '\0';
        request->has_length = parse_u64(digits, &request->length);
        return request->has_length ? REASON_NONE : REASON_BODY;
}

static enum reason field_type(struct piece value, struct request *request, struct seen *seen)
{
        request->git_body = piece_is_nocase(value, "application/x-git-upload-pack-request");
        return REASON_NONE;
}

static enum reason field_coding(struct piece value, struct request *request, struct seen *seen)
{
        if (request->method != METHOD_POST)
                return REASON_NONE;
        if (seen->coding)
                return REASON_FIELD;
        seen->coding = true;
        request->gzip = piece_is_nocase(value, "gzip");
        return request->gzip ? REASON_NONE : REASON_BODY;
}

static enum reason field_connection(struct piece value, struct request *request, struct seen *seen)
{
        if (seen->connection)
                return REASON_FIELD;
        seen->connection = true;
        bool close = piece_is_nocase(value, "close");
        seen->close |= close;
        seen->keep_alive = piece_is_nocase(value, "keep-alive");
        return close || seen->keep_alive ? REASON_NONE : REASON_FIELD;
}

/* What clients of proxies send for Connection. */
static enum reason field_proxy_connection(struct piece value, struct request *request, struct seen *seen)
{
        if (seen->side != REQUEST_PROXY || seen->proxy_connection)
                return REASON_FIELD;
        seen->proxy_connection = true;
        bool close = piece_is_nocase(value, "close");
        seen->close |= close;
        return close || piece_is_nocase(value, "keep-alive") ? REASON_NONE : REASON_FIELD;
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
    {"Content-Type", field_type},
    {"Content-Encoding", field_coding},
    {"Proxy-Connection", field_proxy_connection},
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

enum reason request_parse(const char *data, size_t length, enum request_side side, struct request *ret)
{
        struct request request = {};
        struct seen seen = {.side = side};
        struct piece rest = {data, length};
        bool old;
        enum reason reason = parse_request_line(take_line(&rest), side, &request, &old);
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
        if (request.method == METHOD_POST && !request.has_length)
                return REASON_BODY;
        request.keep_alive = old ? seen.keep_alive : !seen.close;
        *ret = request;
        return REASON_NONE;
}
