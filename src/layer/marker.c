/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/marker.h"

#define DEPTH_MAX 16U

static const char *const variables[] = {"python_version", "python_full_version", "os_name", "sys_platform",
    "platform_release", "platform_system", "platform_version", "platform_machine",
    "platform_python_implementation", "implementation_name", "implementation_version", "extra"};

/* Longer ones first. */
static const char *const operators[] = {"===", "~=", "==", "!=", "<=", ">=", "<", ">"};

struct parser {
        struct scanner *scanner;
        struct strbuf *out;
        struct error *err;
};

static int fail(const struct parser *parser, const char *what)
{
        return error_set(parser->err, ERROR_INPUT, 0,
            "markers compare names like python_version or sys_platform with quoted text (PEP 508)",
            "its marker can't be read: %s", what);
}

static int put(const struct parser *parser, const char *text, size_t size)
{
        int r = strbuf_append_text(parser->out, " ");
        if (r == 0)
                r = strbuf_append(parser->out, text, size);
        if (r == -ENOMEM)
                return error_oom(parser->err);
        return r < 0 ? fail(parser, "it is too long") : 0;
}

/* A word of letters and underscores; its size, 0 if there is none. */
static size_t word_here(const struct scanner *scanner)
{
        size_t size = 0;
        while (is_ascii_alnum(scanner_peek(scanner, size)) || scanner_peek(scanner, size) == '_')
                size++;
        return size;
}

static bool take_keyword(struct scanner *scanner, const char *keyword)
{
        scanner_skip_blank(scanner);
        size_t size = strlen(keyword);
        if (word_here(scanner) != size || memcmp(scanner->at, keyword, size) != 0)
                return false;
        scanner->at += size;
        return true;
}

static int parse_text(struct parser *parser)
{
        struct scanner *scanner = parser->scanner;
        char quote = *scanner->at++;
        const char *begin = scanner->at;
        while (scanner->at < scanner->end && *scanner->at != quote) {
                char c = *scanner->at++;
                /* No "$" and "\\": pip would see a variable or a line's end in them. */
                if (c < ' ' || c > '~' || c == '\\' || c == '$' || c == '#' || c == '"' || c == '\'')
                        return fail(parser, "a character that its quoted text may not have");
        }
        const char *end = scanner->at;
        if (!scanner_take(scanner, quote))
                return fail(parser, "quoted text without an end");
        int r = put(parser, "\"", 1);
        if (r == 0 && (strbuf_append(parser->out, begin, (size_t)(end - begin)) < 0 ||
                          strbuf_append_text(parser->out, "\"") < 0))
                r = fail(parser, "it is too long");
        return r;
}

static int parse_operand(struct parser *parser)
{
        struct scanner *scanner = parser->scanner;
        scanner_skip_blank(scanner);
        char first = scanner_peek(scanner, 0);
        if (first == '"' || first == '\'')
                return parse_text(parser);
        size_t size = word_here(scanner);
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
                if (strlen(variables[i]) != size || memcmp(scanner->at, variables[i], size) != 0)
                        continue;
                scanner->at += size;
                return put(parser, variables[i], size);
        }
        return fail(parser, size > 0 ? "a name that it does not know" : "a name or quoted text is missing");
}

static int parse_operator(struct parser *parser)
{
        if (take_keyword(parser->scanner, "in"))
                return put(parser, "in", 2);
        if (take_keyword(parser->scanner, "not"))
                return take_keyword(parser->scanner, "in") ? put(parser, "not in", 6)
                                                           : fail(parser, "\"not\" without \"in\"");
        for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
                if (scanner_take_word(parser->scanner, operators[i]))
                        return put(parser, operators[i], strlen(operators[i]));
        return fail(parser, "a comparison is missing");
}

static int parse_alternatives(struct parser *parser, unsigned depth);

static int parse_comparison(struct parser *parser, unsigned depth)
{
        scanner_skip_blank(parser->scanner);
        if (scanner_take(parser->scanner, '(')) {
                if (depth >= DEPTH_MAX)
                        return fail(parser, "too many parentheses");
                int r = put(parser, "(", 1);
                if (r == 0)
                        r = parse_alternatives(parser, depth + 1);
                if (r < 0)
                        return r;
                scanner_skip_blank(parser->scanner);
                return scanner_take(parser->scanner, ')') ? put(parser, ")", 1)
                                                          : fail(parser, "a parenthesis without an end");
        }
        int r = parse_operand(parser);
        if (r == 0)
                r = parse_operator(parser);
        return r == 0 ? parse_operand(parser) : r;
}

/* "and" binds tighter than "or", which changes nothing here: both are lists. */
static int parse_alternatives(struct parser *parser, unsigned depth)
{
        for (;;) {
                int r = parse_comparison(parser, depth);
                if (r < 0)
                        return r;
                if (take_keyword(parser->scanner, "and"))
                        r = put(parser, "and", 3);
                else if (take_keyword(parser->scanner, "or"))
                        r = put(parser, "or", 2);
                else
                        return 0;
                if (r < 0)
                        return r;
        }
}

int marker_parse(struct scanner *scanner, struct strbuf *out, struct error *err)
{
        struct parser parser = {.scanner = scanner, .out = out, .err = err};
        int r = parse_alternatives(&parser, 0);
        if (r < 0)
                return r;
        scanner_skip_blank(scanner);
        return scanner->at == scanner->end ? 0 : fail(&parser, "something follows it");
}
