/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/listing.h"

#include <search.h>

/* A run that reads hundreds of large pages comes to a few hundred thousand. */
#define LISTED_MAX 2000000

static int compare(const void *a, const void *b)
{
        return strcmp(((const struct listed_file *)a)->path, ((const struct listed_file *)b)->path);
}

static void free_file(void *node)
{
        struct listed_file *file = node;
        close_and_forget(&file->fd);
        free(file->path);
        free(file->url);
        free(file);
}

struct listed_file *listing_find(const struct listing *listing, const char *path)
{
        struct listed_file wanted = {.path = (char *)path};
        void *const *found = tfind(&wanted, (void *const *)&listing->root, compare);
        return found ? *(struct listed_file *const *)found : NULL;
}

int listing_add(struct listing *listing, const struct index_entry *entry, const char *path, const char *url,
    const struct digest *digest)
{
        const struct listed_file *there = listing_find(listing, path);
        if (there)
                return strcmp(there->digest.text, digest->text) == 0 ? 0 : -EEXIST;
        if (listing->count >= LISTED_MAX)
                return -E2BIG;
        struct listed_file *file = calloc(1, sizeof *file);
        if (!file)
                return -ENOMEM;
        *file = (struct listed_file){
            .path = strdup(path), .url = strdup(url), .entry = entry, .digest = *digest, .fd = -1};
        if (!file->path || !file->url || !tsearch(file, &listing->root, compare)) {
                free_file(file);
                return -ENOMEM;
        }
        listing->count++;
        return 0;
}

void listing_clear(struct listing *listing)
{
        tdestroy(listing->root, free_file);
        *listing = (struct listing){};
}
