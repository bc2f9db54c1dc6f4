/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pull.h"

#include "sandbox/native/container.h"

static int tell(const struct image_import_progress *progress, void *user)
{
        const struct image_pull *pull = user;
        const struct image_progress shown = {.parts_done = progress->parts_done,
            .parts = progress->parts,
            .bytes_done = progress->bytes_done,
            .bytes = progress->bytes};
        return pull->progress ? pull->progress(&shown, pull->user) : 0;
}

int native_pull(struct backend *backend, const struct image_pull *pull, char ret_digest[IMAGE_DIGEST_SIZE],
    struct error *err)
{
        _cleanup_(image_store_close) struct image_store store = IMAGE_STORE_INIT;
        struct image_info info;
        const struct image_import import = {
            .source = -1,
            .name = pull->name ? pull->name : pull->reference,
            .progress = tell,
            .user = (void *)pull,
        };
        int r = image_name_check(import.name, err);
        if (r == 0)
                r = image_store_open(true, &store, err);
        if (r == 0)
                r = image_pull(&store, pull->reference, &import, &info, err);
        if (r == 0)
                (void)snprintf(ret_digest, IMAGE_DIGEST_SIZE, "%s", info.digest);
        return r;
}
