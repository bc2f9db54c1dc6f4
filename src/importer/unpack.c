/* SPDX-License-Identifier: Apache-2.0 */
#include "importer/unpack.h"

#define WHITEOUT ".wh."
#define WHITEOUT_SIZE 4
#define OPAQUE ".wh..wh..opq"
#define RESERVED ".wh..wh." /* of the file system that had them first; means nothing to us */

static const char *last_part(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

/* "dir/.wh.name" takes "dir/name" away, "dir/.wh..wh..opq" all that is in dir so far. */
static int white_out(struct tree *tree, const char *path, struct setup_failure *failure)
{
        const char *name = last_part(path);
        char target[PATH_MAX], checked[PATH_MAX];
        int above = (int)(name - path);
        if (strcmp(name, OPAQUE) == 0) {
                (void)snprintf(target, sizeof target, "%.*s", MAX(above - 1, 0), path);
                return tree_remove_children(tree, target, failure);
        }
        if (strncmp(name, RESERVED, sizeof RESERVED - 1) == 0)
                return 0;
        (void)snprintf(target, sizeof target, "%.*s%s", above, path, name + WHITEOUT_SIZE);
        /* ".wh." and ".wh.." name the directory itself, ".wh..." the one above. */
        int r = tree_normalise(target, checked, failure);
        if (r == 0 && strcmp(target, checked) != 0)
                r = failure_set(failure, 0, NULL, NULL, "the archive has a whiteout without a name in it");
        return r < 0 ? r : tree_remove(tree, checked, failure);
}

/* The content of one file. Holes stay holes. */
static int copy_data(
    struct layer *layer, int fd, const struct tree_entry *entry, struct setup_failure *failure)
{
        for (;;) {
                const void *data;
                size_t size;
                la_int64_t offset;
                int r = archive_read_data_block(layer->inner, &data, &size, &offset);
                if (r == ARCHIVE_EOF)
                        break;
                if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
                        return failure_set(failure, 0, NULL, NULL, "reading \"%.100s\": %.120s", entry->path,
                            archive_error_string(layer->inner));
                if (offset < 0 || (uint64_t)offset > entry->size || size > entry->size - (uint64_t)offset)
                        return failure_set(failure, 0, NULL, NULL,
                            "the archive has more of \"%.100s\" than it says", entry->path);
                for (size_t done = 0; done < size;) {
                        ssize_t n = pwrite(fd, (const char *)data + done, size - done, offset + (off_t)done);
                        if (n < 0 && errno != EINTR)
                                return failure_set(failure, errno, NULL,
                                    errno == ENOSPC ? "make room for the image" : NULL, "writing \"%.100s\"",
                                    entry->path);
                        done += n > 0 ? (size_t)n : 0;
                }
        }
        return ftruncate(fd, (off_t)entry->size) < 0
                   ? failure_set(failure, errno, NULL, NULL, "writing \"%.100s\"", entry->path)
                   : 0;
}

static int add_file(struct tree *tree, struct layer *layer, struct archive_entry *header,
    struct tree_entry *entry, struct setup_failure *failure)
{
        la_int64_t size = archive_entry_size_is_set(header) ? archive_entry_size(header) : 0;
        if (size < 0)
                return failure_set(failure, 0, NULL, NULL, "the archive has a file of less than no bytes");
        entry->size = (uint64_t)size;
        _cleanup_(closep) int fd = tree_add_file(tree, entry, failure);
        if (fd < 0)
                return fd;
        int r = copy_data(layer, fd, entry, failure);
        return r < 0 ? r : tree_finish_file(fd, entry, failure);
}

static int add_entry(struct tree *tree, struct layer *layer, struct archive_entry *header, const char *path,
    struct setup_failure *failure)
{
        char target[PATH_MAX];
        struct tree_entry entry = {
            .path = path,
            .mode = archive_entry_perm(header),
            .root_owned = archive_entry_uid(header) == 0,
            .mtime = {.tv_sec = archive_entry_mtime(header), .tv_nsec = archive_entry_mtime_nsec(header)},
        };
        if (archive_entry_hardlink(header)) {
                int r = tree_normalise(archive_entry_hardlink(header), target, failure);
                return r < 0 ? r : tree_add_link(tree, &entry, target, failure);
        }
        const char *link = archive_entry_symlink(header);
        switch (archive_entry_filetype(header)) {
        case AE_IFREG:
                return add_file(tree, layer, header, &entry, failure);
        case AE_IFDIR:
                return tree_add_directory(tree, &entry, failure);
        case AE_IFLNK:
                if (!link || !*link || strlen(link) >= PATH_MAX)
                        return failure_set(
                            failure, 0, NULL, NULL, "the archive has the link \"%.100s\" to nowhere", path);
                return tree_add_symlink(tree, &entry, link, failure);
        default: /* a device would be the host's own; nobody listens at a socket or a FIFO */
                if (tree->skipped >= tree->max_entries)
                        return failure_set(failure, 0, NULL, NULL, "the archive has too many special files");
                tree->skipped++;
                return 0;
        }
}

int unpack(struct tree *tree, struct layer *layer, enum unpack_what what, struct setup_failure *failure)
{
        struct archive_entry *header;
        for (;;) {
                char path[PATH_MAX];
                int r = layer_next(layer, &header, failure);
                if (r <= 0)
                        return r;
                const char *name = archive_entry_pathname(header);
                if (!name)
                        return failure_set(
                            failure, 0, NULL, NULL, "the archive has an entry without a name");
                r = tree_normalise(name, path, failure);
                if (r < 0)
                        return r;
                bool whiteout = what != UNPACK_ALL && strncmp(last_part(path), WHITEOUT, WHITEOUT_SIZE) == 0;
                if (whiteout && what == UNPACK_WHITEOUTS)
                        r = white_out(tree, path, failure);
                else if (!whiteout && what != UNPACK_WHITEOUTS)
                        r = add_entry(tree, layer, header, path, failure);
                if (r < 0)
                        return r;
        }
}
