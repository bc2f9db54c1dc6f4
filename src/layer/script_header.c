/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/script_header.h"

#include "layer/scanner.h"
#include "layer/toml.h"

#define HEADER_MAX (1U << 20)

struct line {
        const char *text;
        size_t size; /* without its end */
};

/* The next line, or false at the end of the text. */
static bool next_line(struct scanner *scanner, struct line *ret)
{
        if (scanner->at == scanner->end)
                return false;
        const char *newline = memchr(scanner->at, '\n', (size_t)(scanner->end - scanner->at));
        const char *stop = newline ? newline : scanner->end;
        *ret = (struct line){.text = scanner->at, .size = (size_t)(stop - scanner->at)};
        if (ret->size > 0 && ret->text[ret->size - 1] == '\r')
                ret->size--;
        scanner->at = newline ? newline + 1 : scanner->end;
        return true;
}

static bool line_is(const struct line *line, const char *text)
{
        return line->size == strlen(text) && memcmp(line->text, text, line->size) == 0;
}

static const char opening[] = "# /// ";

/* The type in "# /// TYPE": its size, 0 if the line is no such. */
static size_t block_type(const struct line *line, const char **ret)
{
        size_t head = sizeof opening - 1;
        if (line->size <= head || memcmp(line->text, opening, head) != 0)
                return 0;
        for (size_t i = head; i < line->size; i++)
                if (!is_ascii_alnum(line->text[i]) && line->text[i] != '-')
                        return 0;
        *ret = line->text + head;
        return line->size - head;
}

/* "#" or "# ANYTHING" */
static bool is_content(const struct line *line)
{
        return line->size > 0 && line->text[0] == '#' && (line->size == 1 || line->text[1] == ' ');
}

/*
 * Behind an opening line: the content ends at the last closing line of the comment, with one line at least
 * before it. Returns where that closing line begins, and moves the scanner behind it; NULL if it is no
 * block.
 */
static const char *find_end(struct scanner *scanner)
{
        const char *end = NULL;
        struct scanner ahead = *scanner, behind = *scanner;
        struct line line;
        bool first = true;
        while (next_line(&ahead, &line) && is_content(&line)) {
                if (!first && line_is(&line, "# ///")) {
                        end = line.text;
                        behind = ahead;
                }
                first = false;
        }
        if (end)
                *scanner = behind;
        return end;
}

static int copy_content(const char *begin, const char *end, struct strbuf *out)
{
        struct scanner scanner = {.at = begin, .end = end};
        struct line line;
        while (next_line(&scanner, &line)) {
                size_t skip = MIN(line.size, (size_t)2);
                int r = strbuf_append(out, line.text + skip, line.size - skip);
                if (r == 0)
                        r = strbuf_append_text(out, "\n");
                if (r < 0)
                        return r;
        }
        return 0;
}

int script_header_find(const char *text, size_t size, struct strbuf *ret)
{
        static const char script[] = "script";
        /* Nearly every program stops here. */
        if (size == 0 || !memmem(text, size, "# /// script", 12))
                return 0;
        struct scanner scanner = {.at = text, .end = text + size};
        struct line line;
        int found = 0;
        while (next_line(&scanner, &line)) {
                const char *type;
                size_t type_size = block_type(&line, &type);
                const char *begin = scanner.at;
                const char *end = type_size > 0 ? find_end(&scanner) : NULL;
                if (!end || type_size != sizeof script - 1 || memcmp(type, script, type_size) != 0)
                        continue;
                if (found++)
                        return -EEXIST;
                int r = copy_content(begin, end, ret);
                if (r < 0)
                        return r;
        }
        return found;
}

static int add_dependency(const char *text, size_t size, struct requirement_set *set, struct error *err)
{
        _cleanup_(requirement_clear) struct requirement requirement = {};
        int r = requirement_parse(text, size, &requirement, err);
        return r < 0 ? error_wrap(err, "a dependency") : requirement_set_add(set, &requirement, err);
}

static int take_header(const json_t *header, struct requirement_set *set, struct error *err)
{
        static const char hint[] = "see PEP 723: dependencies is a list of texts, requires-python a text";
        const json_t *dependencies = json_object_get(header, "dependencies");
        const json_t *python = json_object_get(header, "requires-python");
        if (dependencies && !json_is_array(dependencies))
                return error_set(err, ERROR_INPUT, 0, hint, "dependencies is no list");
        for (size_t i = 0; i < json_array_size(dependencies); i++) {
                const json_t *item = json_array_get(dependencies, i);
                if (!json_is_string(item))
                        return error_set(err, ERROR_INPUT, 0, hint, "a dependency is no text");
                int r = add_dependency(json_string_value(item), json_string_length(item), set, err);
                if (r < 0)
                        return r;
        }
        if (!python)
                return 0;
        if (!json_is_string(python))
                return error_set(err, ERROR_INPUT, 0, hint, "requires-python is no text");
        return requirement_set_require_python(
            set, json_string_value(python), json_string_length(python), err);
}

int script_header_read(
    const char *name, const char *text, size_t size, struct requirement_set *set, struct error *err)
{
        _cleanup_(strbuf_clear) struct strbuf toml = STRBUF_INIT(HEADER_MAX);
        int r = script_header_find(text, size, &toml);
        if (r == 0)
                return 0;
        if (r == -ENOMEM)
                return error_oom(err);
        if (r < 0)
                return error_set(err, ERROR_INPUT, 0, "a program has one \"# /// script\" at most (PEP 723)",
                    r == -EEXIST ? "%s: two script headers" : "%s: a script header that is too long", name);
        json_t *header;
        r = toml_read(strbuf_text(&toml), toml.size, &header, err);
        if (r == 0) {
                r = take_header(header, set, err);
                json_decref(header);
        }
        return r < 0 ? error_wrap(err, "%s: its script header", name) : 0;
}
