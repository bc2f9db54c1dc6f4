/* SPDX-License-Identifier: Apache-2.0 */
/* network.whitelist: what the keys of an entry have to say together. */
#include "policy/values.h"

static bool is_http(const char *url)
{
        return strncmp(url, "http://", 7) == 0;
}

static int check_url(const struct policy *policy, const struct policy_section *entry, enum policy_key key,
    const char *url, struct error *err)
{
        const struct policy_value *value = &entry->values[key];
        char text[QUOTED_MAX];
        if (is_http(url) && entry->values[KEY_ENTRY_ADDRESSES].item_count == 0)
                return policy_fail(policy, value->line, value->column,
                    "use https, or name the private networks it lies in under addresses", err,
                    "%s: found %s without addresses; expected a URL that begins with https://",
                    policy_keys[key].name, quoted(url, text));
        return 0;
}

/* Each key that does not stand in entries of every kind, and in which it does. */
static const struct {
        enum policy_key key;
        unsigned kinds;
        const char *names;
} kind_keys[] = {
#define FOR_INDEX 1U << GATEWAY_PYPI | 1U << GATEWAY_NPM, "pypi or npm"
#define FOR_PYPI 1U << GATEWAY_PYPI, "pypi"
#define FOR_WEB 1U << GATEWAY_WEB, "web"
    {KEY_ENTRY_URL, FOR_INDEX},
    {KEY_ENTRY_HOSTS, FOR_INDEX},
    {KEY_ENTRY_PACKAGES, FOR_INDEX},
    {KEY_ENTRY_LOGIN, FOR_INDEX},
    {KEY_ENTRY_TOKEN, FOR_INDEX},
    {KEY_ENTRY_SDIST, FOR_PYPI},
    {KEY_ENTRY_YANKED, FOR_PYPI},
    {KEY_ENTRY_PREFIXES, FOR_WEB},
    {KEY_ENTRY_QUERY, FOR_WEB},
    {KEY_ENTRY_GIT, FOR_WEB},
};

int whitelist_check_entry(const struct policy *policy, const struct policy_section *entry, uint32_t line,
    uint32_t column, struct error *err)
{
        static const enum policy_key required[] = {KEY_ENTRY_NAME, KEY_ENTRY_KIND};
        for (size_t i = 0; i < ARRAY_SIZE(required); i++)
                if (!entry->values[required[i]].set)
                        return policy_fail(policy, line, column, NULL, err,
                            "network.whitelist: found an entry without %s; expected name and kind",
                            policy_keys[required[i]].name);

        const struct policy_value *name = &entry->values[KEY_ENTRY_NAME];
        for (size_t i = 0; i + 1 < policy->entry_count; i++)
                if (strcmp(policy->entries[i]->values[KEY_ENTRY_NAME].text, name->text) == 0)
                        return policy_fail(policy, name->line, name->column, NULL, err,
                            "network.whitelist: found name \"%s\" a second time; expected one entry of that "
                            "name",
                            name->text);

        const char *kind = policy_keys[KEY_ENTRY_KIND].words[entry->values[KEY_ENTRY_KIND].bits];
        unsigned number = (unsigned)entry->values[KEY_ENTRY_KIND].bits;
        for (size_t i = 0; i < ARRAY_SIZE(kind_keys); i++) {
                const struct policy_value *value = &entry->values[kind_keys[i].key];
                if (value->set && !(kind_keys[i].kinds & 1U << number))
                        return policy_fail(policy, value->line, value->column, NULL, err,
                            "network.whitelist: found %s in an entry of kind %s; expected it only where "
                            "kind is %s",
                            policy_keys[kind_keys[i].key].name, kind, kind_keys[i].names);
        }

        const struct policy_value *token = &entry->values[KEY_ENTRY_TOKEN];
        if (token->set && entry->values[KEY_ENTRY_LOGIN].set)
                return policy_fail(policy, token->line, token->column, "leave one of them out", err,
                    "network.whitelist: found token beside login; expected one of them");

        const struct policy_value *prefixes = &entry->values[KEY_ENTRY_PREFIXES];
        if (number == GATEWAY_WEB && prefixes->item_count == 0)
                return policy_fail(policy, line, column, NULL, err,
                    "network.whitelist: found an entry of kind web without prefixes; expected at least one "
                    "URL");
        int r = 0;
        for (size_t i = 0; r == 0 && i < prefixes->item_count; i++)
                r = check_url(policy, entry, KEY_ENTRY_PREFIXES, prefixes->items[i], err);
        if (r == 0 && entry->values[KEY_ENTRY_URL].set)
                r = check_url(policy, entry, KEY_ENTRY_URL, entry->values[KEY_ENTRY_URL].text, err);
        return r;
}
