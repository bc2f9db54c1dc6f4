/* SPDX-License-Identifier: Apache-2.0 */
/* network_mode and network.whitelist, with a request, into the network part of a container spec. */
#include "policy/resolve_network.h"

#include "policy/host_index.h"

static int copy_list(const struct policy_value *value, char ***ret)
{
        uint32_t count = 0;
        int r = 0;
        for (size_t i = 0; r == 0 && i < value->item_count; i++)
                r = strv_append(ret, &count, value->items[i]);
        return r;
}

static int copy_text(const char *text, char **ret)
{
        *ret = text ? strdup(text) : NULL;
        return text && !*ret ? -ENOMEM : 0;
}

/* Where each text and list of an entry goes. */
static const struct {
        enum policy_key key;
        size_t offset;
} texts[] =
    {
#define MEMBER(KEY, member)                                                                                 \
        {                                                                                                   \
                KEY, offsetof(struct gateway_entry, member)                                                 \
        }
        MEMBER(KEY_ENTRY_NAME, name),
        MEMBER(KEY_ENTRY_URL, url),
        MEMBER(KEY_ENTRY_LOGIN, login),
        MEMBER(KEY_ENTRY_TOKEN, token),
        MEMBER(KEY_ENTRY_CA_BUNDLE, ca_bundle),
        MEMBER(KEY_ENTRY_PROXY, proxy),
},
  lists[] = {
      MEMBER(KEY_ENTRY_HOSTS, hosts),
      MEMBER(KEY_ENTRY_ADDRESSES, addresses),
      MEMBER(KEY_ENTRY_ALLOW, allow),
      MEMBER(KEY_ENTRY_DENY, deny),
      MEMBER(KEY_ENTRY_PREFIXES, prefixes),
#undef MEMBER
};

/* The index of the host's own pip or npm; -ENODATA, and no error, if it is configured for none. */
static int take_host_index(struct gateway_entry *entry, struct error *err)
{
        _cleanup_(freep) char *login = NULL;
        int r = host_index(entry->kind, &entry->url, &login, err);
        if (r < 0)
                return error_wrap(err, "network.whitelist: entry \"%s\"", entry->name);
        if (!entry->url)
                return -ENODATA;
        if (strncmp(entry->url, "http://", 7) == 0 && !entry->addresses)
                return error_set(err, ERROR_POLICY, 0,
                    "name the private networks it lies in under addresses, or give the entry a url",
                    "network.whitelist: entry \"%s\": the index that the host is configured for, %s, is not "
                    "reached by https",
                    entry->name, entry->url);
        if (!entry->login && !entry->token)
                entry->login = TAKE_PTR(login);
        return 0;
}

static int copy_entry(const struct policy_section *from, struct gateway_entry *to, struct error *err)
{
        int r = 0;
        to->kind = (enum gateway_kind)from->values[KEY_ENTRY_KIND].bits;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
                r = copy_text(
                    from->values[texts[i].key].text, (char **)(void *)((char *)to + texts[i].offset));
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(lists); i++)
                r = copy_list(&from->values[lists[i].key], (char ***)(void *)((char *)to + lists[i].offset));
        if (r < 0)
                return error_oom(err);
        to->query = from->values[KEY_ENTRY_QUERY].bits;
        to->git = from->values[KEY_ENTRY_GIT].bits;
        to->sdist = from->values[KEY_ENTRY_SDIST].bits;
        to->yanked = from->values[KEY_ENTRY_YANKED].bits;
        to->max_bytes = (uint64_t)from->values[KEY_ENTRY_MAX_BYTES].number;
        to->max_files = (uint64_t)from->values[KEY_ENTRY_MAX_FILES].number;
        return 0;
}

/* The built-in whitelist: an entry for each of the two indexes, named like its kind. */
static int built_in_entry(enum gateway_kind kind, struct gateway_entry *to, struct error *err)
{
        to->kind = kind;
        return copy_text(gateway_kind_name(kind), &to->name) < 0 ? error_oom(err) : 0;
}

static bool is_asked(const char *const *asked, const char *name)
{
        for (size_t i = 0; asked && asked[i]; i++)
                if (strcmp(asked[i], name) == 0)
                        return true;
        return !asked || !asked[0];
}

static int copy_entries(
    const struct policy *policy, const char *const *asked, struct gateway_spec *spec, struct error *err)
{
        bool built_in = !policy->top->values[KEY_WHITELIST].set;
        size_t count = built_in ? 2 : policy->entry_count;
        spec->entries = calloc(MAX(count, (size_t)1), sizeof *spec->entries);
        if (!spec->entries)
                return error_oom(err);
        for (size_t i = 0; i < count; i++) {
                const char *name = built_in ? gateway_kind_name((enum gateway_kind)i)
                                            : policy->entries[i]->values[KEY_ENTRY_NAME].text;
                if (!is_asked(asked, name))
                        continue;
                struct gateway_entry *entry = &spec->entries[spec->entry_count++];
                int r = built_in ? built_in_entry((enum gateway_kind)i, entry, err)
                                 : copy_entry(policy->entries[i], entry, err);
                if (r == 0 && entry->kind != GATEWAY_WEB && !entry->url)
                        r = take_host_index(entry, err);
                if (r == -ENODATA && built_in) {
                        spec->entry_count--; /* no use for it here */
                        free(entry->name);
                        *entry = (struct gateway_entry){};
                        r = 0;
                } else if (r == -ENODATA) {
                        r = error_set(err, ERROR_POLICY, 0,
                            "give the entry a url, or configure npm's registry",
                            "network.whitelist: entry \"%s\" has no url, and the host's own npm is "
                            "configured for none",
                            entry->name);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A name that is not in the whitelist is a request for more than the policy allows. */
static int check_asked(
    const char *const *asked, const struct gateway_spec *spec, const char *path, struct error *err)
{
        for (size_t i = 0; asked && asked[i]; i++) {
                bool known = false;
                for (size_t j = 0; j < spec->entry_count; j++)
                        known |= strcmp(spec->entries[j].name, asked[i]) == 0;
                char text[QUOTED_MAX];
                if (!known)
                        return error_set(err, ERROR_REFUSED, 0, "add an entry of that name to the policy",
                            "network.whitelist: %s was asked for, but is not in it (%s)",
                            quoted(asked[i], text), path);
        }
        return 0;
}

/* network.cache, or its place by custom. */
static int cache_directory(const struct policy *policy, char **ret, struct error *err)
{
        const struct policy_value *given = policy_top_value(policy, KEY_NETWORK_CACHE);
        const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
        int n = 0;
        if (given->set)
                n = asprintf(ret, "%s", given->text);
        else if (geteuid() == 0)
                n = asprintf(ret, "/var/cache/mai-sandbox/packages");
        else if (cache && *cache == '/')
                n = asprintf(ret, "%s/mai-sandbox/packages", cache);
        else if (home && *home == '/')
                n = asprintf(ret, "%s/.cache/mai-sandbox/packages", home);
        else
                return error_set(err, ERROR_POLICY, 0, "set HOME, or network.cache in the policy",
                    "network.cache: there is no directory to keep fetched files in");
        if (n < 0) {
                *ret = NULL;
                return error_oom(err);
        }
        return 0;
}

static void spec_freep(struct gateway_spec **spec)
{
        gateway_spec_free(*spec);
}

static int make_spec(
    const struct policy *policy, const char *const *asked, struct gateway_spec **ret, struct error *err)
{
        _cleanup_(spec_freep) struct gateway_spec *spec = calloc(1, sizeof *spec);
        if (!spec)
                return error_oom(err);
        int r = copy_entries(policy, asked, spec, err);
        if (r == 0)
                r = check_asked(asked, spec, policy->path, err);
        if (r == 0)
                r = cache_directory(policy, &spec->cache, err);
        if (r < 0)
                return r;
        for (int i = 0; i < GATEWAY_LIMIT_COUNT_; i++)
                spec->limits[i] =
                    (uint64_t)policy_top_value(policy, (enum policy_key)(KEY_MAX_REQUESTS + i))->number;
        spec->cache_bytes = (uint64_t)policy_top_value(policy, KEY_NETWORK_CACHE_LIMIT)->number;
        uint64_t user = policy_top_value(policy, KEY_NETWORK_USER)->bits;
        spec->uid = (uint32_t)(user >> 32);
        spec->gid = (uint32_t)user;
        *ret = TAKE_PTR(spec);
        return 0;
}

int resolve_network(const struct policy *policy, const struct policy_level *level,
    const struct policy_request *request, struct container_spec *spec, struct error *err)
{
        const struct key *key = &policy_keys[KEY_NETWORK_MODE];
        struct policy_value value = *policy_level_value(policy, level, KEY_NETWORK_MODE, NULL);
        uint64_t ceiling = value.bits;
        if (request->network_mode && value_read(key, request->network_mode, &value) < 0) {
                char text[QUOTED_MAX], wanted[EXPECTED_MAX];
                return error_set(err, ERROR_USAGE, 0, NULL,
                    "network_mode (--network): found %s; expected %s", quoted(request->network_mode, text),
                    value_expected(key, wanted));
        }
        if (value.bits > ceiling)
                return error_set(err, ERROR_REFUSED, 0,
                    "write network_mode: \"dependencies\" at that level of the policy, if it shall be "
                    "allowed",
                    "network_mode: \"%s\" was asked for, but trust level \"%s\" allows \"%s\" (%s)",
                    key->words[value.bits], level->name, key->words[ceiling], policy->path);
        spec->network = (enum network_mode)value.bits;
        if (spec->network == NETWORK_NONE) {
                if (request->whitelist && request->whitelist[0])
                        return error_set(err, ERROR_REFUSED, 0,
                            "leave it out, or use a trust level with network_mode: \"dependencies\"",
                            "network.whitelist: an entry was asked for, but network_mode is \"none\"");
                return 0;
        }
        return make_spec(policy, request->whitelist, &spec->gateway, err);
}
