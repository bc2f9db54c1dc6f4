/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/gateway_spec.h"

#include "policy/keys.h"

const char *gateway_kind_name(enum gateway_kind kind)
{
        return policy_keys[KEY_ENTRY_KIND].words[kind];
}

const char *gateway_limit_name(enum gateway_limit limit)
{
        return policy_keys[KEY_MAX_REQUESTS + (int)limit].name;
}

static void free_list(char **list)
{
        for (char **item = list; item && *item; item++)
                free(*item);
        free(list);
}

static void wipe(char *secret)
{
        if (secret)
                explicit_bzero(secret, strlen(secret));
        free(secret);
}

static void entry_clear(struct gateway_entry *entry)
{
        free(entry->name);
        free(entry->url);
        free_list(entry->hosts);
        free_list(entry->addresses);
        free_list(entry->allow);
        free_list(entry->deny);
        free_list(entry->sha256);
        free_list(entry->prefixes);
        wipe(entry->login);
        wipe(entry->token);
        free(entry->ca_bundle);
        free(entry->proxy);
}

struct gateway_spec *gateway_spec_free(struct gateway_spec *spec)
{
        if (!spec)
                return NULL;
        for (size_t i = 0; spec->entries && i < spec->entry_count; i++)
                entry_clear(&spec->entries[i]);
        free(spec->entries);
        free(spec->cache);
        free(spec);
        return NULL;
}
