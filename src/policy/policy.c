/* SPDX-License-Identifier: Apache-2.0 */
/* A policy from its text to a checked object. */
#include "policy/builtin.h"
#include "policy/values.h"
#include "util/sha256.h"

#include <stdarg.h>

static const struct {
        const char *name;
        enum level_kind kind;
} built_in_levels[] = {
    {"trusted", LEVEL_PLAIN},
    {"untrusted", LEVEL_UNTRUSTED},
    {"unknown", LEVEL_UNKNOWN},
};

int policy_fail(const struct policy *policy, uint32_t line, uint32_t column, const char *hint,
    struct error *err, const char *format, ...)
{
        _cleanup_(freep) char *what = NULL;
        va_list args;
        va_start(args, format);
        int n = vasprintf(&what, format, args);
        va_end(args);
        if (n < 0) {
                what = NULL;
                return error_oom(err);
        }
        return error_set(err, ERROR_POLICY, 0, hint, "%s:%u:%u: %s", policy->path, line, column, what);
}

struct policy_section *policy_section_free(struct policy_section *section)
{
        for (size_t i = 0; section && i < KEY_COUNT_; i++) {
                if (value_types[policy_keys[i].type].form == FORM_SCALAR)
                        free(section->values[i].text);
                else
                        strv_free(section->values[i].items);
        }
        free(section);
        return NULL;
}

struct policy *policy_free(struct policy *policy)
{
        if (!policy)
                return NULL;
        policy_section_free(policy->top);
        for (size_t i = 0; i < policy->level_count; i++)
                policy_section_free(policy->levels[i].section);
        for (size_t i = 0; i < policy->entry_count; i++)
                policy_section_free(policy->entries[i]);
        policy_section_free(policy->fallback);
        free(policy->path);
        free(policy);
        return NULL;
}

static void policy_freep(struct policy **policy)
{
        policy_free(*policy);
}

/* Lists stand in the table with spaces between their items. */
static int read_fallback(const struct key *key, const char *text, struct policy_value *value)
{
        if (value_types[key->type].form == FORM_SCALAR)
                return value_read(key, text, value);
        value->set = true;
        int r = 0;
        while (r == 0 && *text != '\0') {
                char item[64];
                size_t size = strcspn(text, " ");
                (void)snprintf(item, sizeof item, "%.*s", (int)size, text);
                r = value_read(key, item, value);
                text += size;
                text += *text == ' ';
        }
        return r;
}

static int read_fallbacks(struct policy *policy)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < KEY_COUNT_; i++) {
                const struct key *key = &policy_keys[i];
                if (key->fallback && value_types[key->type].form != FORM_OTHER)
                        r = read_fallback(key, key->fallback, &policy->fallback->values[i]);
        }
        /* Only numbers differ by level: nothing in these to be freed. */
        for (size_t i = 0; r == 0 && i <= KEY_MAX_CONCURRENT; i++) {
                const struct key *key = &policy_keys[i];
                if (!key->fallback_untrusted)
                        continue;
                r = read_fallback(key, key->fallback_untrusted, &policy->level_fallback[LEVEL_UNTRUSTED][i]);
                if (r == 0)
                        r = read_fallback(
                            key, key->fallback_unknown, &policy->level_fallback[LEVEL_UNKNOWN][i]);
        }
        return r;
}

static int policy_new(const char *name, struct policy **ret, struct error *err)
{
        _cleanup_(policy_freep) struct policy *policy = calloc(1, sizeof *policy);
        if (!policy)
                return error_oom(err);
        policy->path = strdup(name);
        policy->top = calloc(1, sizeof *policy->top);
        if (!policy->path || !policy->top)
                return error_oom(err);
        /* The path goes into messages: a file name must not draw on a terminal. */
        for (char *at = policy->path; *at != '\0'; at++)
                if ((unsigned char)*at < 0x20 || *at == 0x7f)
                        *at = '?';
        policy->fallback = calloc(1, sizeof *policy->fallback);
        int r = policy->fallback ? read_fallbacks(policy) : -ENOMEM;
        if (r == -ENOMEM)
                return error_oom(err);
        if (r < 0)
                return error_set(err, ERROR_INTERNAL, 0, NULL, "a built-in value of the key table is bad");
        for (size_t i = 0; i < ARRAY_SIZE(built_in_levels); i++) {
                struct policy_level *level = &policy->levels[policy->level_count++];
                (void)snprintf(level->name, sizeof level->name, "%s", built_in_levels[i].name);
                level->kind = built_in_levels[i].kind;
        }
        *ret = TAKE_PTR(policy);
        return 0;
}

static int parse(const char *name, const char *text, size_t size, struct policy **ret, struct error *err)
{
        _cleanup_(policy_freep) struct policy *policy = NULL;
        int r = policy_new(name, &policy, err);
        if (r < 0)
                return r;
        r = document_read(policy, text, size, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < policy->level_count; i++)
                policy->level_names[i] = policy->levels[i].name;
        r = policy_check(policy, err);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(policy);
        return 0;
}

int policy_parse(const char *name, const char *text, size_t size, struct policy **ret, struct error *err)
{
        int r = parse(name, text, size, ret, err);
        if (r == 0)
                sha256_hex(text, size, (*ret)->sha256);
        return r;
}

int policy_load(const char *path, struct policy **ret, struct error *err)
{
        _cleanup_(freep) char *found = NULL;
        _cleanup_(freep) char *text = NULL;
        size_t size = 0;
        int r = policy_locate(path, &found, &text, &size, err);
        if (r < 0)
                return r;
        if (text)
                return policy_parse(found, text, size, ret, err);
        r = parse("built-in", policy_builtin_text, policy_builtin_size, ret, err);
        if (r == 0)
                memcpy((*ret)->sha256, policy_builtin_sha256, sizeof(*ret)->sha256);
        return r;
}

const char *policy_path(const struct policy *policy)
{
        return policy->path;
}

const char *policy_sha256(const struct policy *policy)
{
        return policy->sha256;
}

const char *const *policy_trust_levels(const struct policy *policy)
{
        return policy->level_names;
}
