/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds bytes to the readers of index pages: the first byte says as what. What must hold: every file that is
 * listed has a digest, a path under its entry and a URL that the entry may reach; what is written is JSON
 * again, and shows no URL of the upstream.
 */
#include "gateway/index.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
        if (!condition)
                abort();
}

static char *origins[] = {(char *)"https://index.test:443", (char *)"https://files.test:443", NULL};
static struct index_entry pypi = {.name = (char *)"pypi", .kind = ENTRY_PYPI, .origins = origins};
static struct index_entry wide = {
    .name = (char *)"pypi", .kind = ENTRY_PYPI, .origins = origins, .sdist = true, .yanked = true};
static struct index_entry npm = {.name = (char *)"npm", .kind = ENTRY_NPM, .origins = origins};

static const struct index_source sources[] = {
    {&pypi, "thing", "https://index.test/simple/thing/", "application/vnd.pypi.simple.v1+json", "http://gw",
        false},
    {&wide, "thing", "https://index.test/simple/thing/", "text/html", "http://gw", false},
    {&wide, "thing", "https://index.test/simple/thing/", NULL, "http://gw", false},
    {&npm, "thing", "https://index.test/thing", "application/json", "http://gw", false},
    {&npm, "thing", "https://index.test/thing", "application/json", "http://gw", true},
};

static void check_listed(const struct listing *listing, const char *path)
{
        const struct listed_file *file = listing_find(listing, path);
        must(file != NULL && entry_reaches(file->entry, file->url));
        must(strncmp(file->digest.text, "sha256-", 7) == 0 || strncmp(file->digest.text, "sha512-", 7) == 0);
        must(!strchr(file->url, '#'));
}

static void check_pypi(const struct index_page *page, const struct listing *listing)
{
        json_t *document = json_loadb(page->json.data, page->json.size, JSON_REJECT_DUPLICATES, NULL);
        json_t *files = json_object_get(document, "files");
        must(json_is_array(files) && json_array_size(files) == page->files);
        for (size_t i = 0; i < json_array_size(files); i++) {
                const json_t *file = json_array_get(files, i);
                const char *path = json_string_value(json_object_get(file, "url"));
                must(path && strncmp(path, "/pypi/files/", 12) == 0);
                check_listed(listing, path);
        }
        json_decref(document);
        must(!strcasestr(strbuf_text(&page->html), "<script") &&
             !strstr(strbuf_text(&page->html), "href=\"h"));
}

static void check_npm(const struct index_page *page, const struct listing *listing)
{
        json_t *document = json_loadb(page->json.data, page->json.size, JSON_REJECT_DUPLICATES, NULL);
        json_t *versions = json_object_get(document, "versions"), *value;
        const char *version;
        must(json_is_object(versions) && json_object_size(versions) == page->files);
        json_object_foreach (versions, version, value) {
                const char *url =
                    json_string_value(json_object_get(json_object_get(value, "dist"), "tarball"));
                must(url && strncmp(url, "http://gw/npm/thing/-/", 22) == 0);
                check_listed(listing, url + strlen("http://gw"));
        }
        json_decref(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0)
                return 0;
        const struct index_source *source = &sources[data[0] % ARRAY_SIZE(sources)];
        struct listing listing = {};
        struct index_page page;
        char *copy = malloc(size); /* of the exact size, so that one byte too far is seen */
        if (!copy)
                return 0;
        memcpy(copy, data + 1, size - 1);
        if (index_read(source, copy, size - 1, &listing, &page) == REASON_NONE) {
                if (source->entry->kind == ENTRY_NPM)
                        check_npm(&page, &listing);
                else
                        check_pypi(&page, &listing);
                index_page_clear(&page);
        }
        free(copy);
        listing_clear(&listing);
        return 0;
}
