/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/config.h"

#include "gateway/config_web.h"
#include "gateway/names.h"
#include "gateway/url.h"
#include "util/fd.h"

#include <fcntl.h>
#include <jansson.h>

#define CONFIG_MAX_BYTES (8U << 20)
#define CA_MAX_BYTES (4U << 20)
#define ENTRIES_MAX 64
#define DIGESTS_MAX 50000
#define LIST_MAX 256

static const char default_ca_bundle[] = "/etc/ssl/certs/ca-certificates.crt";

/* Kept small where they bound what a guest can tell an upstream (docs/GATEWAY.md works it out). */
static const struct gateway_limits default_limits = {
    .requests = 4000,
    .rate = 100,
    .burst = 200,
    .names = 256,
    .name_bytes = 4096,
    .misses = 16,
    .fetches = 1024,
    .files = 512,
    .urls = 256,
    .url_bytes = 8192,
    .post_bytes = UINT64_C(256) << 10,
    .bytes = UINT64_C(1) << 30,
    .sent_bytes = UINT64_C(4) << 30,
    .index_bytes = UINT64_C(32) << 20,
    .file_bytes = UINT64_C(512) << 20,
    .connections = 32,
    .head_seconds = 10,
    .idle_seconds = 60,
    .connect_seconds = 15,
    .fetch_seconds = 300,
    .stall_seconds = 20,
    .stall_rate = 1024,
};

#define LIMIT(name)                                                                                         \
        {                                                                                                   \
#name, offsetof(struct gateway_limits, name)                                                \
        }
static const struct {
        const char *name;
        size_t offset;
} limit_keys[] = {
    LIMIT(requests),
    LIMIT(rate),
    LIMIT(burst),
    LIMIT(names),
    LIMIT(name_bytes),
    LIMIT(misses),
    LIMIT(fetches),
    LIMIT(files),
    LIMIT(urls),
    LIMIT(url_bytes),
    LIMIT(post_bytes),
    LIMIT(bytes),
    LIMIT(sent_bytes),
    LIMIT(index_bytes),
    LIMIT(file_bytes),
    LIMIT(connections),
    LIMIT(head_seconds),
    LIMIT(idle_seconds),
    LIMIT(connect_seconds),
    LIMIT(fetch_seconds),
    LIMIT(stall_seconds),
    LIMIT(stall_rate),
};

/* Files of well-known indexes lie on another host than their pages. */
static const struct {
        const char *origin;
        const char *files;
} known_file_hosts[] = {
    {"https://pypi.org:443", "https://files.pythonhosted.org:443"},
};

static void free_list(char **list)
{
        for (char **item = list; item && *item; item++)
                free(*item);
        free(list);
}

static void entry_clear(struct index_entry *entry)
{
        free(entry->name);
        free(entry->url);
        free_list(entry->urls);
        free(entry->prefixes);
        free_list(entry->origins);
        free(entry->addresses);
        free_list(entry->allow);
        free_list(entry->deny);
        free_list(entry->sha256);
        free(entry->login);
        free(entry->token);
        free(entry->proxy);
        free(entry->ca_bundle);
        free(entry->ca_data);
}

void config_clear(struct gateway_config *config)
{
        free(config->base_url);
        free(config->cache_directory);
        for (size_t i = 0; i < config->entry_count; i++)
                entry_clear(&config->entries[i]);
        free(config->entries);
        *config = (struct gateway_config){};
}

static int bad(struct error *err, const char *key, const char *expected)
{
        return error_set(
            err, ERROR_POLICY, 0, NULL, "gateway configuration: %s: expected %s", key, expected);
}

/* ---- Readers of one value each; `target` is the field ---- */

static int read_text(const json_t *value, void *target, const char *key, struct error *err)
{
        const char *text = json_string_value(value);
        if (!text || text[0] == '\0' || strlen(text) != json_string_length(value) ||
            strlen(text) > URL_MAX_BYTES)
                return bad(err, key, "a text");
        char *copy = strdup(text);
        if (!copy)
                return error_oom(err);
        free(*(char **)target);
        *(char **)target = copy;
        return 0;
}

static int read_number(const json_t *value, void *target, const char *key, struct error *err)
{
        if (!json_is_integer(value) || json_integer_value(value) <= 0)
                return bad(err, key, "a whole number above 0");
        *(uint64_t *)target = (uint64_t)json_integer_value(value);
        return 0;
}

static int read_bool(const json_t *value, void *target, const char *key, struct error *err)
{
        if (!json_is_boolean(value))
                return bad(err, key, "true or false");
        *(bool *)target = json_is_true(value);
        return 0;
}

static int read_list(const json_t *value, void *target, const char *key, struct error *err)
{
        size_t count = json_array_size(value);
        if (!json_is_array(value) || count > LIST_MAX)
                return bad(err, key, "a list of texts, 256 at most");
        char **list = calloc(count + 1, sizeof *list);
        if (!list)
                return error_oom(err);
        int r = 0;
        for (size_t i = 0; r == 0 && i < count; i++)
                r = read_text(json_array_get(value, i), &list[i], key, err);
        if (r < 0) {
                free_list(list);
                return r;
        }
        free_list(*(char ***)target);
        *(char ***)target = list;
        return 0;
}

static int compare_texts(const void *a, const void *b)
{
        const char *const *left = a, *const *right = b;
        return strcmp(*left, *right);
}

/* The digests that the files of a lock may have. An empty list permits none. */
static int read_digests(const json_t *value, void *target, const char *key, struct error *err)
{
        static const char expected[] = "a list of SHA-256 digests in hexadecimal, 50000 at most";
        size_t count = json_array_size(value);
        if (!json_is_array(value) || count > DIGESTS_MAX)
                return bad(err, key, expected);
        char **list = calloc(count + 1, sizeof *list);
        if (!list)
                return error_oom(err);
        int r = 0;
        for (size_t i = 0; r == 0 && i < count; i++) {
                r = read_text(json_array_get(value, i), &list[i], key, err);
                if (r == 0 && (strlen(list[i]) != 64 || strspn(list[i], "0123456789abcdef") != 64))
                        r = bad(err, key, expected);
        }
        if (r < 0) {
                free_list(list);
                return r;
        }
        qsort(list, count, sizeof *list, compare_texts);
        free_list(*(char ***)target);
        *(char ***)target = list;
        return 0;
}

struct key {
        const char *name;
        int (*read)(const json_t *value, void *target, const char *key, struct error *err);
        size_t offset;
        bool required;
};

static int read_object(const json_t *object, const struct key *keys, size_t key_count, void *target,
    const char *what, struct error *err)
{
        if (!json_is_object(object))
                return bad(err, what, "an object");
        const char *name;
        json_t *value;
        json_object_foreach ((json_t *)object, name, value) {
                const struct key *key = NULL;
                for (size_t i = 0; i < key_count; i++)
                        if (strcmp(keys[i].name, name) == 0)
                                key = &keys[i];
                if (!key)
                        return error_set(
                            err, ERROR_POLICY, 0, NULL, "gateway configuration: %s: unknown key", what);
                if (json_is_null(value) && !key->required)
                        continue;
                int r = key->read(value, (char *)target + key->offset, key->name, err);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < key_count; i++)
                if (keys[i].required && !json_object_get(object, keys[i].name))
                        return bad(err, keys[i].name, "it to be there");
        return 0;
}

/* ---- Entries ---- */

static int read_kind(const json_t *value, void *target, const char *key, struct error *err)
{
        const char *text = json_string_value(value);
        if (text && strcmp(text, "pypi") == 0)
                *(enum entry_kind *)target = ENTRY_PYPI;
        else if (text && strcmp(text, "npm") == 0)
                *(enum entry_kind *)target = ENTRY_NPM;
        else if (text && strcmp(text, "web") == 0)
                *(enum entry_kind *)target = ENTRY_WEB;
        else
                return bad(err, key, "pypi, npm or web");
        return 0;
}

static int read_addresses(const json_t *value, void *target, const char *key, struct error *err)
{
        struct index_entry *entry = target;
        size_t count = json_array_size(value);
        if (!json_is_array(value) || count > LIST_MAX)
                return bad(err, key, "a list of networks");
        struct network *networks = calloc(count + 1, sizeof *networks);
        if (!networks)
                return error_oom(err);
        for (size_t i = 0; i < count; i++) {
                const char *text = json_string_value(json_array_get(value, i));
                if (!text || !network_parse(text, &networks[i])) {
                        free(networks);
                        return bad(err, key, "networks such as 10.0.0.0/8");
                }
        }
        free(entry->addresses);
        entry->addresses = networks;
        entry->address_count = count;
        return 0;
}

static int read_packages(const json_t *value, void *target, const char *key, struct error *err)
{
        static const struct key keys[] = {
            {"allow", read_list, offsetof(struct index_entry, allow), false},
            {"deny", read_list, offsetof(struct index_entry, deny), false},
        };
        return read_object(value, keys, ARRAY_SIZE(keys), target, key, err);
}

/* {"login": "user:password"} or {"token": "..."}. Messages never repeat a value. */
static int read_credentials(const json_t *value, void *target, const char *key, struct error *err)
{
        static const struct key keys[] = {
            {"login", read_text, offsetof(struct index_entry, login), false},
            {"token", read_text, offsetof(struct index_entry, token), false},
        };
        struct index_entry *entry = target;
        int r = read_object(value, keys, ARRAY_SIZE(keys), target, key, err);
        if (r < 0)
                return r;
        if (!entry->login == !entry->token)
                return bad(err, key, "either login or token");
        const char *secret = entry->login ? entry->login : entry->token;
        for (const char *c = secret; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return bad(err, key, "no control characters");
        return 0;
}

static const struct key entry_keys[] = {
    {"name", read_text, offsetof(struct index_entry, name), true},
    {"kind", read_kind, offsetof(struct index_entry, kind), true},
    {"url", read_text, offsetof(struct index_entry, url), false},
    {"urls", read_list, offsetof(struct index_entry, urls), false},
    {"query", read_bool, offsetof(struct index_entry, query), false},
    {"git", read_bool, offsetof(struct index_entry, git), false},
    {"hosts", read_list, offsetof(struct index_entry, origins), false},
    {"addresses", read_addresses, 0, false},
    {"packages", read_packages, 0, false},
    {"max_bytes", read_number, offsetof(struct index_entry, max_bytes), false},
    {"max_files", read_number, offsetof(struct index_entry, max_files), false},
    {"sha256", read_digests, offsetof(struct index_entry, sha256), false},
    {"sdist", read_bool, offsetof(struct index_entry, sdist), false},
    {"yanked", read_bool, offsetof(struct index_entry, yanked), false},
    {"credentials", read_credentials, 0, false},
    {"ca_bundle", read_text, offsetof(struct index_entry, ca_bundle), false},
    {"proxy", read_text, offsetof(struct index_entry, proxy), false},
};

/* Turns "url" and "hosts" into origins, the entry's own first. */
static int settle_origins(struct index_entry *entry, struct error *err)
{
        size_t count = 0;
        while (entry->origins && entry->origins[count])
                count++;
        char **origins = calloc(count + 3, sizeof *origins);
        if (!origins)
                return error_oom(err);
        const char *scheme = strncmp(entry->url, "http:", 5) == 0 ? "http" : "https";
        int r = url_origin(entry->url, &origins[0]);
        for (size_t i = 0; r == 0 && i < count; i++) {
                _cleanup_(freep) char *url = NULL;
                if (strpbrk(entry->origins[i], "/@?#") ||
                    asprintf(&url, "%s://%s/", scheme, entry->origins[i]) < 0)
                        r = -EINVAL;
                else
                        r = url_origin(url, &origins[i + 1]);
        }
        for (size_t i = 0; r == 0 && count == 0 && i < ARRAY_SIZE(known_file_hosts); i++)
                if (strcmp(origins[0], known_file_hosts[i].origin) == 0)
                        origins[1] = strdup(known_file_hosts[i].files);
        if (r < 0) {
                free_list(origins);
                return bad(err, "url, hosts",
                    "an http or https URL without user information, and HOST or HOST:PORT");
        }
        free_list(entry->origins);
        entry->origins = origins;
        return 0;
}

/* Patterns are compared with normal forms, so they get one too: "Acme_*" means "acme-*". */
static void normalise_patterns(char **patterns)
{
        for (char **pattern = patterns; pattern && *pattern; pattern++) {
                char *out = *pattern;
                for (const char *in = *pattern; *in; in++) {
                        char c = *in == '_' || *in == '.' ? '-' : *in;
                        if (c == '-' && out > *pattern && out[-1] == '-')
                                continue;
                        *out++ = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
                }
                *out = '\0';
        }
}

static int settle_index(struct index_entry *entry, struct error *err)
{
        size_t length = strlen(entry->url);
        if (entry->url[length - 1] != '/') {
                char *longer = realloc(entry->url, length + 2);
                if (!longer)
                        return error_oom(err);
                entry->url = longer;
                memcpy(longer + length, "/", 2);
        }
        int r = settle_origins(entry, err);
        if (r < 0)
                return r;
        if (strpbrk(entry->url, "?#"))
                return bad(err, "url", "no query and no fragment");
        if (strncmp(entry->origins[0], "http:", 5) == 0 && entry->address_count == 0)
                return bad(err, "url", "https, or the private networks it lies in under addresses");
        if (entry->kind == ENTRY_PYPI) {
                normalise_patterns(entry->allow);
                normalise_patterns(entry->deny);
        }
        return 0;
}

static int settle_entry(struct index_entry *entry, struct error *err)
{
        if (!name_entry(entry->name))
                return bad(err, "name", "letters, digits, dot, dash and underscore, 64 at most");
        int r = config_settle_web(entry, err);
        if (r == 0 && entry->kind != ENTRY_WEB)
                r = settle_index(entry, err);
        if (r < 0)
                return r;
        const char *bundle = entry->ca_bundle ? entry->ca_bundle : default_ca_bundle;
        _cleanup_(closep) int fd = open(bundle, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        r = fd < 0 ? -errno : fd_read_whole(fd, CA_MAX_BYTES, &entry->ca_data, &entry->ca_size);
        if (r < 0)
                return error_set(err, ERROR_POLICY, -r,
                    "install ca-certificates, or name a bundle under ca_bundle",
                    "entry %s: reading the certificates in %s", entry->name, bundle);
        return 0;
}

static int read_entries(const json_t *value, void *target, const char *key, struct error *err)
{
        struct gateway_config *config = target;
        size_t count = json_array_size(value);
        if (!json_is_array(value) || count == 0 || count > ENTRIES_MAX)
                return bad(err, key, "a list of 1 to 64 entries");
        config->entries = calloc(count, sizeof *config->entries);
        if (!config->entries)
                return error_oom(err);
        config->entry_count = count;
        for (size_t i = 0; i < count; i++) {
                struct index_entry *entry = &config->entries[i];
                entry->max_bytes = entry->max_files = UINT64_MAX;
                int r = read_object(
                    json_array_get(value, i), entry_keys, ARRAY_SIZE(entry_keys), entry, "entries", err);
                if (r == 0)
                        r = settle_entry(entry, err);
                if (r < 0)
                        return r;
                for (size_t j = 0; j < i; j++)
                        if (strcmp(config->entries[j].name, entry->name) == 0)
                                return bad(err, "name", "each once");
        }
        return 0;
}

/* ---- The document ---- */

static int read_limits(const json_t *value, void *target, const char *key, struct error *err)
{
        struct key keys[ARRAY_SIZE(limit_keys)];
        for (size_t i = 0; i < ARRAY_SIZE(limit_keys); i++)
                keys[i] = (struct key){limit_keys[i].name, read_number, limit_keys[i].offset, false};
        return read_object(value, keys, ARRAY_SIZE(keys), target, key, err);
}

static int read_cache(const json_t *value, void *target, const char *key, struct error *err)
{
        static const struct key keys[] = {
            {"directory", read_text, offsetof(struct gateway_config, cache_directory), true},
            {"max_bytes", read_number, offsetof(struct gateway_config, cache_bytes), false},
        };
        return read_object(value, keys, ARRAY_SIZE(keys), target, key, err);
}

/* [uid, gid] */
static int read_user(const json_t *value, void *target, const char *key, struct error *err)
{
        struct gateway_config *config = target;
        json_int_t uid = json_integer_value(json_array_get(value, 0));
        json_int_t gid = json_integer_value(json_array_get(value, 1));
        if (json_array_size(value) != 2 || uid <= 0 || gid <= 0 || uid >= UINT32_MAX || gid >= UINT32_MAX)
                return bad(err, key, "[uid, gid], neither of them 0");
        config->has_uid = true;
        config->uid = (uint32_t)uid;
        config->gid = (uint32_t)gid;
        return 0;
}

static int read_degraded(const json_t *value, void *target, const char *key, struct error *err)
{
        struct gateway_config *config = target;
        for (size_t i = 0; i < json_array_size(value); i++) {
                const char *word = json_string_value(json_array_get(value, i));
                if (word && strcmp(word, "landlock") == 0)
                        config->landlock_optional = true;
        }
        return json_is_array(value) ? 0 : bad(err, key, "a list");
}

static const struct key config_keys[] = {
    {"base_url", read_text, offsetof(struct gateway_config, base_url), true},
    {"cache", read_cache, 0, true},
    {"user", read_user, 0, false},
    {"degraded_allowed", read_degraded, 0, false},
    {"limits", read_limits, offsetof(struct gateway_config, limits), false},
    {"entries", read_entries, 0, true},
};

static int settle(struct gateway_config *config, struct error *err)
{
        _cleanup_(freep) char *origin = NULL;
        size_t length = config->base_url ? strlen(config->base_url) : 0;
        if (length == 0)
                return bad(err, "base_url", "an http URL");
        if (config->base_url[length - 1] == '/')
                config->base_url[length - 1] = '\0';
        if (url_origin(config->base_url, &origin) < 0 || strpbrk(config->base_url, "?#\"<> "))
                return bad(err, "base_url", "an http URL");
        return 0;
}

int config_read(int fd, struct gateway_config *ret, struct error *err)
{
        _cleanup_(freep) char *data = NULL;
        size_t size;
        int r = fd_read_whole(fd, CONFIG_MAX_BYTES, &data, &size);
        if (r < 0)
                return error_set(err, ERROR_POLICY, -r, NULL, "gateway configuration: reading it");
        json_error_t where;
        _cleanup_(json_decrefp) json_t *document = json_loadb(data, size, JSON_REJECT_DUPLICATES, &where);
        if (!document)
                return error_set(
                    err, ERROR_POLICY, 0, NULL, "gateway configuration: line %d: not JSON", where.line);
        _cleanup_(config_clear) struct gateway_config config = {
            .limits = default_limits, .cache_bytes = UINT64_C(4) << 30};
        r = read_object(document, config_keys, ARRAY_SIZE(config_keys), &config, "document", err);
        if (r == 0)
                r = settle(&config, err);
        explicit_bzero(data, size); /* it may hold credentials */
        if (r < 0)
                return r;
        *ret = config;
        config = (struct gateway_config){};
        return 0;
}

bool config_has_web(const struct gateway_config *config)
{
        for (size_t i = 0; i < config->entry_count; i++)
                if (config->entries[i].kind == ENTRY_WEB)
                        return true;
        return false;
}

bool entry_reaches(const struct index_entry *entry, const char *url)
{
        _cleanup_(freep) char *origin = NULL;
        if (url_origin(url, &origin) < 0)
                return false;
        for (char **allowed = entry->origins; *allowed; allowed++)
                if (strcmp(*allowed, origin) == 0)
                        return true;
        return false;
}

bool entry_offers(const struct index_entry *entry, const char *name)
{
        for (char **pattern = entry->deny; pattern && *pattern; pattern++)
                if (name_matches(*pattern, name))
                        return false;
        if (!entry->allow || !entry->allow[0])
                return true;
        for (char **pattern = entry->allow; *pattern; pattern++)
                if (name_matches(*pattern, name))
                        return true;
        return false;
}

bool entry_offers_digest(const struct index_entry *entry, const char *sha256)
{
        if (!entry->sha256)
                return true;
        size_t low = 0, high = 0;
        while (entry->sha256[high])
                high++;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = strcmp(entry->sha256[middle], sha256);
                if (order == 0)
                        return true;
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return false;
}
