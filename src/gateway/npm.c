/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/npm.h"

#include "gateway/names.h"
#include "gateway/route.h"
#include "gateway/url.h"

#include <jansson.h>

#define VERSIONS_MAX 20000
#define VERSION_BYTES_MAX 256

/* What is copied of a version: what an installer reads. */
static const char *const version_fields[] = {"name", "version", "deprecated", "dependencies",
    "devDependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta",
    "bundleDependencies", "bundledDependencies", "acceptDependencies", "bin", "directories", "engines", "os",
    "cpu", "libc", "hasInstallScript", "_hasShrinkwrap", "funding"};

/* More of it, and of the package, where the whole packument was asked for: what people read. */
static const char *const full_version_fields[] = {
    "description", "license", "keywords", "main", "type", "exports", "scripts", "author"};
static const char *const full_package_fields[] = {"description", "license", "keywords", "time", "author"};

/* Of `dist`; its tarball is ours. */
static const char *const dist_fields[] = {"integrity", "shasum", "fileCount", "unpackedSize", "signatures"};

static int copy_fields(const json_t *from, json_t *to, const char *const *fields, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                json_t *value = json_object_get(from, fields[i]);
                if (value && json_object_set(to, fields[i], value) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static bool is_version(const char *text)
{
        size_t length = strlen(text);
        return length > 0 && length <= VERSION_BYTES_MAX &&
               strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-") == length;
}

/*
 * Lists the tarball of a version and says where the guest finds it. 1 if it is there, 0 if it is left out:
 * another host, no sha512, a name that can't be.
 */
static int list_tarball(const struct index_source *source, const json_t *dist, struct listing *listing,
    char ret_path[ROUTE_PATH_MAX + 1])
{
        const char *tarball = json_string_value(json_object_get(dist, "tarball"));
        const char *integrity = json_string_value(json_object_get(dist, "integrity"));
        struct digest digest;
        _cleanup_(freep) char *url = NULL;
        _cleanup_(freep) char *fragment = NULL;
        _cleanup_(freep) char *file = NULL;
        if (!tarball || !integrity || !digest_from_integrity(integrity, &digest))
                return 0;
        int r = url_resolve(source->url, tarball, &url, &fragment);
        if (r == 0)
                r = url_file_name(url, &file);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (!name_file(file) || !entry_reaches(source->entry, url) ||
            route_npm_file(source->entry, source->name, file, ret_path) < 0)
                return 0;
        r = listing_add(listing, source->entry, ret_path, url, &digest);
        return r == 0 ? 1 : r == -EEXIST ? 0 : r;
}

/* A version as the guest gets it, or NULL in *ret if it is left out. */
static int read_version(const struct index_source *source, const char *version, const json_t *from,
    struct listing *listing, json_t **ret)
{
        char path[ROUTE_PATH_MAX + 1], url[URL_MAX_BYTES + ROUTE_PATH_MAX + 1];
        const json_t *from_dist = json_object_get(from, "dist");
        *ret = NULL;
        if (!is_version(version))
                return 0;
        int r = list_tarball(source, from_dist, listing, path);
        if (r <= 0)
                return r;
        (void)snprintf(url, sizeof url, "%s%s", source->base_url, path);

        json_t *dist = json_pack("{s:s}", "tarball", url);
        json_t *to = json_object();
        r = dist && to ? copy_fields(from_dist, dist, dist_fields, ARRAY_SIZE(dist_fields)) : -ENOMEM;
        if (r == 0)
                r = copy_fields(from, to, version_fields, ARRAY_SIZE(version_fields));
        if (r == 0 && source->full)
                r = copy_fields(from, to, full_version_fields, ARRAY_SIZE(full_version_fields));
        if (r == 0)
                r = json_object_set(to, "dist", dist) == 0 ? 0 : -ENOMEM;
        json_decref(dist);
        if (r < 0) {
                json_decref(to);
                return r;
        }
        *ret = to;
        return 0;
}

static int read_versions(const struct index_source *source, json_t *from, json_t *to,
    struct listing *listing, struct index_page *page)
{
        const char *version;
        json_t *value;
        if (json_object_size(from) > VERSIONS_MAX)
                return -E2BIG;
        json_object_foreach (from, version, value) {
                json_t *taken;
                int r = read_version(source, version, value, listing, &taken);
                if (r < 0)
                        return r;
                if (!taken) {
                        page->dropped++;
                        continue;
                }
                if (json_object_set_new(to, version, taken) < 0)
                        return -ENOMEM;
                page->files++;
        }
        return 0;
}

/* Tags that point to a version which is still there. */
static int read_tags(json_t *from, const json_t *versions, json_t *to)
{
        const char *tag;
        json_t *value;
        json_object_foreach (from, tag, value) {
                const char *version = json_string_value(value);
                if (version && json_object_get(versions, version) && json_object_set(to, tag, value) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int dump(const char *data, size_t size, void *buffer)
{
        return strbuf_append(buffer, data, size);
}

int npm_read(const struct index_source *source, const char *data, size_t size, struct listing *listing,
    struct index_page *page)
{
        _cleanup_(json_decrefp) json_t *document = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);
        const char *name = json_string_value(json_object_get(document, "name"));
        json_t *from = json_object_get(document, "versions");
        if (!name || strcmp(name, source->name) != 0 || !json_is_object(from))
                return -EINVAL;

        _cleanup_(json_decrefp) json_t *versions = json_object();
        _cleanup_(json_decrefp) json_t *tags = json_object();
        _cleanup_(json_decrefp) json_t *to = json_pack("{s:s}", "name", name);
        if (!versions || !tags || !to)
                return -ENOMEM;
        int r = read_versions(source, from, versions, listing, page);
        if (r == 0)
                r = read_tags(json_object_get(document, "dist-tags"), versions, tags);
        static const char *const always[] = {"modified"};
        if (r == 0)
                r = copy_fields(document, to, always, ARRAY_SIZE(always));
        if (r == 0 && source->full)
                r = copy_fields(document, to, full_package_fields, ARRAY_SIZE(full_package_fields));
        if (r < 0)
                return r;
        if (json_object_set(to, "dist-tags", tags) < 0 || json_object_set(to, "versions", versions) < 0)
                return -ENOMEM;
        return json_dump_callback(to, dump, &page->json, JSON_COMPACT) == 0 ? 0 : -E2BIG;
}
