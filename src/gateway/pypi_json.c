/* SPDX-License-Identifier: Apache-2.0 */
/* PEP 691: the page of a project as JSON. */
#include "gateway/pypi.h"

#include <jansson.h>

/* "core-metadata" since PEP 714, "dist-info-metadata" before; an object of hashes, or a boolean. */
static const char *metadata_hash(const json_t *file)
{
        static const char *const keys[] = {"core-metadata", "dist-info-metadata", "data-dist-info-metadata"};
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
                const json_t *value = json_object_get(file, keys[i]);
                if (json_is_object(value))
                        return json_string_value(json_object_get(value, "sha256"));
        }
        return NULL;
}

static int take_file(struct pypi_pages *pages, const char *base, const json_t *file)
{
        const json_t *yanked = json_object_get(file, "yanked");
        const json_t *size = json_object_get(file, "size");
        struct pypi_link link = {
            .file = json_string_value(json_object_get(file, "filename")),
            .url = json_string_value(json_object_get(file, "url")),
            .sha256 = json_string_value(json_object_get(json_object_get(file, "hashes"), "sha256")),
            .metadata = metadata_hash(file),
            .requires_python = json_string_value(json_object_get(file, "requires-python")),
            .upload_time = json_string_value(json_object_get(file, "upload-time")),
            .yanked = json_is_string(yanked) || json_is_true(yanked),
            .yanked_reason = json_string_value(yanked),
            .has_size = json_is_integer(size) && json_integer_value(size) >= 0,
        };
        if (!link.file || !link.url)
                return -EINVAL;
        if (!link.sha256)
                link.sha256 = ""; /* a fragment does not count here */
        if (link.has_size)
                link.size = (uint64_t)json_integer_value(size);
        return pypi_take(pages, base, &link);
}

int pypi_read_json(struct pypi_pages *pages, const char *base, const char *data, size_t size)
{
        json_t *document = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);
        const json_t *files = json_object_get(document, "files");
        int r = json_is_array(files) ? 0 : -EINVAL;
        size_t count = json_array_size(files);
        for (size_t i = 0; r == 0 && i < count; i++)
                r = take_file(pages, base, json_array_get(files, i));
        json_decref(document);
        return r;
}
