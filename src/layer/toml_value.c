/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/toml_internal.h"

#include <math.h>

static const char *const quotes[] = {"\"", "'"};

static int text_failed(const struct toml_parser *parser, int r)
{
        return r == -ENOMEM ? error_oom(parser->err) : toml_fail(parser, "text that is too long");
}

/* ---- Text ---- */

static int append_code_point(struct strbuf *out, uint32_t c)
{
        char bytes[4];
        size_t n = 0;
        if (c < 0x80) {
                bytes[n++] = (char)c;
        } else if (c < 0x800) {
                bytes[n++] = (char)(0xc0 | c >> 6);
        } else if (c < 0x10000) {
                bytes[n++] = (char)(0xe0 | c >> 12);
                bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        } else {
                bytes[n++] = (char)(0xf0 | c >> 18);
                bytes[n++] = (char)(0x80 | (c >> 12 & 0x3f));
                bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        }
        if (c >= 0x80)
                bytes[n++] = (char)(0x80 | (c & 0x3f));
        return strbuf_append(out, bytes, n);
}

static int take_unicode(struct toml_parser *parser, size_t digits, struct strbuf *out)
{
        uint32_t c = 0;
        for (size_t i = 0; i < digits; i++) {
                char digit = scanner_peek(&parser->scanner, i);
                if (is_ascii_digit(digit))
                        c = c << 4 | (uint32_t)(digit - '0');
                else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')
                        c = c << 4 | (uint32_t)((digit | 0x20) - 'a' + 10);
                else
                        return toml_fail(parser, "an escape without its hexadecimal digits");
        }
        parser->scanner.at += digits;
        if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
                return toml_fail(parser, "an escape for what is no character");
        int r = append_code_point(out, c);
        return r < 0 ? text_failed(parser, r) : 0;
}

/* Behind a backslash at the end of a line of multi-line text: everything up to the next word is nothing. */
static bool skip_line_end(struct toml_parser *parser)
{
        struct scanner ahead = parser->scanner;
        scanner_skip_blank(&ahead);
        if (scanner_peek(&ahead, 0) != '\n' &&
            !(scanner_peek(&ahead, 0) == '\r' && scanner_peek(&ahead, 1) == '\n'))
                return false;
        parser->scanner = ahead;
        do
                scanner_skip_blank(&parser->scanner);
        while (toml_take_newline(parser));
        return true;
}

static int take_escape(struct toml_parser *parser, bool multi, struct strbuf *out)
{
        static const struct {
                char letter, meaning;
        } escapes[] = {
            {'b', '\b'}, {'t', '\t'}, {'n', '\n'}, {'f', '\f'}, {'r', '\r'}, {'"', '"'}, {'\\', '\\'}};
        if (multi && skip_line_end(parser))
                return 0;
        if (parser->scanner.at == parser->scanner.end)
                return toml_fail(parser, "text without an end");
        char letter = *parser->scanner.at++;
        if (letter == 'u' || letter == 'U')
                return take_unicode(parser, letter == 'u' ? 4 : 8, out);
        for (size_t i = 0; i < ARRAY_SIZE(escapes); i++) {
                if (escapes[i].letter != letter)
                        continue;
                int r = strbuf_append(out, &escapes[i].meaning, 1);
                return r < 0 ? text_failed(parser, r) : 0;
        }
        return toml_fail(parser, "an unknown escape");
}

/* At most two quotes more may stand right before the end of multi-line text. */
static int end_multi_line(struct toml_parser *parser, const char *quote, struct strbuf *out)
{
        for (int i = 0; i < 2 && scanner_take(&parser->scanner, *quote); i++) {
                int r = strbuf_append(out, quote, 1);
                if (r < 0)
                        return text_failed(parser, r);
        }
        return 0;
}

static int take_characters(struct toml_parser *parser, const char *quote, bool multi, struct strbuf *out)
{
        struct scanner *scanner = &parser->scanner;
        bool literal = *quote == '\'';
        char fence[4] = {*quote, *quote, *quote, '\0'};
        for (;;) {
                if (multi ? scanner_take_word(scanner, fence) : scanner_take(scanner, *quote))
                        return multi ? end_multi_line(parser, quote, out) : 0;
                if (scanner->at == scanner->end)
                        return toml_fail(parser, "text without an end");
                int r;
                if (multi && toml_take_newline(parser)) {
                        r = strbuf_append_text(out, "\n");
                } else {
                        char c = *scanner->at++;
                        if (c == '\\' && !literal) {
                                r = take_escape(parser, multi, out);
                                if (r < 0)
                                        return r;
                                continue;
                        }
                        if ((unsigned char)c < ' ' ? c != '\t' : c == 0x7f)
                                return toml_fail(parser, "a control character in text");
                        r = strbuf_append(out, &c, 1);
                }
                if (r < 0)
                        return text_failed(parser, r);
        }
}

static int take_text(struct toml_parser *parser, const char *quote, bool multi_allowed, json_t **ret)
{
        _cleanup_(strbuf_clear) struct strbuf out = STRBUF_INIT(TOML_SIZE_MAX);
        char fence[4] = {*quote, *quote, *quote, '\0'};
        bool multi = multi_allowed && scanner_take_word(&parser->scanner, fence);
        if (multi)
                (void)toml_take_newline(parser);
        else
                parser->scanner.at++;
        int r = take_characters(parser, quote, multi, &out);
        if (r < 0)
                return r;
        json_t *text = json_stringn(strbuf_text(&out), out.size);
        if (!text)
                return toml_fail(parser, "text that is not UTF-8");
        *ret = text;
        return 0;
}

/* ---- Keys ---- */

void toml_key_clear(struct toml_key *key)
{
        for (size_t i = 0; i < key->count; i++)
                json_decref(key->parts[i]);
        key->count = 0;
}

static int take_key_part(struct toml_parser *parser, json_t **ret)
{
        struct scanner *scanner = &parser->scanner;
        for (size_t i = 0; i < ARRAY_SIZE(quotes); i++)
                if (scanner_peek(scanner, 0) == quotes[i][0])
                        return take_text(parser, quotes[i], false, ret);
        size_t size = 0;
        while (is_ascii_alnum(scanner_peek(scanner, size)) || scanner_peek(scanner, size) == '_' ||
               scanner_peek(scanner, size) == '-')
                size++;
        if (size == 0)
                return toml_fail(parser, "a key is missing");
        *ret = json_stringn(scanner->at, size);
        scanner->at += size;
        return *ret ? 0 : error_oom(parser->err);
}

int toml_take_key(struct toml_parser *parser, struct toml_key *ret)
{
        struct toml_key key = {};
        int r;
        do {
                scanner_skip_blank(&parser->scanner);
                if (key.count == TOML_KEY_PARTS_MAX)
                        r = toml_fail(parser, "a key of too many parts");
                else
                        r = take_key_part(parser, &key.parts[key.count]);
                if (r < 0) {
                        toml_key_clear(&key);
                        return r;
                }
                key.count++;
                scanner_skip_blank(&parser->scanner);
        } while (scanner_take(&parser->scanner, '.'));
        *ret = key;
        return 0;
}

/* ---- Numbers, dates ---- */

/* Digits of a base with single underscores between them; false if there are none or they are misplaced. */
static bool copy_digits(const char **at, const char *end, const char *digits, char *out, size_t *n)
{
        bool underscore = true; /* one may not come first */
        while (*at < end && (strchr(digits, **at) || **at == '_') && **at != '\0') {
                if (**at == '_' && underscore)
                        return false;
                underscore = **at == '_';
                if (!underscore)
                        out[(*n)++] = **at;
                (*at)++;
        }
        return !underscore;
}

#define NUMBER_MAX 100U

static bool read_based(const char *at, const char *end, json_int_t *ret)
{
        static const struct {
                char letter;
                int base;
                const char *digits;
        } bases[] = {{'x', 16, "0123456789abcdefABCDEF"}, {'o', 8, "01234567"}, {'b', 2, "01"}};
        for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
                if (end - at < 3 || at[0] != '0' || at[1] != bases[i].letter)
                        continue;
                char text[NUMBER_MAX + 1];
                size_t n = 0;
                at += 2;
                if (!copy_digits(&at, end, bases[i].digits, text, &n) || at != end)
                        return false;
                text[n] = '\0';
                errno = 0;
                long long value = strtoll(text, NULL, bases[i].base);
                *ret = value;
                return errno == 0;
        }
        return false;
}

static bool read_decimal(const char *at, const char *end, json_t **ret)
{
        static const char digits[] = "0123456789";
        char text[NUMBER_MAX + 4];
        size_t n = 0;
        bool real = false;
        if (at < end && (*at == '+' || *at == '-'))
                text[n++] = *at++;
        if ((size_t)(end - at) == 3 && (memcmp(at, "inf", 3) == 0 || memcmp(at, "nan", 3) == 0)) {
                *ret = json_real(0); /* jansson has no such numbers, and nobody here asks for them */
                return true;
        }
        const char *first = at;
        if (!copy_digits(&at, end, digits, text, &n) || (*first == '0' && at - first > 1))
                return false;
        if (at < end && *at == '.') {
                real = true;
                text[n++] = *at++;
                if (!copy_digits(&at, end, digits, text, &n))
                        return false;
        }
        if (at < end && (*at == 'e' || *at == 'E')) {
                real = true;
                text[n++] = *at++;
                if (at < end && (*at == '+' || *at == '-'))
                        text[n++] = *at++;
                if (!copy_digits(&at, end, digits, text, &n))
                        return false;
        }
        if (at != end)
                return false;
        text[n] = '\0';
        errno = 0;
        if (real) {
                double value = strtod(text, NULL);
                *ret = json_real(isfinite(value) ? value : 0);
                return true;
        }
        long long value = strtoll(text, NULL, 10);
        *ret = json_integer(value);
        return errno == 0;
}

/* "0" in the form stands for a digit. */
static bool take_form(const char **at, const char *end, const char *form)
{
        const char *here = *at;
        for (; *form; form++, here++)
                if (here == end || (*form == '0' ? !is_ascii_digit(*here) : *here != *form))
                        return false;
        *at = here;
        return true;
}

static bool is_time(const char **at, const char *end)
{
        if (!take_form(at, end, "00:00:00"))
                return false;
        if (*at < end && **at == '.') {
                if (!take_form(at, end, ".0"))
                        return false;
                while (*at < end && is_ascii_digit(**at))
                        (*at)++;
        }
        return true;
}

static bool is_date_or_time(const char *at, const char *end)
{
        if (is_time(&at, end))
                return at == end;
        if (!take_form(&at, end, "0000-00-00"))
                return false;
        if (at == end)
                return true;
        char between = *at++;
        if ((between != 'T' && between != 't' && between != ' ') || !is_time(&at, end))
                return false;
        if (at < end && (*at == 'Z' || *at == 'z'))
                at++;
        else if (at < end)
                (void)(take_form(&at, end, "+00:00") || take_form(&at, end, "-00:00"));
        return at == end;
}

/* Numbers, dates, true, false: whatever stands without quotes. */
static int take_word(struct toml_parser *parser, json_t **ret)
{
        struct scanner *scanner = &parser->scanner;
        const char *begin = scanner->at;
        size_t size = 0;
        while (is_ascii_alnum(scanner_peek(scanner, size)) ||
               (scanner_peek(scanner, size) != '\0' && strchr("_+-.:", scanner_peek(scanner, size))))
                size++;
        /* A date and a time may stand apart by a space. */
        if (size == 10 && scanner_peek(scanner, 10) == ' ' && is_ascii_digit(scanner_peek(scanner, 11)) &&
            begin[4] == '-')
                for (size = 11;
                     is_ascii_alnum(scanner_peek(scanner, size)) ||
                     (scanner_peek(scanner, size) != '\0' && strchr("+-.:", scanner_peek(scanner, size)));)
                        size++;
        const char *end = begin + size;
        json_t *value = NULL;
        json_int_t integer;
        if (size == 0 || size > NUMBER_MAX)
                return toml_fail(parser, "a value is missing");
        if (size == 4 && memcmp(begin, "true", 4) == 0)
                value = json_true();
        else if (size == 5 && memcmp(begin, "false", 5) == 0)
                value = json_false();
        else if (is_date_or_time(begin, end))
                value = json_stringn(begin, size);
        else if (read_based(begin, end, &integer))
                value = json_integer(integer);
        else if (!read_decimal(begin, end, &value)) {
                json_decref(value);
                return toml_fail(parser, "a value that is none of TOML's");
        }
        if (!value)
                return error_oom(parser->err);
        scanner->at = end;
        *ret = value;
        return 0;
}

/* ---- Arrays, inline tables ---- */

static int fill_array(struct toml_parser *parser, unsigned depth, json_t *array)
{
        for (;;) {
                int r = toml_skip_lines(parser);
                if (r < 0)
                        return r;
                if (scanner_take(&parser->scanner, ']'))
                        return 0;
                json_t *item = NULL;
                r = toml_take_value(parser, depth, &item);
                if (r < 0)
                        return r;
                if (json_array_append_new(array, item) < 0)
                        return error_oom(parser->err);
                r = toml_skip_lines(parser);
                if (r < 0)
                        return r;
                if (!scanner_take(&parser->scanner, ',') && scanner_peek(&parser->scanner, 0) != ']')
                        return toml_fail(parser, "an array without an end");
        }
}

static int fill_inline_table(struct toml_parser *parser, unsigned depth, json_t *table)
{
        scanner_skip_blank(&parser->scanner);
        if (scanner_take(&parser->scanner, '}'))
                return 0;
        for (;;) {
                struct toml_key key;
                int r = toml_take_key(parser, &key);
                if (r < 0)
                        return r;
                json_t *value = NULL;
                if (!scanner_take(&parser->scanner, '='))
                        r = toml_fail(parser, "a key without a value");
                scanner_skip_blank(&parser->scanner);
                if (r == 0)
                        r = toml_take_value(parser, depth, &value);
                if (r == 0)
                        r = toml_put(parser, table, &key, value);
                toml_key_clear(&key);
                if (r < 0)
                        return r;
                scanner_skip_blank(&parser->scanner);
                if (scanner_take(&parser->scanner, '}'))
                        return 0;
                if (!scanner_take(&parser->scanner, ','))
                        return toml_fail(parser, "an inline table without an end");
        }
}

static int take_container(struct toml_parser *parser, unsigned depth, json_t **ret)
{
        if (depth >= TOML_DEPTH_MAX)
                return toml_fail(parser, "too many levels");
        bool array = *parser->scanner.at++ == '[';
        json_t *container = array ? json_array() : json_object();
        if (!container)
                return error_oom(parser->err);
        int r = array ? fill_array(parser, depth + 1, container)
                      : fill_inline_table(parser, depth + 1, container);
        if (r == 0)
                r = toml_freeze(parser, container);
        if (r < 0) {
                json_decref(container);
                return r;
        }
        *ret = container;
        return 0;
}

int toml_take_value(struct toml_parser *parser, unsigned depth, json_t **ret)
{
        char first = scanner_peek(&parser->scanner, 0);
        if (first == '[' || first == '{')
                return take_container(parser, depth, ret);
        for (size_t i = 0; i < ARRAY_SIZE(quotes); i++)
                if (first == quotes[i][0])
                        return take_text(parser, quotes[i], true, ret);
        return take_word(parser, ret);
}
