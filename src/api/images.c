/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine's images: making, listing and removing them. */
#include "api/internal.h"

#include "image/import.h"

#include <jansson.h>

struct relay {
        mai_image_handler handler;
        void *user;
};

static int relay_progress(const struct image_import_progress *progress, void *user)
{
        const struct relay *relay = user;
        const mai_image_progress shown = {.parts_done = progress->parts_done,
            .parts = progress->parts,
            .bytes_done = progress->bytes_done,
            .bytes = progress->bytes};
        return relay->handler ? relay->handler(&shown, relay->user) : 0;
}

static int import_image(
    const char *path, struct image_import *import, struct image_info *ret, struct error *err)
{
        _cleanup_(image_store_close) struct image_store store = IMAGE_STORE_INIT;
        _cleanup_(closep) int source = -1;
        int r = image_name_check(import->name, err);
        if (r == 0)
                r = image_import_open(path, &source, err);
        if (r == 0)
                r = image_store_open(true, &store, err);
        import->source = source;
        return r < 0 ? r : image_import(&store, import, ret, err);
}

int mai_image_import(const char *path, const char *name, uint64_t max_bytes, uint64_t max_files,
    mai_image_handler handler, void *user, char **ret_json, mai_error **ret_error)
{
        struct error err = {};
        struct relay relay = {.handler = handler, .user = user};
        struct image_info info;
        struct image_import import = {.name = name,
            .max_bytes = max_bytes,
            .max_entries = max_files,
            .progress = relay_progress,
            .user = &relay};
        int r = import_image(path, &import, &info, &err);
        char *json = r == 0 ? image_info_json(&info, false) : NULL;
        if (r == 0 && !json)
                r = error_oom(&err);
        if (r < 0)
                return api_fail(r, &err, ret_error);
        *ret_json = json;
        return 0;
}

/* ---- Listing ---- */

struct mai_images {
        struct image_info *infos;
        mai_image *images; /* texts are those of `infos` */
        size_t count;
        char *json;
};

mai_images *mai_images_free(mai_images *images)
{
        if (!images)
                return NULL;
        free(images->infos);
        free(images->images);
        free(images->json);
        free(images);
        return NULL;
}

/* More than anybody has; the list is in memory. */
#define IMAGES_MAX 10000U

struct collecting {
        mai_images *images;
        json_t *json;
};

static int collect(const struct image_info *info, bool in_use, void *user)
{
        struct collecting *collecting = user;
        mai_images *images = collecting->images;
        if (images->count >= IMAGES_MAX)
                return -E2BIG;
        struct image_info *infos = realloc(images->infos, (images->count + 1) * sizeof *infos);
        if (infos)
                images->infos = infos;
        mai_image *shown = realloc(images->images, (images->count + 1) * sizeof *shown);
        if (shown)
                images->images = shown;
        _cleanup_(freep) char *text = image_info_json(info, in_use);
        if (!infos || !shown || !text ||
            json_array_append_new(collecting->json, json_loads(text, 0, NULL)) < 0)
                return -ENOMEM;
        infos[images->count] = *info;
        shown[images->count] = (mai_image){.size = info->size, .files = info->files, .in_use = in_use};
        images->count++;
        return 0;
}

static int list_images(mai_images *images, struct error *err)
{
        _cleanup_(image_store_close) struct image_store store = IMAGE_STORE_INIT;
        struct collecting collecting = {.images = images, .json = json_array()};
        int r = image_store_open(false, &store, err);
        if (r == 0) {
                r = image_store_list(&store, collect, &collecting, err);
                if (r < 0 && err->code == ERROR_NONE)
                        r = r == -ENOMEM ? error_oom(err)
                                         : error_set(err, ERROR_IMAGE, -r, NULL, "listing the images");
        }
        /* Only now do the texts stay where they are. */
        for (size_t i = 0; i < images->count; i++) {
                images->images[i].name = images->infos[i].name;
                images->images[i].digest = images->infos[i].digest;
                images->images[i].created = images->infos[i].created;
        }
        if (r == 0) {
                images->json = json_dumps(collecting.json, JSON_COMPACT);
                r = images->json ? 0 : error_oom(err);
        }
        json_decref(collecting.json);
        return r;
}

int mai_images_open(mai_images **ret, mai_error **ret_error)
{
        struct error err = {};
        mai_images *images = calloc(1, sizeof *images);
        int r = images ? list_images(images, &err) : error_oom(&err);
        if (r < 0) {
                (void)mai_images_free(images);
                return api_fail(r, &err, ret_error);
        }
        *ret = images;
        return 0;
}

size_t mai_images_count(const mai_images *images)
{
        return images->count;
}

const mai_image *mai_images_at(const mai_images *images, size_t index)
{
        return index < images->count ? &images->images[index] : NULL;
}

const char *mai_images_json(const mai_images *images)
{
        return images->json;
}

int mai_image_remove(const char *name, mai_error **ret_error)
{
        struct error err = {};
        _cleanup_(image_store_close) struct image_store store = IMAGE_STORE_INIT;
        int r = image_store_open(false, &store, &err);
        if (r == 0)
                r = image_store_remove(&store, name, &err);
        return r < 0 ? api_fail(r, &err, ret_error) : 0;
}
