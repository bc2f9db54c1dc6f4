/* SPDX-License-Identifier: Apache-2.0 */
/* `policy show`: what a level resolves to, as YAML, each value with the place it comes from. */
#include "policy/values.h"

struct show {
        const struct policy *policy;
        const struct policy_level *level;
        struct host_capacity host;
        struct container_spec spec; /* of a request that asks for nothing */
        struct effective limits[KEY_MAX_CONCURRENT + 1];
        struct strbuf buf;
};

static void show_clear(struct show *show)
{
        container_spec_clear(&show->spec);
        strbuf_clear(&show->buf);
}

/* The number that holds in the end. */
static double final_number(const struct show *show, enum policy_key key)
{
        const struct limits *limits = &show->spec.limits;
        const double numbers[KEY_LIMITS_END_ + 1] = {
            [KEY_CPU_COUNT] = limits->cpu_count,
            [KEY_MEM_LIMIT] = (double)limits->mem_limit,
            [KEY_TIMEOUT] = limits->timeout,
            [KEY_CPU_TIME] = limits->cpu_time,
            [KEY_PIDS_LIMIT] = (double)limits->pids_limit,
            [KEY_DISK_LIMIT] = (double)limits->disk_limit,
            [KEY_INODE_LIMIT] = (double)limits->inode_limit,
            [KEY_OUTPUT_LIMIT] = (double)limits->output_limit,
            [KEY_OPEN_FILES] = (double)limits->open_files,
            [KEY_MAX_CONCURRENT] = (double)show->spec.level_concurrency,
        };
        return numbers[key];
}

/* Appends the comment and ends the line, which began at `start`. */
static int end_line(struct show *show, size_t start, enum origin origin, const struct policy_value *value,
    const char *remark)
{
        size_t width = show->buf.size - start;
        int r = strbuf_appendf(&show->buf, "%*s# ", (int)(width < 38 ? 38 - width : 1), "");
        if (r < 0)
                return r;
        if (origin == ORIGIN_TRUSTED)
                r = strbuf_append_text(&show->buf, "not above trusted");
        else if (origin == ORIGIN_DERIVED)
                r = strbuf_append_text(&show->buf, "derived");
        else if (value->line == 0)
                r = strbuf_append_text(&show->buf, "default");
        else if (origin == ORIGIN_LEVEL)
                r = strbuf_appendf(&show->buf, "trust_levels.%s, line %u", show->level->name, value->line);
        else
                r = strbuf_appendf(&show->buf, "line %u", value->line);
        if (r == 0 && value->relative)
                r = strbuf_appendf(&show->buf, ": %.15g%% of this host", value->number * 100);
        if (r == 0 && remark)
                r = strbuf_appendf(&show->buf, "; %s", remark);
        return r < 0 ? r : strbuf_append_text(&show->buf, "\n");
}

static int show_limit(struct show *show, enum policy_key key)
{
        const struct key *entry = &policy_keys[key];
        const struct effective *limit = &show->limits[key];
        struct policy_value plain = {.number = final_number(show, key)};
        size_t start = show->buf.size;
        int r = strbuf_appendf(&show->buf, "%s: ", entry->name);
        if (r == 0)
                r = value_write(entry, &plain, &show->buf);
        const char *remark = NULL;
        if (plain.number < limit->number && limit->origin != ORIGIN_DERIVED)
                remark = key == KEY_DISK_LIMIT ? "lowered to mem_limit" : "lowered to what this host has";
        return r < 0 ? r : end_line(show, start, limit->origin, limit->value, remark);
}

static int show_value(struct show *show, const struct key *key, const char *indent,
    const struct policy_value *value, enum origin origin)
{
        size_t start = show->buf.size;
        if (!value->set)
                return strbuf_appendf(&show->buf, "%s# %s: not set\n", indent, key->name);
        int r = strbuf_appendf(&show->buf, "%s%s: ", indent, key->name);
        if (r == 0)
                r = value_write(key, value, &show->buf);
        return r < 0 ? r : end_line(show, start, origin, value, NULL);
}

/* The keys of an entry, or of its packages, that were given. */
static int show_entry_keys(struct show *show, const struct policy_section *entry, const char *group,
    const char *first, const char *indent)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < KEY_COUNT_; i++) {
                const struct key *key = &policy_keys[i];
                if (strcmp(key->group, group) != 0 || !entry->values[i].set)
                        continue;
                r = strbuf_appendf(&show->buf, "%s%s: ", first, key->name);
                first = indent;
                if (r == 0 && key->type == TYPE_GROUP) {
                        char path[KEY_PATH_MAX];
                        r = strbuf_append_text(&show->buf, "\n");
                        if (r == 0)
                                r = show_entry_keys(
                                    show, entry, key_path(key, path), "        ", "        ");
                        continue;
                }
                if (r == 0)
                        r = value_write(key, &entry->values[i], &show->buf);
                if (r == 0)
                        r = strbuf_append_text(&show->buf, "\n");
        }
        return r;
}

static int show_whitelist(struct show *show)
{
        const struct policy *policy = show->policy;
        const struct policy_value *value = &policy->top->values[KEY_WHITELIST];
        size_t start = show->buf.size;
        if (!value->set) {
                int r = strbuf_append_text(&show->buf, "  whitelist:");
                if (r == 0)
                        r = end_line(show, start, ORIGIN_BUILT_IN, value, NULL);
                return r < 0 ? r
                             : strbuf_append_text(&show->buf, "    - name: \"pypi\"\n      kind: \"pypi\"\n"
                                                              "    - name: \"npm\"\n      kind: \"npm\"\n");
        }
        int r = strbuf_appendf(&show->buf, "  whitelist:%s", policy->entry_count > 0 ? "" : " []");
        if (r == 0)
                r = end_line(show, start, ORIGIN_TOP, value, NULL);
        for (size_t i = 0; r == 0 && i < policy->entry_count; i++)
                r = show_entry_keys(show, policy->entries[i], "network.whitelist[]", "    - ", "      ");
        return r;
}

/* A group inside a group. */
static int show_nested(struct show *show, const struct key *group)
{
        char path[KEY_PATH_MAX];
        int r = strbuf_appendf(&show->buf, "  %s:\n", group->name);
        for (size_t i = 0; r == 0 && i < KEY_COUNT_; i++)
                if (strcmp(policy_keys[i].group, key_path(group, path)) == 0)
                        r = show_value(show, &policy_keys[i], "    ",
                            policy_top_value(show->policy, (enum policy_key)i), ORIGIN_TOP);
        return r;
}

static int show_group(struct show *show, const struct key *group)
{
        int r = 0;
        bool any = false;
        for (size_t i = 0; r == 0 && i < KEY_COUNT_; i++) {
                const struct key *key = &policy_keys[i];
                if (strcmp(key->group, group->name) != 0)
                        continue;
                if (!any)
                        r = strbuf_appendf(&show->buf, "%s:\n", group->name);
                any = true;
                if (r == 0 && key->type == TYPE_ENTRIES)
                        r = show_whitelist(show);
                else if (r == 0 && key->type == TYPE_GROUP)
                        r = show_nested(show, key);
                else if (r == 0)
                        r = show_value(
                            show, key, "  ", policy_top_value(show->policy, (enum policy_key)i), ORIGIN_TOP);
        }
        if (r == 0 && !any)
                r = strbuf_appendf(&show->buf, "%s: {}\n", group->name);
        return r;
}

static int show_all(struct show *show)
{
        int r = strbuf_appendf(&show->buf, "# Trust level %s of policy %s\n# sha256 %s\n", show->level->name,
            show->policy->path, show->policy->sha256);
        for (size_t i = 0; r == 0 && i < KEY_COUNT_; i++) {
                const struct key *key = &policy_keys[i];
                if (i <= KEY_MAX_CONCURRENT) {
                        r = show_limit(show, (enum policy_key)i);
                } else if (key->scope == SCOPE_LEVEL) {
                        enum origin origin;
                        const struct policy_value *value =
                            policy_level_value(show->policy, show->level, (enum policy_key)i, &origin);
                        r = show_value(show, key, "", value, origin);
                } else if (key->scope == SCOPE_TOP && key->type == TYPE_GROUP) {
                        r = show_group(show, key);
                }
        }
        return r;
}

int policy_show(const struct policy *policy, const char *trust_level, char **ret_text, struct error *err)
{
        _cleanup_(show_clear) struct show show = {.policy = policy, .buf = STRBUF_INIT(8 * POLICY_SIZE_MAX)};
        struct policy_request request = {.trust_level = trust_level};
        policy_host_capacity(&show.host.cpus, &show.host.memory);
        int r = policy_resolve(policy, &request, show.host.cpus, show.host.memory, &show.spec, err);
        if (r < 0)
                return r;
        show.level = policy_find_level(policy, show.spec.trust_level);
        policy_level_limits(policy, show.level, &show.host, show.limits);
        char *text = show_all(&show) == 0 ? strbuf_take(&show.buf) : NULL;
        if (!text)
                return error_oom(err);
        *ret_text = text;
        return 0;
}
