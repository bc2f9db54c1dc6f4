/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/config_web.h"

#include "gateway/url.h"

static int bad(struct error *err, const struct index_entry *entry, const char *key, const char *expected)
{
        return error_set(err, ERROR_POLICY, 0, NULL, "gateway configuration: entry %s: %s: expected %s",
            entry->name, key, expected);
}

static int check_keys(const struct index_entry *entry, struct error *err)
{
        const struct {
                bool there;
                bool web; /* the kind that it is for */
                const char *name;
        } keys[] = {
            {entry->urls != NULL, true, "urls"},
            {entry->query, true, "query"},
            {entry->git, true, "git"},
            {entry->url != NULL, false, "url"},
            {entry->origins != NULL, false, "hosts"},
            {entry->allow || entry->deny, false, "packages"},
            {entry->sdist, false, "sdist"},
            {entry->yanked, false, "yanked"},
            {entry->login || entry->token, false, "credentials"},
        };
        bool web = entry->kind == ENTRY_WEB;
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                if (keys[i].there && keys[i].web != web)
                        return bad(err, entry, keys[i].name,
                            web ? "no such key with kind web" : "such a key with kind web only");
        if (web && (!entry->urls || !entry->urls[0]))
                return bad(err, entry, "urls", "a list of prefixes such as https://docs.python.org/3/");
        if (!web && !entry->url)
                return bad(err, entry, "url", "it to be there");
        return 0;
}

static int settle_prefix(struct index_entry *entry, const char *text, struct error *err)
{
        struct web_url *prefix = &entry->prefixes[entry->prefix_count];
        if (strchr(text, '#') || web_url_parse(text, prefix) != REASON_NONE || prefix->has_query)
                return bad(err, entry, "urls",
                    "https://HOST[:PORT]/PATH (or http) in plain spelling: no user information, query, "
                    "fragment or dot segments");
        if (!prefix->tls && entry->address_count == 0)
                return bad(err, entry, "urls", "https, or the private networks it lies in under addresses");
        int r = url_origin(text, &entry->origins[entry->prefix_count]);
        if (r < 0)
                return r == -ENOMEM ? error_oom(err) : bad(err, entry, "urls", "URLs that libcurl takes");
        entry->prefix_count++;
        return 0;
}

int config_settle_web(struct index_entry *entry, struct error *err)
{
        int r = check_keys(entry, err);
        if (r < 0 || entry->kind != ENTRY_WEB)
                return r;
        size_t count = 0;
        while (entry->urls[count])
                count++;
        entry->prefixes = calloc(count + 1, sizeof *entry->prefixes);
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
        entry->origins = calloc(count + 1, sizeof *entry->origins);
        if (!entry->prefixes || !entry->origins)
                return error_oom(err);
        for (size_t i = 0; r == 0 && i < count; i++)
                r = settle_prefix(entry, entry->urls[i], err);
        return r;
}
