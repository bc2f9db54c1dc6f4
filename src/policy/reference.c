/* SPDX-License-Identifier: Apache-2.0 */
/* The key table as Markdown. */
#include "policy/values.h"

static const char *const combine_texts[] = {
    [COMBINE_NONE] = "—",
    [COMBINE_MIN] = "the smaller",
    [COMBINE_ONE_OF] = "one of a list",
    [COMBINE_STRICTER] = "the stricter",
    [COMBINE_MERGE] = "over it",
};

static const char *const scope_texts[] = {
    [SCOPE_TOP] = "top",
    [SCOPE_LEVEL] = "top, level",
    [SCOPE_GROUP] = "group",
};

static int write_fallback(const struct key *key, struct strbuf *buf)
{
        if (!key->fallback)
                return strbuf_append_text(buf, key == &policy_keys[KEY_CPU_TIME] ? "derived" : "—");
        if (*key->fallback == '\0')
                return strbuf_append_text(buf, "none");
        if (!key->fallback_untrusted)
                return strbuf_appendf(buf, "`%s`", key->fallback);
        return strbuf_appendf(
            buf, "`%s` / `%s` / `%s`", key->fallback, key->fallback_untrusted, key->fallback_unknown);
}

static int write_type(const struct key *key, struct strbuf *buf)
{
        char least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
        int r = strbuf_append_text(buf, value_types[key->type].name);
        if (r == 0 && key->most > 0)
                r = strbuf_appendf(buf, ", %s to %s", value_number_text(key, key->least, least),
                    value_number_text(key, key->most, most));
        return r;
}

char *policy_reference_markdown(void)
{
        _cleanup_(strbuf_clear) struct strbuf buf = STRBUF_INIT(256 * 1024);
        int r = strbuf_append_text(&buf,
            "| Key | Stands at | Type | Built in (trusted / untrusted / unknown) | Request | Meaning |\n"
            "|---|---|---|---|---|---|\n");
        for (size_t i = 0; r == 0 && i < KEY_COUNT_; i++) {
                const struct key *key = &policy_keys[i];
                char path[KEY_PATH_MAX];
                r = strbuf_appendf(&buf, "| `%s` | %s | ", key_path(key, path), scope_texts[key->scope]);
                if (r == 0)
                        r = write_type(key, &buf);
                if (r == 0)
                        r = strbuf_append_text(&buf, " | ");
                if (r == 0)
                        r = write_fallback(key, &buf);
                if (r == 0)
                        r = strbuf_appendf(&buf, " | %s | %s |\n", combine_texts[key->combine], key->doc);
        }
        return r < 0 ? NULL : strbuf_take(&buf);
}
