/* SPDX-License-Identifier: Apache-2.0 */
/* A spec as the gateway's configuration (docs/GATEWAY.md), with the secrets that it names. */
#include "sandbox/gateway/gateway.h"

#include "util/fd.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>

#define SECRET_MAX 4096U

/* ---- Secrets ---- */

/* A file that only its owner reads, and perhaps its group; a newline at the end is not part of it. */
static int read_secret_file(const char *entry, const char *path, char **ret, struct error *err)
{
        static const char hint[] =
            "it has to belong to you or root, with no permission for others (chmod o= FILE)";
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct stat info;
        if (fd < 0 || fstat(fd, &info) < 0)
                return error_set(err, ERROR_POLICY, errno, hint,
                    "network.whitelist: entry \"%s\": its credentials can't be read from %s", entry, path);
        if (!S_ISREG(info.st_mode) || (info.st_uid != 0 && info.st_uid != geteuid()) || info.st_mode & 07 ||
            info.st_mode & S_IWGRP)
                return error_set(err, ERROR_POLICY, 0, hint,
                    "network.whitelist: entry \"%s\": %s is not a file that only its owner can read", entry,
                    path);
        size_t size;
        int r = fd_read_whole(fd, SECRET_MAX, ret, &size);
        if (r < 0)
                return error_set(err, ERROR_POLICY, -r, NULL,
                    "network.whitelist: entry \"%s\": reading its credentials from %s", entry, path);
        while (size > 0 && ((*ret)[size - 1] == '\n' || (*ret)[size - 1] == '\r'))
                (*ret)[--size] = '\0';
        if (strlen(*ret) == size && size > 0)
                return 0;
        explicit_bzero(*ret, size);
        free(TAKE_PTR(*ret));
        return error_set(err, ERROR_POLICY, 0, NULL,
            "network.whitelist: entry \"%s\": %s is empty, or holds a NUL byte", entry, path);
}

static int read_secret(const char *entry, const char *source, char **ret, struct error *err)
{
        if (strncmp(source, "file:", 5) == 0)
                return read_secret_file(entry, source + 5, ret, err);
        const char *text = strncmp(source, "env:", 4) == 0 ? secure_getenv(source + 4) : source + 5;
        if (!text || *text == '\0')
                return error_set(err, ERROR_POLICY, 0, "set it where mai-sandbox is started",
                    "network.whitelist: entry \"%s\": the variable %s, which should hold its credentials, "
                    "is "
                    "not set",
                    entry, source + 4);
        *ret = strdup(text);
        return *ret ? 0 : error_oom(err);
}

/* {"login": ...} or {"token": ...}; null where the entry names neither. */
static int credentials(const struct gateway_entry *entry, json_t **ret, struct error *err)
{
        const char *source = entry->login ? entry->login : entry->token;
        *ret = json_null();
        if (!source)
                return 0;
        char *secret = NULL;
        int r = read_secret(entry->name, source, &secret, err);
        if (r < 0)
                return r;
        json_t *text = json_string(secret);
        explicit_bzero(secret, strlen(secret));
        free(secret);
        if (!text)
                return error_set(err, ERROR_POLICY, 0, NULL,
                    "network.whitelist: entry \"%s\": its credentials are not UTF-8", entry->name);
        *ret = json_pack("{s:o}", entry->login ? "login" : "token", text);
        return *ret ? 0 : error_oom(err);
}

/* ---- The document ---- */

static json_t *texts(char **list)
{
        if (!list)
                return json_null();
        json_t *array = json_array();
        for (char **item = list; *item; item++)
                (void)json_array_append_new(array, json_string(*item));
        return array;
}

static json_t *positive(uint64_t number)
{
        return number > 0 ? json_integer((json_int_t)MIN(number, (uint64_t)INT64_MAX)) : json_null();
}

static int entry_object(const struct gateway_entry *entry, json_t **ret, struct error *err)
{
        json_t *secret;
        int r = credentials(entry, &secret, err);
        if (r < 0)
                return r;
        json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:o, s:s?, s:s?}", "name", entry->name, "kind",
            gateway_kind_name(entry->kind), "addresses", texts(entry->addresses), "max_bytes",
            positive(entry->max_bytes), "max_files", positive(entry->max_files), "ca_bundle",
            entry->ca_bundle, "proxy", entry->proxy);
        int missing = object ? 0 : -1;
        if (entry->kind == GATEWAY_WEB) {
                json_decref(secret);
                missing |= json_object_set_new(object, "urls", texts(entry->prefixes));
                missing |= json_object_set_new(object, "query", json_boolean(entry->query));
                missing |= json_object_set_new(object, "git", json_boolean(entry->git));
        } else {
                missing |= json_object_set_new(object, "credentials", secret);
                missing |= json_object_set_new(object, "url", json_string(entry->url));
                missing |= json_object_set_new(object, "hosts", texts(entry->hosts));
                missing |= json_object_set_new(object, "packages",
                    json_pack("{s:o, s:o}", "allow", texts(entry->allow), "deny", texts(entry->deny)));
                missing |= json_object_set_new(object, "sha256", texts(entry->sha256));
                missing |= json_object_set_new(object, "sdist", json_boolean(entry->sdist));
                missing |= json_object_set_new(object, "yanked", json_boolean(entry->yanked));
        }
        if (missing) {
                json_decref(object);
                return error_oom(err);
        }
        *ret = object;
        return 0;
}

int gateway_config_text(const struct gateway_spec *spec, unsigned degraded_allowed, bool privileged,
    char **ret_text, struct error *err)
{
        _cleanup_(json_decrefp) json_t *root = json_pack("{s:s, s:{s:s, s:o}, s:[], s:{}, s:[]}", "base_url",
            GATEWAY_BASE_URL, "cache", "directory", spec->cache, "max_bytes", positive(spec->cache_bytes),
            "entries", "limits", "degraded_allowed");
        json_t *entries = json_object_get(root, "entries"), *limits = json_object_get(root, "limits");
        int missing = root ? 0 : -1;
        for (size_t i = 0; i < spec->entry_count; i++) {
                json_t *object = NULL;
                int r = entry_object(&spec->entries[i], &object, err);
                if (r < 0)
                        return r;
                missing |= json_array_append_new(entries, object);
        }
        for (int i = 0; i < GATEWAY_LIMIT_COUNT_; i++)
                missing |= json_object_set_new(
                    limits, gateway_limit_name((enum gateway_limit)i), positive(spec->limits[i]));
        if (privileged)
                missing |= json_object_set_new(
                    root, "user", json_pack("[I, I]", (json_int_t)spec->uid, (json_int_t)spec->gid));
        if (degraded_allowed & 1U << ENFORCE_LANDLOCK)
                missing |= json_array_append_new(json_object_get(root, "degraded_allowed"),
                    json_string(enforcement_name(ENFORCE_LANDLOCK)));
        char *text = missing ? NULL : json_dumps(root, JSON_COMPACT);
        if (!text)
                return error_oom(err);
        *ret_text = text;
        return 0;
}

int gateway_make_cache_parent(const char *cache, struct error *err)
{
        _cleanup_(freep) char *path = strdup(cache);
        if (!path)
                return error_oom(err);
        /* Each directory above the last one. Those that are there stay as they are. */
        for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                bool failed = mkdir(path, 0755) < 0 && errno != EEXIST;
                *slash = '/';
                if (failed)
                        return error_set(err, ERROR_STATE, errno, "name another directory as network.cache",
                            "network.cache: making the directories above %s", cache);
        }
        return 0;
}
