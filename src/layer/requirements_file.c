/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/requirements_file.h"

#include "layer/scanner.h"

#define SHOWN_MAX 60

static bool is_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\f' || c == '\v';
}

/* Where a comment begins: a "#" at the start or behind a blank. */
static size_t comment_start(const char *line, size_t size)
{
        for (size_t i = 0; i < size; i++)
                if (line[i] == '#' && (i == 0 || is_blank(line[i - 1])))
                        return i;
        return size;
}

static bool is_comment(const char *line, size_t size)
{
        size_t at = 0;
        while (at < size && is_blank(line[at]))
                at++;
        return at < size && line[at] == '#';
}

/* Where its options begin: at a word with a dash in front. */
static size_t options_start(const char *line, size_t size)
{
        for (size_t i = 0; i < size; i++)
                if (line[i] == '-' && (i == 0 || is_blank(line[i - 1])))
                        return i;
        return size;
}

static void trim(const char **text, size_t *size)
{
        while (*size > 0 && is_blank(**text)) {
                (*text)++;
                (*size)--;
        }
        while (*size > 0 && is_blank((*text)[*size - 1]))
                (*size)--;
}

static int refuse_option(const char *option, size_t size, struct error *err)
{
        size_t name = 0;
        while (name < size && !is_blank(option[name]) && option[name] != '=')
                name++;
        return error_set(err, ERROR_INPUT, 0,
            "a requirements file may have requirements, comments, --hash=sha256:… and --require-hashes; "
            "where packages come from is said by the policy",
            "the option %.*s can't be used here", (int)MIN(name, (size_t)SHOWN_MAX), option);
}

/* The value of "--hash=VALUE" or "--hash VALUE"; false if it is another option. */
static bool take_hash_option(struct scanner *scanner, const char **ret_value, size_t *ret_size)
{
        if (!scanner_take_word(scanner, "--hash"))
                return false;
        if (!scanner_take(scanner, '=')) {
                if (!is_blank(scanner_peek(scanner, 0)))
                        return false;
                while (is_blank(scanner_peek(scanner, 0)))
                        scanner->at++;
        }
        *ret_value = scanner->at;
        while (scanner->at < scanner->end && !is_blank(*scanner->at))
                scanner->at++;
        *ret_size = (size_t)(scanner->at - *ret_value);
        return true;
}

static int read_hashes(const char *options, size_t size, struct requirement *requirement, struct error *err)
{
        struct scanner scanner = {.at = options, .end = options + size};
        for (;;) {
                while (is_blank(scanner_peek(&scanner, 0)))
                        scanner.at++;
                if (scanner.at == scanner.end)
                        return 0;
                const char *begin = scanner.at, *value;
                size_t value_size;
                if (!take_hash_option(&scanner, &value, &value_size))
                        return refuse_option(begin, (size_t)(scanner.end - begin), err);
                static const char algorithm[] = "sha256:";
                size_t head = sizeof algorithm - 1;
                bool known = value_size > head && memcmp(value, algorithm, head) == 0;
                int r = known ? requirement_add_hash(requirement, value + head, value_size - head) : -EINVAL;
                if (r == -ENOMEM)
                        return error_oom(err);
                if (r < 0)
                        return error_set(err, ERROR_INPUT, 0,
                            "write --hash=sha256: and 64 hexadecimal digits", "the hash %.*s is no SHA-256",
                            (int)MIN(value_size, (size_t)SHOWN_MAX), value);
        }
}

static int read_line(const char *line, size_t size, struct requirement_set *set, struct error *err)
{
        size = comment_start(line, size);
        trim(&line, &size);
        if (size == 0)
                return 0;
        static const char require_hashes[] = "--require-hashes";
        if (size == sizeof require_hashes - 1 && memcmp(line, require_hashes, size) == 0) {
                set->require_hashes = true;
                return 0;
        }
        size_t options = options_start(line, size);
        if (options == 0)
                return refuse_option(line, size, err);
        const char *text = line;
        size_t text_size = options;
        trim(&text, &text_size);
        _cleanup_(requirement_clear) struct requirement requirement = {};
        int r = requirement_parse(text, text_size, &requirement, err);
        if (r < 0) {
                if (err->code != ERROR_INPUT)
                        return r;
                /* Printable here and now: it is shown beside the reason. */
                char shown[SHOWN_MAX + 1];
                size_t n = MIN(text_size, (size_t)SHOWN_MAX);
                for (size_t i = 0; i < n; i++)
                        shown[i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
                shown[n] = '\0';
                return error_wrap(err, "\"%s\"", shown);
        }
        r = read_hashes(line + options, size - options, &requirement, err);
        return r < 0 ? r : requirement_set_add(set, &requirement, err);
}

int requirements_file_read(
    const char *name, const char *text, size_t size, struct requirement_set *set, struct error *err)
{
        if (size > REQUIREMENTS_FILE_MAX)
                return error_set(err, ERROR_INPUT, EFBIG, NULL, "%s", name);
        if (memchr(text, '\0', size))
                return error_set(err, ERROR_INPUT, 0, "name a text file", "%s has a NUL in it", name);
        if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
                text += 3; /* a byte order mark */
                size -= 3;
        }
        _cleanup_(strbuf_clear) struct strbuf whole = STRBUF_INIT(REQUIREMENTS_FILE_MAX + 1);
        const char *end = text + size;
        unsigned number = 0, first = 1;
        while (text < end) {
                const char *newline = memchr(text, '\n', (size_t)(end - text));
                const char *stop = newline ? newline : end;
                size_t line_size = (size_t)(stop - text);
                if (line_size > 0 && text[line_size - 1] == '\r')
                        line_size--;
                number++;
                bool comment = is_comment(text, line_size);
                bool goes_on = !comment && line_size > 0 && text[line_size - 1] == '\\' && newline;
                int r = 0;
                if (comment && whole.size > 0)
                        r = strbuf_append_text(
                            &whole, " "); /* it ends what was continued, and is none of it */
                if (r == 0)
                        r = strbuf_append(&whole, text, goes_on ? line_size - 1 : line_size);
                if (r < 0)
                        return error_oom(err);
                text = newline ? newline + 1 : end;
                if (goes_on)
                        continue;
                r = read_line(strbuf_text(&whole), whole.size, set, err);
                if (r < 0)
                        return error_wrap(err, "%s:%u", name, first);
                whole.size = 0;
                first = number + 1;
        }
        return 0;
}
