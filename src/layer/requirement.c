/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/requirement.h"

#include "layer/marker.h"

#include <strings.h>

#define HINT "write NAME, NAME==VERSION or the like (PEP 508); packages come from the policy's indexes only"

/* Longer ones first. */
static const char *const operators[] = {"===", "~=", "==", "!=", "<=", ">=", "<", ">"};

void requirement_clear(struct requirement *requirement)
{
        free(requirement->name);
        free(requirement->text);
        free(requirement->hashes);
        *requirement = (struct requirement){};
}

void requirement_set_clear(struct requirement_set *set)
{
        for (size_t i = 0; i < set->count; i++)
                requirement_clear(&set->items[i]);
        free(set->items);
        free(set->requires_python);
        *set = (struct requirement_set){};
}

void requirement_normalize_name(const char *name, size_t size, char *ret)
{
        size_t n = 0;
        for (size_t i = 0; i < size; i++) {
                char c = name[i];
                bool dash = c == '-' || c == '_' || c == '.';
                if (dash && n > 0 && ret[n - 1] == '-')
                        continue;
                ret[n++] = dash ? '-' : (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        }
        ret[n] = '\0';
}

static int fail(struct error *err, const char *what)
{
        return error_set(err, ERROR_INPUT, 0, HINT, "%s", what);
}

static int append(struct strbuf *out, const char *text, size_t size, struct error *err)
{
        int r = strbuf_append(out, text, size);
        if (r == -ENOMEM)
                return error_oom(err);
        return r < 0 ? fail(err, "it is too long") : 0;
}

/* A name of PEP 508, in its normal form. */
static int take_name(struct scanner *scanner, char ret[REQUIREMENT_NAME_MAX + 1], struct error *err)
{
        size_t size = 0;
        for (;; size++) {
                char c = scanner_peek(scanner, size);
                if (!is_ascii_alnum(c) && c != '-' && c != '_' && c != '.')
                        break;
        }
        if (size == 0 || !is_ascii_alnum(scanner->at[0]) || !is_ascii_alnum(scanner->at[size - 1]))
                return fail(err, "it does not begin with the name of a package");
        if (size > REQUIREMENT_NAME_MAX)
                return fail(err, "the name of the package is too long");
        requirement_normalize_name(scanner->at, size, ret);
        scanner->at += size;
        return 0;
}

/* A file name is a name by the grammar, and pip takes it for a path. */
static bool looks_like_archive(const char *begin, const char *end)
{
        static const char *const suffixes[] = {".whl", ".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tbz",
            ".tar.xz", ".txz", ".tlz", ".egg"};
        for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
                size_t size = strlen(suffixes[i]);
                if ((size_t)(end - begin) > size && strncasecmp(end - size, suffixes[i], size) == 0)
                        return true;
        }
        return false;
}

static int compare_names(const void *a, const void *b)
{
        const char(*left)[REQUIREMENT_NAME_MAX + 1] = a, (*right)[REQUIREMENT_NAME_MAX + 1] = b;
        return strcmp(*left, *right);
}

#define EXTRAS_MAX 32U

static int take_extras(struct scanner *scanner, struct strbuf *out, struct error *err)
{
        char extras[EXTRAS_MAX][REQUIREMENT_NAME_MAX + 1];
        size_t count = 0;
        scanner_skip_blank(scanner);
        if (!scanner_take(scanner, '['))
                return 0;
        scanner_skip_blank(scanner);
        while (!scanner_take(scanner, ']')) {
                if (count > 0 && !scanner_take(scanner, ','))
                        return fail(err, "its extras are not a list of names in brackets");
                scanner_skip_blank(scanner);
                if (count == EXTRAS_MAX)
                        return fail(err, "it has too many extras");
                int r = take_name(scanner, extras[count], err);
                if (r < 0)
                        return fail(err, "its extras are not a list of names in brackets");
                count++;
                scanner_skip_blank(scanner);
        }
        qsort(extras, count, sizeof extras[0], compare_names);
        int r = 0;
        for (size_t i = 0; i < count && r == 0; i++) {
                if (i > 0 && strcmp(extras[i - 1], extras[i]) == 0)
                        continue;
                r = append(out, i > 0 ? "," : "[", 1, err);
                if (r == 0)
                        r = append(out, extras[i], strlen(extras[i]), err);
        }
        return r == 0 && count > 0 ? append(out, "]", 1, err) : r;
}

static bool is_version_character(char c)
{
        return is_ascii_alnum(c) || (c != '\0' && strchr(".*+!-_", c));
}

/* One "OPERATOR VERSION". */
static int take_version(struct scanner *scanner, struct strbuf *out, struct error *err)
{
        const char *operator= NULL;
        scanner_skip_blank(scanner);
        for (size_t i = 0; i < ARRAY_SIZE(operators) && !operator; i++)
                if (scanner_take_word(scanner, operators[i]))
                        operator= operators[i];
        if (!operator)
                return fail(err, "behind the name there is neither a version nor a marker");
        scanner_skip_blank(scanner);
        size_t size = 0;
        while (is_version_character(scanner_peek(scanner, size)))
                size++;
        if (size == 0 || !is_ascii_alnum(scanner->at[0]))
                return fail(err, "a comparison without a version");
        int r = append(out, operator, strlen(operator), err);
        if (r == 0)
                r = append(out, scanner->at, size, err);
        scanner->at += size;
        return r;
}

static int take_versions(struct scanner *scanner, struct strbuf *out, struct error *err)
{
        scanner_skip_blank(scanner);
        bool parentheses = scanner_take(scanner, '(');
        scanner_skip_blank(scanner);
        if (!parentheses && (scanner->at == scanner->end || *scanner->at == ';'))
                return 0;
        for (;;) {
                int r = take_version(scanner, out, err);
                if (r < 0)
                        return r;
                scanner_skip_blank(scanner);
                if (!scanner_take(scanner, ','))
                        break;
                r = append(out, ",", 1, err);
                if (r < 0)
                        return r;
        }
        return parentheses && !scanner_take(scanner, ')') ? fail(err, "a parenthesis without an end") : 0;
}

static int parse(const char *text, size_t size, struct requirement *requirement, struct error *err)
{
        _cleanup_(strbuf_clear) struct strbuf out = STRBUF_INIT(REQUIREMENT_SIZE_MAX);
        char name[REQUIREMENT_NAME_MAX + 1];
        struct scanner scanner = {.at = text, .end = text + size};
        scanner_skip_blank(&scanner);
        const char *begin = scanner.at;
        int r = take_name(&scanner, name, err);
        if (r < 0)
                return r;
        if (looks_like_archive(begin, scanner.at))
                return fail(err, "a file can't be required");
        r = append(&out, name, strlen(name), err);
        if (r == 0)
                r = take_extras(&scanner, &out, err);
        if (r < 0)
                return r;
        scanner_skip_blank(&scanner);
        if (scanner_peek(&scanner, 0) == '@')
                return fail(err, "a URL can't be required");
        r = take_versions(&scanner, &out, err);
        if (r < 0)
                return r;
        scanner_skip_blank(&scanner);
        if (scanner_take(&scanner, ';')) {
                r = append(&out, " ;", 2, err);
                if (r == 0)
                        r = marker_parse(&scanner, &out, err);
                if (r < 0)
                        return r;
        }
        if (scanner.at != scanner.end)
                return fail(err, "something that can't be read follows the version");
        requirement->name = strdup(name);
        requirement->text = strbuf_take(&out);
        return requirement->name && requirement->text ? 0 : error_oom(err);
}

int requirement_parse(const char *text, size_t size, struct requirement *ret, struct error *err)
{
        _cleanup_(requirement_clear) struct requirement requirement = {};
        int r = parse(text, size, &requirement, err);
        if (r < 0)
                return r;
        *ret = requirement;
        requirement = (struct requirement){};
        return 0;
}

int requirement_add_hash(struct requirement *requirement, const char *hex, size_t size)
{
        if (size != REQUIREMENT_HASH_SIZE - 1)
                return -EINVAL;
        char lower[REQUIREMENT_HASH_SIZE];
        for (size_t i = 0; i < size; i++) {
                char c = hex[i];
                if (!is_ascii_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F'))
                        return -EINVAL;
                lower[i] = (char)(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
        }
        lower[size] = '\0';
        for (size_t i = 0; i < requirement->hash_count; i++)
                if (strcmp(requirement->hashes[i], lower) == 0)
                        return 0;
        if (requirement->hash_count >= REQUIREMENT_HASHES_MAX)
                return -E2BIG;
        if ((requirement->hash_count & (requirement->hash_count - 1)) == 0) {
                size_t room = requirement->hash_count > 0 ? 2 * requirement->hash_count : 1;
                void *bigger = reallocarray(requirement->hashes, room, sizeof requirement->hashes[0]);
                if (!bigger)
                        return -ENOMEM;
                requirement->hashes = bigger;
        }
        memcpy(requirement->hashes[requirement->hash_count++], lower, sizeof lower);
        return 0;
}

int requirement_set_add(struct requirement_set *set, struct requirement *requirement, struct error *err)
{
        _cleanup_(requirement_clear) struct requirement taken = *requirement;
        *requirement = (struct requirement){};
        if (set->count >= REQUIREMENTS_MAX)
                return error_set(
                    err, ERROR_INPUT, E2BIG, NULL, "more than %u requirements", REQUIREMENTS_MAX);
        if (set->hash_count + taken.hash_count > REQUIREMENT_HASHES_MAX)
                return error_set(
                    err, ERROR_INPUT, E2BIG, NULL, "more than %u hashes", REQUIREMENT_HASHES_MAX);
        if ((set->count & (set->count - 1)) == 0) {
                size_t room = set->count > 0 ? 2 * set->count : 1;
                struct requirement *bigger = reallocarray(set->items, room, sizeof *bigger);
                if (!bigger)
                        return error_oom(err);
                set->items = bigger;
        }
        set->hash_count += taken.hash_count;
        set->items[set->count++] = taken;
        taken = (struct requirement){};
        return 0;
}

int requirement_set_require_python(
    struct requirement_set *set, const char *versions, size_t size, struct error *err)
{
        _cleanup_(freep) char *text = NULL;
        _cleanup_(requirement_clear) struct requirement requirement = {};
        if (asprintf(&text, "python %.*s", (int)MIN(size, (size_t)REQUIREMENT_SIZE_MAX), versions) < 0) {
                text = NULL;
                return error_oom(err);
        }
        int r = requirement_parse(text, strlen(text), &requirement, err);
        const char *parsed = r == 0 ? requirement.text + strlen("python") : "";
        if (r == -ENOMEM)
                return r;
        if (r < 0 || strpbrk(parsed, "[;") || memchr(versions, '\0', size))
                return error_set(err, ERROR_INPUT, 0, "write it like \">=3.11\"",
                    "requires-python does not say which versions of Python");
        if (parsed[0] == '\0')
                return 0; /* any */
        char *joined;
        const char *before = set->requires_python;
        if (asprintf(&joined, "%s%s%s", before ? before : "", before ? "," : "", parsed) < 0)
                return error_oom(err);
        free(set->requires_python);
        set->requires_python = joined;
        return 0;
}

int requirement_set_settle(struct requirement_set *set, struct error *err)
{
        if (set->hash_count == 0 && !set->require_hashes)
                return 0;
        for (size_t i = 0; i < set->count; i++)
                if (set->items[i].hash_count == 0)
                        return error_set(err, ERROR_INPUT, 0,
                            "give it with --hash=sha256:… in a requirements file, as all others",
                            "the requirement \"%s\" has no hash, and only what has one may be fetched",
                            set->items[i].text);
        set->require_hashes = set->count > 0;
        return 0;
}

static int compare_items(const void *a, const void *b)
{
        const struct requirement *const *left = a, *const *right = b;
        return strcmp((*left)->text, (*right)->text);
}

static int compare_hashes(const void *a, const void *b)
{
        return memcmp(a, b, REQUIREMENT_HASH_SIZE);
}

/* Of equal requirements the hashes are united, as pip would want them: it takes a requirement once only. */
static int format_equal(const struct requirement *const *items, size_t count, struct strbuf *out)
{
        size_t total = 0;
        for (size_t i = 0; i < count; i++)
                total += items[i]->hash_count;
        _cleanup_(freep) char(*hashes)[REQUIREMENT_HASH_SIZE] =
            calloc(MAX(total, (size_t)1), sizeof *hashes);
        if (!hashes)
                return -ENOMEM;
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
                if (items[i]->hash_count > 0)
                        memcpy(hashes[n], items[i]->hashes, items[i]->hash_count * sizeof *hashes);
                n += items[i]->hash_count;
        }
        qsort(hashes, total, sizeof *hashes, compare_hashes);
        int r = strbuf_append_text(out, items[0]->text);
        for (size_t i = 0; r == 0 && i < total; i++)
                if (i == 0 || strcmp(hashes[i - 1], hashes[i]) != 0)
                        r = strbuf_appendf(out, " --hash=sha256:%s", hashes[i]);
        return r == 0 ? strbuf_append_text(out, "\n") : r;
}

int requirement_set_format(const struct requirement_set *set, struct strbuf *out)
{
        _cleanup_(freep) const struct requirement **sorted =
            calloc(MAX(set->count, (size_t)1), sizeof(void *));
        if (!sorted)
                return -ENOMEM;
        for (size_t i = 0; i < set->count; i++)
                sorted[i] = &set->items[i];
        qsort(sorted, set->count, sizeof(void *), compare_items);
        for (size_t i = 0; i < set->count;) {
                size_t same = 1;
                while (i + same < set->count && strcmp(sorted[i]->text, sorted[i + same]->text) == 0)
                        same++;
                int r = format_equal(sorted + i, same, out);
                if (r < 0)
                        return r;
                i += same;
        }
        return 0;
}
