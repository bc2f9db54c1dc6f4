/* SPDX-License-Identifier: Apache-2.0 */
#include "image/info.h"

#include "util/fd.h"

#include <fcntl.h>
#include <jansson.h>

#define INFO_MAX (64U << 10)

#define TEXT(member) offsetof(struct image_info, member), sizeof(((struct image_info *)0)->member)
#define NUMBER(member) offsetof(struct image_info, member), 0

static const struct {
        const char *key;
        size_t offset, size; /* 0: a number */
} members[] = {
    {"name", TEXT(name)},
    {"digest", TEXT(digest)},
    {"manifest_digest", TEXT(manifest_digest)},
    {"format", TEXT(format)},
    {"created", TEXT(created)},
    {"search_path", TEXT(search_path)},
    {"layers", NUMBER(layers)},
    {"size", NUMBER(size)},
    {"files", NUMBER(files)},
    {"skipped", NUMBER(skipped)},
};

static json_t *to_json(const struct image_info *info)
{
        json_t *json = json_object();
        for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
                const char *at = (const char *)info + members[i].offset;
                json_t *value;
                if (members[i].size == 0)
                        value = json_integer((json_int_t) * (const uint64_t *)(const void *)at);
                else
                        value = *at ? json_string(at) : json_null();
                (void)json_object_set_new(json, members[i].key, value); /* NULL shows in what is dumped */
        }
        return json;
}

char *image_info_json(const struct image_info *info, bool in_use)
{
        json_t *json = to_json(info);
        (void)json_object_set_new(json, "in_use", json_boolean(in_use));
        char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        return text;
}

int image_info_write(int directory, const struct image_info *info, struct error *err)
{
        json_t *json = to_json(info);
        _cleanup_(freep) char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
        json_decref(json);
        if (!text)
                return error_oom(err);
        _cleanup_(closep) int fd =
            openat(directory, IMAGE_INFO_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
        return r < 0 ? error_set(err, ERROR_IMAGE, -r, NULL, "writing what is known of the image") : 0;
}

int image_info_read(int directory, struct image_info *ret, struct error *err)
{
        _cleanup_(closep) int fd = openat(directory, IMAGE_INFO_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_(freep) char *text = NULL;
        size_t size = 0;
        int r = fd < 0 ? -errno : fd_read_whole(fd, INFO_MAX, &text, &size);
        json_t *json = r == 0 ? json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (!json)
                return error_set(err, ERROR_IMAGE, r < 0 ? -r : EBADMSG, "import it again",
                    "image: reading " IMAGE_INFO_FILE);
        struct image_info info = {};
        for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
                const json_t *value = json_object_get(json, members[i].key);
                char *at = (char *)&info + members[i].offset;
                if (members[i].size == 0)
                        *(uint64_t *)(void *)at = (uint64_t)json_integer_value(value);
                else if (json_is_string(value))
                        (void)snprintf(at, members[i].size, "%s", json_string_value(value));
        }
        json_decref(json);
        *ret = info;
        return 0;
}
