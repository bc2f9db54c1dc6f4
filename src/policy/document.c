/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the YAML of a policy, event by event, into sections of values. The key table says what may stand
 * where, so nothing nests deeper than the table does, and the first thing out of place ends the reading.
 */
#include "policy/values.h"

#include <yaml.h>

struct document {
        yaml_parser_t parser;
        yaml_event_t event; /* the current one */
        struct policy *policy;
        struct error *err;
};

static void document_clear(struct document *doc)
{
        yaml_event_delete(&doc->event);
        yaml_parser_delete(&doc->parser);
}

#define LINE(doc) ((uint32_t)(doc)->event.start_mark.line + 1)
#define COLUMN(doc) ((uint32_t)(doc)->event.start_mark.column + 1)

/* Fails at the current event. */
#define fail(doc, hint, ...)                                                                                \
        policy_fail((doc)->policy, LINE(doc), COLUMN(doc), hint, (doc)->err, __VA_ARGS__)

static const char *scalar_text(const struct document *doc)
{
        return (const char *)doc->event.data.scalar.value;
}

static bool is_plain(const struct document *doc)
{
        return doc->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* Written as nothing, "~" or "null": YAML's way to say that there is no value. */
static bool is_null(const struct document *doc)
{
        const char *text = scalar_text(doc);
        return is_plain(doc) && (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

/* What the current event is, for messages. */
static const char *describe(const struct document *doc, char buffer[QUOTED_MAX + 16])
{
        char text[QUOTED_MAX];
        switch (doc->event.type) {
        case YAML_MAPPING_START_EVENT:
                return "a mapping";
        case YAML_SEQUENCE_START_EVENT:
                return "a list";
        case YAML_SCALAR_EVENT:
                if (is_null(doc))
                        return "no value";
                (void)snprintf(buffer, QUOTED_MAX + 16, "%s%s", is_plain(doc) ? "" : "the text ",
                    quoted(scalar_text(doc), text));
                return buffer;
        default:
                return "the end of the file";
        }
}

static int parser_failed(struct document *doc)
{
        const yaml_parser_t *parser = &doc->parser;
        if (parser->error == YAML_MEMORY_ERROR)
                return error_oom(doc->err);
        /* The reader knows an offset only; its mark is where the scanner stood. */
        const yaml_mark_t *mark = parser->error == YAML_READER_ERROR ? &parser->mark : &parser->problem_mark;
        return policy_fail(doc->policy, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1, NULL, doc->err,
            "not valid YAML: %s%s%s", parser->problem ? parser->problem : "unknown problem",
            parser->context ? " " : "", parser->context ? parser->context : "");
}

/*
 * Control characters may come in by escapes in double quotes;
 * \n by block texts. The raw bytes were checked before.
 */
static bool has_control(const yaml_event_t *event)
{
        const unsigned char *at = event->data.scalar.value;
        const unsigned char *end = at + event->data.scalar.length;
        for (; at < end; at++)
                if (*at < 0x20 || *at == 0x7f || (*at == 0xc2 && at + 1 < end && at[1] < 0xa0) ||
                    (*at == 0xe2 && end - at > 2 && at[1] == 0x80 && at[2] >= 0xa8 && at[2] <= 0xae) ||
                    (*at == 0xe2 && end - at > 2 && at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9))
                        return true;
        return false;
}

/* Moves on to the next event, and refuses what no policy needs but can hide something from its reader. */
static int next(struct document *doc)
{
        yaml_event_delete(&doc->event);
        if (!yaml_parser_parse(&doc->parser, &doc->event))
                return parser_failed(doc);

        const yaml_char_t *anchor = NULL, *tag = NULL;
        switch (doc->event.type) {
        case YAML_ALIAS_EVENT:
                return fail(doc, "write the value out", "found an alias; expected a value");
        case YAML_SCALAR_EVENT:
                anchor = doc->event.data.scalar.anchor;
                tag = doc->event.data.scalar.tag;
                break;
        case YAML_SEQUENCE_START_EVENT:
                anchor = doc->event.data.sequence_start.anchor;
                tag = doc->event.data.sequence_start.tag;
                break;
        case YAML_MAPPING_START_EVENT:
                anchor = doc->event.data.mapping_start.anchor;
                tag = doc->event.data.mapping_start.tag;
                break;
        default:
                return 0;
        }
        if (anchor)
                return fail(
                    doc, "write the value out where it is needed", "found an anchor; expected a value");
        if (tag)
                return fail(doc, "leave the tag out", "found a tag; expected a value");
        if (doc->event.type == YAML_SCALAR_EVENT && has_control(&doc->event))
                return fail(doc, NULL, "found a control character in a text; expected printable characters");
        return 0;
}

static int expected(struct document *doc, const struct key *key)
{
        char found[QUOTED_MAX + 16], wanted[EXPECTED_MAX], path[KEY_PATH_MAX];
        const char *hint = NULL;
        struct policy_value value = {};
        const struct value_type *type = &value_types[key->type];
        /* A good number in quotes: say what is wrong with it. */
        if (doc->event.type == YAML_SCALAR_EVENT && type->plain && !is_plain(doc) &&
            type->read(key, scalar_text(doc), &value))
                hint = "leave out the quotes";
        return fail(doc, hint, "%s: found %s; expected %s", key_path(key, path), describe(doc, found),
            value_expected(key, wanted));
}

/* What value_read() did not like about the current scalar. */
static int read_failed(struct document *doc, const struct key *key, int r)
{
        char text[QUOTED_MAX], path[KEY_PATH_MAX];
        if (r == -ENOMEM)
                return error_oom(doc->err);
        if (r == -EEXIST)
                return fail(doc, "leave one of them out", "%s: found %s a second time", key_path(key, path),
                    quoted(scalar_text(doc), text));
        return expected(doc, key);
}

static int too_many(struct document *doc, const struct key *key, unsigned most)
{
        char path[KEY_PATH_MAX];
        return fail(
            doc, NULL, "%s: found more than %u of them; expected at most that", key_path(key, path), most);
}

static int read_scalar(struct document *doc, const struct key *key, struct policy_value *value)
{
        if (doc->event.type != YAML_SCALAR_EVENT || is_null(doc) ||
            (value_types[key->type].plain && !is_plain(doc)))
                return expected(doc, key);
        int r = value_read(key, scalar_text(doc), value);
        return r < 0 ? read_failed(doc, key, r) : 0;
}

static int read_list(struct document *doc, const struct key *key, struct policy_value *value)
{
        if (doc->event.type != YAML_SEQUENCE_START_EVENT)
                return expected(doc, key);
        value->set = true;
        for (unsigned count = 0;; count++) {
                int r = next(doc);
                if (r < 0)
                        return r;
                if (doc->event.type == YAML_SEQUENCE_END_EVENT)
                        return 0;
                if (count == POLICY_ITEMS_MAX)
                        return too_many(doc, key, POLICY_ITEMS_MAX);
                r = read_scalar(doc, key, value);
                if (r < 0)
                        return r;
        }
}

/* NAME: VALUE, kept as "NAME=VALUE". */
static int read_variables(struct document *doc, const struct key *key, struct policy_value *value)
{
        value->set = true;
        for (unsigned count = 0;; count++) {
                _cleanup_(strbuf_clear) struct strbuf assignment = STRBUF_INIT(POLICY_SIZE_MAX * 2);
                char text[QUOTED_MAX];
                int r = next(doc);
                if (r < 0)
                        return r;
                if (doc->event.type == YAML_MAPPING_END_EVENT)
                        return 0;
                if (count == POLICY_ITEMS_MAX)
                        return too_many(doc, key, POLICY_ITEMS_MAX);
                if (doc->event.type != YAML_SCALAR_EVENT ||
                    !environment_name_valid(scalar_text(doc), doc->event.data.scalar.length))
                        return fail(doc, NULL,
                            "env: found %s; expected the name of a variable (letters, digits, _)",
                            doc->event.type == YAML_SCALAR_EVENT ? quoted(scalar_text(doc), text)
                                                                 : "a collection");
                yaml_event_t name = doc->event;
                r = strbuf_appendf(&assignment, "%s=", scalar_text(doc));
                if (r < 0)
                        return error_oom(doc->err);
                uint32_t line = (uint32_t)name.start_mark.line + 1,
                         column = (uint32_t)name.start_mark.column + 1;
                r = next(doc);
                if (r < 0)
                        return r;
                if (doc->event.type != YAML_SCALAR_EVENT || is_null(doc))
                        return fail(doc, "write \"\" for an empty value", "env: found %s; expected a text",
                            describe(doc, (char[QUOTED_MAX + 16]){0}));
                r = strbuf_append_text(&assignment, scalar_text(doc));
                if (r == 0)
                        r = value_read(key, strbuf_text(&assignment), value);
                if (r == -EEXIST)
                        return policy_fail(doc->policy, line, column, "leave one of them out", doc->err,
                            "env: found the same variable a second time");
                if (r < 0)
                        return error_oom(doc->err);
        }
}

static int unknown_key(struct document *doc, const char *group, bool in_level)
{
        char text[QUOTED_MAX], path[KEY_PATH_MAX];
        _cleanup_(freep) char *hint = NULL;
        const char *name = scalar_text(doc);
        quoted(name, text);
        if (strcmp(name, "<<") == 0)
                return fail(doc, "write the keys out", "found a merge key; expected a key of the policy");

        const struct key *other = key_elsewhere(name);
        const char *near = key_nearest(group, name, in_level);
        int n = 0;
        if (other && *other->group)
                n = asprintf(&hint, "it belongs into a group: %s", key_path(other, path));
        else if (other)
                n = asprintf(&hint, "\"%s\" stands at top level%s only", other->name,
                    other->scope == SCOPE_LEVEL ? " and in trust levels" : "");
        else if (near)
                n = asprintf(&hint, "did you mean \"%s\"?", near);
        if (n < 0)
                hint = NULL;
        return fail(doc, hint ? hint : "docs/POLICY.md lists all keys",
            "found unknown key %s; expected a key of %s%s%s%s", text,
            *group     ? group
            : in_level ? "a trust level"
                       : "the policy",
            near && !other ? " (nearest: \"" : "", near && !other ? near : "", near && !other ? "\")" : "");
}

static int read_value(struct document *doc, const struct key *key, struct policy_section *section);

/* A mapping whose keys the table knows under `group`. The current event is its start, or a null. */
static int read_section(struct document *doc, const struct key *key, const char *group, bool in_level,
    struct policy_section *section)
{
        char found[QUOTED_MAX + 16];
        if (doc->event.type == YAML_SCALAR_EVENT && is_null(doc))
                return 0; /* all lines below it commented out */
        if (doc->event.type != YAML_MAPPING_START_EVENT)
                return fail(doc, NULL, "%s%sfound %s; expected a mapping of keys", key ? key->name : "",
                    key ? ": " : "", describe(doc, found));
        for (;;) {
                int r = next(doc);
                if (r < 0)
                        return r;
                if (doc->event.type == YAML_MAPPING_END_EVENT)
                        return 0;
                if (doc->event.type != YAML_SCALAR_EVENT)
                        return fail(doc, NULL, "found %s; expected the name of a key", describe(doc, found));
                int index = key_find(group, scalar_text(doc), in_level);
                if (index < 0)
                        return unknown_key(doc, group, in_level);
                struct policy_value *value = &section->values[index];
                if (value->line > 0)
                        return fail(doc, "leave one of them out",
                            "found key \"%s\" a second time; expected it once "
                            "(first in line %u)",
                            policy_keys[index].name, value->line);
                value->line = LINE(doc);
                value->column = COLUMN(doc);
                r = next(doc);
                if (r == 0)
                        r = read_value(doc, &policy_keys[index], section);
                if (r < 0)
                        return r;
        }
}

static int read_levels(struct document *doc, const struct key *key)
{
        struct policy *policy = doc->policy;
        char text[QUOTED_MAX + 16];
        if (doc->event.type == YAML_SCALAR_EVENT && is_null(doc))
                return 0;
        if (doc->event.type != YAML_MAPPING_START_EVENT)
                return expected(doc, key);
        for (;;) {
                int r = next(doc);
                if (r < 0)
                        return r;
                if (doc->event.type == YAML_MAPPING_END_EVENT)
                        return 0;
                if (doc->event.type != YAML_SCALAR_EVENT || !level_name_valid(scalar_text(doc)))
                        return fail(doc, NULL,
                            "trust_levels: found %s; expected the name of a level (letters, digits "
                            "and . _ -, at most %d, the first a letter or digit)",
                            describe(doc, text), POLICY_NAME_MAX);
                struct policy_level *level =
                    (struct policy_level *)policy_find_level(policy, scalar_text(doc));
                if (level && level->section)
                        return fail(doc, "leave one of them out",
                            "trust_levels: found level \"%s\" a second time", level->name);
                if (!level) {
                        if (policy->level_count == POLICY_LEVELS_MAX)
                                return too_many(doc, key, POLICY_LEVELS_MAX);
                        level = &policy->levels[policy->level_count++];
                        (void)snprintf(level->name, sizeof level->name, "%s", scalar_text(doc));
                }
                level->section = calloc(1, sizeof *level->section);
                if (!level->section)
                        return error_oom(doc->err);
                r = next(doc);
                if (r == 0)
                        r = read_section(doc, key, "", true, level->section);
                if (r < 0)
                        return r;
        }
}

static int read_entries(struct document *doc, const struct key *key)
{
        struct policy *policy = doc->policy;
        if (doc->event.type != YAML_SEQUENCE_START_EVENT)
                return expected(doc, key);
        for (;;) {
                int r = next(doc);
                if (r < 0)
                        return r;
                if (doc->event.type == YAML_SEQUENCE_END_EVENT)
                        return 0;
                if (policy->entry_count == POLICY_ENTRIES_MAX)
                        return too_many(doc, key, POLICY_ENTRIES_MAX);
                if (doc->event.type != YAML_MAPPING_START_EVENT)
                        return fail(doc, NULL,
                            "network.whitelist: found %s; expected a mapping with name and kind",
                            describe(doc, (char[QUOTED_MAX + 16]){0}));
                struct policy_section *entry = calloc(1, sizeof *entry);
                if (!entry)
                        return error_oom(doc->err);
                policy->entries[policy->entry_count++] = entry;
                uint32_t line = LINE(doc), column = COLUMN(doc);
                r = read_section(doc, key, "network.whitelist[]", false, entry);
                if (r == 0)
                        r = whitelist_check_entry(policy, entry, line, column, doc->err);
                if (r < 0)
                        return r;
        }
}

static int read_value(struct document *doc, const struct key *key, struct policy_section *section)
{
        struct policy_value *value = &section->values[key - policy_keys];
        char path[KEY_PATH_MAX];
        switch (key->type) {
        case TYPE_GROUP:
                value->set = true;
                return read_section(doc, key, key_path(key, path), false, section);
        case TYPE_LEVELS:
                value->set = true;
                return read_levels(doc, key);
        case TYPE_ENTRIES:
                value->set = true;
                return read_entries(doc, key);
        default:
                break;
        }
        switch (value_types[key->type].form) {
        case FORM_LIST:
                return read_list(doc, key, value);
        case FORM_ENV:
                if (doc->event.type == YAML_MAPPING_START_EVENT)
                        return read_variables(doc, key, value);
                return read_list(doc, key, value);
        default:
                return read_scalar(doc, key, value);
        }
}

/*
 * The bytes as they are, comments too: nothing that a terminal or an editor would show other than it is.
 * Control characters, carriage returns without a line feed, and marks that reverse the direction of text.
 */
static int check_bytes(const struct policy *policy, const char *text, size_t size, struct error *err)
{
        const unsigned char *at = (const unsigned char *)text, *end = at + size;
        uint32_t line = 1, column = 1;
        for (; at < end; at++) {
                size_t left = (size_t)(end - at);
                bool control = (*at < 0x20 && *at != '\t' && *at != '\n' && *at != '\r') || *at == 0x7f ||
                               (*at == '\r' && (left < 2 || at[1] != '\n'));
                bool hidden = (*at == 0xc2 && left > 1 && at[1] < 0xa0) ||
                              (*at == 0xe2 && left > 2 && at[1] == 0x80 && at[2] >= 0xa8 && at[2] <= 0xae) ||
                              (*at == 0xe2 && left > 2 && at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9);
                if (control || hidden)
                        return policy_fail(policy, line, column, "remove it", err,
                            "found a control character (byte 0x%02x); expected printable text", *at);
                if (*at == '\n') {
                        line++;
                        column = 1;
                } else if ((*at & 0xc0) != 0x80) {
                        column++;
                }
        }
        return 0;
}

static int read_stream(struct document *doc)
{
        int r = next(doc); /* stream start */
        if (r == 0)
                r = next(doc);
        if (r < 0)
                return r;
        if (doc->event.type == YAML_STREAM_END_EVENT)
                return fail(doc, "remove the file to use the built-in policy",
                    "found an empty file; expected a mapping of keys");
        if (doc->event.data.document_start.tag_directives.start !=
            doc->event.data.document_start.tag_directives.end)
                return fail(doc, NULL, "found a %%TAG directive; expected a mapping of keys");
        r = next(doc);
        if (r < 0)
                return r;
        if (doc->event.type == YAML_SCALAR_EVENT && is_null(doc))
                return fail(doc, "remove the file to use the built-in policy",
                    "found an empty document; expected a mapping of keys");
        r = read_section(doc, NULL, "", false, doc->policy->top);
        if (r == 0)
                r = next(doc); /* document end */
        if (r == 0)
                r = next(doc);
        if (r == 0 && doc->event.type != YAML_STREAM_END_EVENT)
                r = fail(doc, "keep one policy per file",
                    "found a second document; expected the end of the file");
        return r;
}

int document_read(struct policy *policy, const char *text, size_t size, struct error *err)
{
        if (size > POLICY_SIZE_MAX)
                return policy_fail(
                    policy, 1, 1, NULL, err, "found more than 1 MiB; expected a policy of at most that");
        int r = check_bytes(policy, text, size, err);
        if (r < 0)
                return r;
        /* A byte order mark of UTF-8 says nothing; editors leave it there. */
        if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
                text += 3;
                size -= 3;
        }
        _cleanup_(document_clear) struct document doc = {.policy = policy, .err = err};
        if (!yaml_parser_initialize(&doc.parser))
                return error_oom(err);
        yaml_parser_set_encoding(&doc.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&doc.parser, (const unsigned char *)text, size);
        return read_stream(&doc);
}
