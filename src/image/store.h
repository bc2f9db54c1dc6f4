/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native engine's images on disk: /var/lib/mai-sandbox/images, or for an ordinary user
 * $XDG_DATA_HOME/mai-sandbox/images (~/.local/share). A directory for each, with "root", the tree, and
 * image.json.
 *
 * Invariants: an image is there with all of it or not at all (made under another name and renamed); nothing
 * in it changes afterwards. A shared flock on its directory means that it is in use, the exclusive one that
 * it is being made or removed; locks die with their processes, so that what is left unfinished is known by
 * its name and by nobody holding it.
 */
#pragma once

#include "image/info.h"

#define IMAGE_ROOT "root"

struct image_store {
        int directory; /* -1: there is none yet */
        char *path;
};
#define IMAGE_STORE_INIT                                                                                    \
        {                                                                                                   \
                .directory = -1                                                                             \
        }
void image_store_close(struct image_store *store);

/* `make`: with the directories, where they are missing. Else it may come without one. */
int image_store_open(bool make, struct image_store *ret, struct error *err);

/* ---- Using ---- */

/* The image's directory, locked as in use for as long as the descriptor (or a copy of it) is open. */
int image_store_use(const struct image_store *store, const char *name, int *ret_fd, struct image_info *ret,
    struct error *err);

/* The same in one go, for a run. */
int image_use(const char *name, int *ret_fd, struct image_info *ret, struct error *err);

/* Called for each image, by name. A return other than 0 ends it, and is returned. */
typedef int (*image_visitor)(const struct image_info *info, bool in_use, void *user);
int image_store_list(const struct image_store *store, image_visitor visit, void *user, struct error *err);

/* ERROR_BUSY while a run uses it. */
int image_store_remove(const struct image_store *store, const char *name, struct error *err);

/* Removes what imports left that did not come to their end, and what was replaced while in use. */
void image_store_prune(const struct image_store *store);

/* ---- Making ---- */

/* An image in the making. */
struct image_draft {
        int fd; /* its directory; locked */
        char name[40];
};

int image_draft_begin(const struct image_store *store, struct image_draft *ret, struct error *err);
/* Makes it the image of that name, in place of one that there may be. */
int image_draft_commit(const struct image_store *store, struct image_draft *draft,
    const struct image_info *info, struct error *err);
/* Removes it, if it is still a draft. */
void image_draft_drop(const struct image_store *store, struct image_draft *draft);
