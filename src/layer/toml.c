/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/toml_internal.h"

#include <search.h>

/* What a table or array was made by, and so who may add to it. */
enum mark {
        MARK_HEADER = 1, /* [NAME]: no second header, no dotted key from elsewhere */
        MARK_DOTTED,     /* a dotted key: more of them in the same section only */
        MARK_LIST,       /* [[NAME]] */
        MARK_FROZEN,     /* written as a value */
};

struct toml_mark {
        const json_t *node;
        enum mark mark;
        unsigned section;
};

static int compare_marks(const void *a, const void *b)
{
        uintptr_t left = (uintptr_t)((const struct toml_mark *)a)->node;
        uintptr_t right = (uintptr_t)((const struct toml_mark *)b)->node;
        return left < right ? -1 : left > right;
}

static const struct toml_mark *find_mark(const struct toml_parser *parser, const json_t *node)
{
        const struct toml_mark wanted = {.node = node};
        void *const *found = tfind(&wanted, (void *const *)&parser->marks, compare_marks);
        return found ? *found : NULL;
}

/* A table that is only there because something in it has a header has no mark. */
static int set_mark(struct toml_parser *parser, const json_t *node, enum mark mark)
{
        struct toml_mark *new = malloc(sizeof *new);
        if (!new)
                return error_oom(parser->err);
        *new = (struct toml_mark){.node = node, .mark = mark, .section = parser->section};
        struct toml_mark **found = tsearch(new, &parser->marks, compare_marks);
        if (!found) {
                free(new);
                return error_oom(parser->err);
        }
        if (*found != new) {
                **found = *new;
                free(new);
        }
        return 0;
}

int toml_freeze(struct toml_parser *parser, const json_t *node)
{
        return set_mark(parser, node, MARK_FROZEN);
}

int toml_fail(const struct toml_parser *parser, const char *what)
{
        unsigned line = 1;
        for (const char *at = parser->begin; at < parser->scanner.at; at++)
                line += *at == '\n';
        return error_set(parser->err, ERROR_INPUT, 0, "it is read as TOML 1.0", "line %u: %s", line, what);
}

bool toml_take_newline(struct toml_parser *parser)
{
        return scanner_take(&parser->scanner, '\n') || scanner_take_word(&parser->scanner, "\r\n");
}

int toml_skip_comment(struct toml_parser *parser)
{
        struct scanner *scanner = &parser->scanner;
        if (!scanner_take(scanner, '#'))
                return 0;
        while (scanner->at < scanner->end && *scanner->at != '\n') {
                char c = *scanner->at;
                if (c == '\r' && scanner_peek(scanner, 1) == '\n')
                        return 0;
                if ((unsigned char)c < ' ' ? c != '\t' : c == 0x7f)
                        return toml_fail(parser, "a control character in a comment");
                scanner->at++;
        }
        return 0;
}

int toml_skip_lines(struct toml_parser *parser)
{
        do {
                scanner_skip_blank(&parser->scanner);
                int r = toml_skip_comment(parser);
                if (r < 0)
                        return r;
        } while (toml_take_newline(parser));
        return 0;
}

/* ---- Keys and values ---- */

/* jansson takes names with a length only since 2.14; a NUL in one has no meaning for anybody. */
static int check_name(const struct toml_parser *parser, const json_t *name)
{
        return strlen(json_string_value(name)) == json_string_length(name)
                   ? 0
                   : toml_fail(parser, "a key with a NUL in it");
}

static int make_below(struct toml_parser *parser, json_t *table, const char *name, json_t *node)
{
        if (!node || json_object_set_new(table, name, node) < 0)
                return error_oom(parser->err);
        return 0;
}

/* The table that the next part of a dotted key leads to. */
static int enter_dotted(struct toml_parser *parser, json_t **table, const json_t *part)
{
        const char *name = json_string_value(part);
        json_t *next = json_object_get(*table, name);
        if (!next) {
                next = json_object();
                int r = make_below(parser, *table, name, next);
                if (r < 0)
                        return r;
        } else {
                const struct toml_mark *mark = find_mark(parser, next);
                bool open = json_is_object(next) &&
                            (!mark || (mark->mark == MARK_DOTTED && mark->section == parser->section));
                if (!open)
                        return toml_fail(parser, "a key that adds to what was defined elsewhere");
        }
        *table = next;
        return set_mark(parser, next, MARK_DOTTED);
}

int toml_put(struct toml_parser *parser, json_t *table, const struct toml_key *key, json_t *value)
{
        int r = 0;
        for (size_t i = 0; i < key->count && r == 0; i++)
                r = check_name(parser, key->parts[i]);
        for (size_t i = 0; i + 1 < key->count && r == 0; i++)
                r = enter_dotted(parser, &table, key->parts[i]);
        const char *name = json_string_value(key->parts[key->count - 1]);
        if (r == 0 && json_object_get(table, name))
                r = toml_fail(parser, "a key that is there already");
        if (r < 0) {
                json_decref(value);
                return r;
        }
        return make_below(parser, table, name, value);
}

static int take_pair(struct toml_parser *parser, json_t *table)
{
        struct toml_key key;
        int r = toml_take_key(parser, &key);
        if (r < 0)
                return r;
        json_t *value = NULL;
        if (!scanner_take(&parser->scanner, '=')) {
                r = toml_fail(parser, "a key without a value");
        } else {
                scanner_skip_blank(&parser->scanner);
                r = toml_take_value(parser, 0, &value);
                if (r == 0)
                        r = toml_put(parser, table, &key, value);
        }
        toml_key_clear(&key);
        return r;
}

/* ---- Headers ---- */

/* On the way of a header: of a list of tables its last one is meant. */
static int enter_header(struct toml_parser *parser, json_t **table, const json_t *part)
{
        const char *name = json_string_value(part);
        json_t *next = json_object_get(*table, name);
        if (!next) {
                next = json_object();
                int r = make_below(parser, *table, name, next);
                if (r < 0)
                        return r;
                *table = next;
                return 0;
        }
        const struct toml_mark *mark = find_mark(parser, next);
        if (json_is_array(next) && mark && mark->mark == MARK_LIST)
                next = json_array_get(next, json_array_size(next) - 1);
        else if (!json_is_object(next) || (mark && mark->mark == MARK_FROZEN))
                return toml_fail(parser, "a header below what is no table, or is complete");
        *table = next;
        return 0;
}

static int begin_list_table(struct toml_parser *parser, json_t *above, const char *name, json_t **ret)
{
        json_t *list = json_object_get(above, name);
        int r = 0;
        if (!list) {
                list = json_array();
                r = make_below(parser, above, name, list);
                if (r == 0)
                        r = set_mark(parser, list, MARK_LIST);
        } else {
                const struct toml_mark *mark = find_mark(parser, list);
                if (!json_is_array(list) || !mark || mark->mark != MARK_LIST)
                        r = toml_fail(parser, "a list of tables by the name of something else");
        }
        json_t *table = r == 0 ? json_object() : NULL;
        if (r == 0 && (!table || json_array_append_new(list, table) < 0))
                r = error_oom(parser->err);
        if (r < 0)
                return r;
        *ret = table;
        return set_mark(parser, table, MARK_HEADER);
}

static int begin_table(struct toml_parser *parser, json_t *above, const char *name, json_t **ret)
{
        json_t *table = json_object_get(above, name);
        int r = 0;
        if (!table) {
                table = json_object();
                r = make_below(parser, above, name, table);
        } else if (!json_is_object(table) || find_mark(parser, table)) {
                r = toml_fail(parser, "a table that is there already");
        }
        if (r < 0)
                return r;
        *ret = table;
        return set_mark(parser, table, MARK_HEADER);
}

static int take_header(struct toml_parser *parser, json_t **ret_table)
{
        bool list = scanner_take_word(&parser->scanner, "[[");
        if (!list)
                parser->scanner.at++;
        parser->section++;
        struct toml_key key;
        int r = toml_take_key(parser, &key);
        if (r < 0)
                return r;
        json_t *table = parser->root;
        for (size_t i = 0; i < key.count && r == 0; i++)
                r = check_name(parser, key.parts[i]);
        for (size_t i = 0; i + 1 < key.count && r == 0; i++)
                r = enter_header(parser, &table, key.parts[i]);
        const char *name = json_string_value(key.parts[key.count - 1]);
        if (r == 0)
                r = list ? begin_list_table(parser, table, name, ret_table)
                         : begin_table(parser, table, name, ret_table);
        toml_key_clear(&key);
        if (r == 0 && !scanner_take_word(&parser->scanner, list ? "]]" : "]"))
                r = toml_fail(parser, "a header without an end");
        return r;
}

static int read_document(struct toml_parser *parser)
{
        json_t *table = parser->root;
        for (;;) {
                int r = toml_skip_lines(parser);
                if (r < 0)
                        return r;
                if (parser->scanner.at == parser->scanner.end)
                        return 0;
                r = scanner_peek(&parser->scanner, 0) == '[' ? take_header(parser, &table)
                                                             : take_pair(parser, table);
                if (r < 0)
                        return r;
                scanner_skip_blank(&parser->scanner);
                r = toml_skip_comment(parser);
                if (r < 0)
                        return r;
                if (parser->scanner.at < parser->scanner.end && !toml_take_newline(parser))
                        return toml_fail(parser, "something behind the value on its line");
        }
}

int toml_read(const char *text, size_t size, json_t **ret, struct error *err)
{
        if (size > TOML_SIZE_MAX)
                return error_set(err, ERROR_INPUT, EFBIG, NULL, "more than %u MiB", TOML_SIZE_MAX >> 20);
        struct toml_parser parser = {
            .scanner = {.at = text, .end = text + size}, .begin = text, .err = err, .root = json_object()};
        if (!parser.root)
                return error_oom(err);
        (void)scanner_take_word(&parser.scanner, "\xef\xbb\xbf");
        int r = read_document(&parser);
        tdestroy(parser.marks, free);
        if (r < 0) {
                json_decref(parser.root);
                return r;
        }
        *ret = parser.root;
        return 0;
}
