/* SPDX-License-Identifier: Apache-2.0 */
#include "importer/import.h"

#include "importer/layout.h"
#include "importer/unpack.h"

#include <fcntl.h>

/* Told no more often than that. */
#define TELL_EVERY (1U << 20)

/* Headers, padding and what a whiteout pass reads twice, beside the bytes of files. */
#define OVERHEAD (UINT64_C(1) << 30)

static void tell(const struct import *import)
{
        if (import->progress)
                import->progress(&import->message, import->user);
}

static void on_bytes(uint64_t bytes, void *user)
{
        struct import *import = user;
        uint64_t before = import->message.progress.bytes_done;
        import->message.progress.bytes_done = MIN(before + bytes, import->message.progress.bytes);
        if (before / TELL_EVERY != import->message.progress.bytes_done / TELL_EVERY)
                tell(import);
}

static int open_at_start(
    struct import *import, struct layer *layer, int fd, bool told, struct setup_failure *failure)
{
        if (lseek(fd, 0, SEEK_SET) < 0)
                return failure_set(failure, errno, NULL, NULL, "reading the archive");
        if (told) {
                layer->progress = on_bytes;
                layer->user = import;
        }
        return layer_open(layer, fd, import->max_bytes + OVERHEAD, failure);
}

/* ---- Plain archives ---- */

static int import_tar(struct import *import, struct tree *tree, struct setup_failure *failure)
{
        char packed[SHA256_HEX_SIZE], plain[SHA256_HEX_SIZE];
        _cleanup_(layer_close) struct layer layer = {.fd = -1};
        int r = open_at_start(import, &layer, import->source, true, failure);
        if (r == 0)
                r = unpack(tree, &layer, UNPACK_ALL, failure);
        if (r == 0)
                r = layer_finish(&layer, packed, plain, failure);
        if (r == 0 && tree->entries == 0)
                r = failure_set(failure, 0, NULL, NULL, "there is nothing in the archive");
        if (r < 0)
                return r;
        struct importer_message done = {.version = IMPORTER_PROTOCOL_VERSION, .type = IMPORTER_DONE};
        done.done.layers = 1;
        (void)snprintf(done.done.format, sizeof done.done.format, "tar");
        (void)snprintf(done.done.digest, sizeof done.done.digest, "sha256:%s", plain);
        import->message = done;
        return 0;
}

/* ---- Layers ---- */

static int check_digest(
    size_t index, const char *what, const char *said, const char *seen, struct setup_failure *failure)
{
        if (!*said || strcmp(said, seen) == 0)
                return 0;
        return failure_set(failure, 0, NULL, "get the image again",
            "layer %zu of the image has the %s sha256:%s and should have sha256:%s", index + 1, what, seen,
            said);
}

/* What it takes away from the layers below comes first, wherever it stands in the archive. */
static int apply_layer(struct import *import, struct tree *tree, const struct layout *layout, size_t index,
    struct setup_failure *failure)
{
        const struct layout_layer *said = &layout->layers[index];
        char packed[SHA256_HEX_SIZE], plain[SHA256_HEX_SIZE];
        int r = 0;
        if (index > 0) {
                _cleanup_(layer_close) struct layer layer = {.fd = -1};
                r = open_at_start(import, &layer, said->fd, false, failure);
                if (r == 0)
                        r = unpack(tree, &layer, UNPACK_WHITEOUTS, failure);
                if (r < 0)
                        return r;
        }
        _cleanup_(layer_close) struct layer layer = {.fd = -1};
        r = open_at_start(import, &layer, said->fd, true, failure);
        if (r == 0)
                r = unpack(tree, &layer, UNPACK_ENTRIES, failure);
        if (r == 0)
                r = layer_finish(&layer, packed, plain, failure);
        if (r == 0)
                r = check_digest(index, "digest", said->packed, packed, failure);
        return r < 0 ? r : check_digest(index, "diff_id", said->plain, plain, failure);
}

static int import_layout(
    struct import *import, struct tree *tree, int directory, struct setup_failure *failure)
{
        _cleanup_(layout_clear) struct layout layout = {};
        int r = layout_read(directory, &layout, failure);
        if (r < 0)
                return r;
        import->message.progress.parts = (uint32_t)layout.layer_count;
        import->message.progress.bytes = 0;
        for (size_t i = 0; i < layout.layer_count; i++)
                import->message.progress.bytes += layout.layers[i].size;
        for (size_t i = 0; i < layout.layer_count; i++) {
                tell(import);
                r = apply_layer(import, tree, &layout, i, failure);
                if (r < 0)
                        return r;
                import->message.progress.parts_done++;
        }
        tell(import);
        struct importer_message done = {.version = IMPORTER_PROTOCOL_VERSION, .type = IMPORTER_DONE};
        done.done.layers = (uint32_t)layout.layer_count;
        (void)snprintf(done.done.format, sizeof done.done.format, "%s", layout.format);
        (void)snprintf(done.done.digest, sizeof done.done.digest, "%s", layout.digest);
        (void)snprintf(
            done.done.manifest_digest, sizeof done.done.manifest_digest, "%s", layout.manifest_digest);
        (void)snprintf(done.done.search_path, sizeof done.done.search_path, "%s", layout.search_path);
        import->message = done;
        return 0;
}

/* ---- Archives: of a tree, or of a layout ---- */

/* 1: there is a file in it by which a layout is known; 0: there is none. */
static int holds_layout(struct import *import, struct setup_failure *failure)
{
        static const char *const system[] = {"usr", "bin", "etc", "lib"}; /* then it is a tree, and large */
        _cleanup_(layer_close) struct layer layer = {.fd = -1};
        int r = open_at_start(import, &layer, import->source, false, failure);
        while (r >= 0) {
                struct archive_entry *header;
                char path[PATH_MAX];
                r = layer_next(&layer, &header, failure);
                if (r <= 0)
                        return r;
                const char *name = archive_entry_pathname(header);
                if (!name)
                        continue; /* said where it is unpacked */
                r = tree_normalise(name, path, failure);
                if (r == 0 && (strcmp(path, "oci-layout") == 0 || strcmp(path, "manifest.json") == 0))
                        return 1;
                size_t first = strcspn(path, "/");
                for (size_t i = 0; i < ARRAY_SIZE(system); i++)
                        if (strlen(system[i]) == first && strncmp(path, system[i], first) == 0)
                                return 0;
        }
        return r;
}

/* The parts go to a directory of their own, by the same rules as any tree. */
static int import_archive_of_layout(struct import *import, struct tree *tree, struct setup_failure *failure)
{
        _cleanup_(tree_clear) struct tree parts = TREE_INIT;
        _cleanup_(layer_close) struct layer layer = {.fd = -1};
        parts.root = import->layout;
        parts.max_bytes = import->max_bytes;
        parts.max_entries = import->max_entries;
        int r = open_at_start(import, &layer, import->source, false, failure);
        if (r == 0)
                r = unpack(&parts, &layer, UNPACK_ALL, failure);
        return r < 0 ? r : import_layout(import, tree, import->layout, failure);
}

static int import_source(struct import *import, struct tree *tree, struct setup_failure *failure)
{
        struct stat st;
        if (fstat(import->source, &st) < 0)
                return failure_set(failure, errno, NULL, NULL, "looking at the source");
        if (S_ISDIR(st.st_mode)) {
                if (!layout_is_one(import->source))
                        return failure_set(failure, 0, NULL,
                            "name an archive, or a directory with an OCI layout",
                            "the directory has no \"oci-layout\" in it");
                return import_layout(import, tree, import->source, failure);
        }
        if (!S_ISREG(st.st_mode))
                return failure_set(failure, 0, NULL, "name a file", "it is neither a file nor a directory");
        int r = holds_layout(import, failure);
        if (r > 0)
                return import_archive_of_layout(import, tree, failure);
        import->message.progress.parts = 1;
        import->message.progress.bytes = (uint64_t)st.st_size;
        return r < 0 ? r : import_tar(import, tree, failure);
}

int import_run(struct import *import, struct setup_failure *failure)
{
        _cleanup_(tree_clear) struct tree tree = TREE_INIT;
        tree.root = import->root;
        tree.max_bytes = import->max_bytes;
        tree.max_entries = import->max_entries;
        import->message =
            (struct importer_message){.version = IMPORTER_PROTOCOL_VERSION, .type = IMPORTER_PROGRESS};
        /* Whatever the archive says of it: everybody must be able to enter. */
        if (fchmod(import->root, 0755) < 0)
                return failure_set(failure, errno, NULL, NULL, "making the image's root");
        int r = import_source(import, &tree, failure);
        if (r < 0)
                return r;
        import->message.done.bytes = tree.bytes;
        import->message.done.entries = tree.entries;
        import->message.done.skipped = tree.skipped;
        return 0;
}
