/* SPDX-License-Identifier: Apache-2.0 */
#include "importer/tree.h"

#include "util/defence.h"
#include "util/remove_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

/* Of a name that cannot be trusted, in messages. */
#define SHOWN "%.100s"

void tree_clear(struct tree *tree)
{
        close_and_forget(&tree->parent);
        tree->parent_path[0] = '\0';
}

static void forget_parent(struct tree *tree)
{
        tree_clear(tree);
}

int tree_normalise(const char *name, char ret[PATH_MAX], struct setup_failure *failure)
{
        size_t size = 0;
        unsigned depth = 0;
        for (const char *at = name; *at;) {
                size_t part = strcspn(at, "/");
                if (part == 2 && memcmp(at, "..", 2) == 0)
                        return failure_set(failure, 0, NULL, "use an archive that somebody trustworthy made",
                            "the archive names \"" SHOWN "\", which leads out of the tree", name);
                if (part > 0 && !(part == 1 && *at == '.')) {
                        if (part > NAME_MAX || size + part + 2 > PATH_MAX || ++depth > TREE_DEPTH_MAX)
                                return failure_set(failure, ENAMETOOLONG, NULL, NULL,
                                    "the archive has a name that is too long or too deep: \"" SHOWN "\"",
                                    name);
                        if (size > 0)
                                ret[size++] = '/';
                        memcpy(ret + size, at, part);
                        size += part;
                }
                at += part;
                at += strspn(at, "/");
        }
        ret[size] = '\0';
        return 0;
}

/* ---- Finding places ---- */

/*
 * A directory of the tree. A link on the way is an error and not followed, wherever it leads to: an archive
 * that unpacks through a link of its own means harm or was put together wrongly.
 */
static int open_directory(const struct tree *tree, const char *path)
{
        struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
        if (!DEFENCE("image-beneath"))
                how.resolve = 0;
        int fd = (int)syscall(SYS_openat2, tree->root, *path ? path : ".", &how, sizeof how);
        return fd < 0 ? -errno : fd;
}

static int fail_at(struct setup_failure *failure, int error, const char *doing, const char *path)
{
        if (error == ELOOP)
                return failure_set(failure, error, NULL, "use an archive that somebody trustworthy made",
                    "the archive has \"" SHOWN "\", which goes through a symbolic link", path);
        if (error == ENOTDIR)
                return failure_set(failure, error, NULL, NULL,
                    "the archive has \"" SHOWN "\" below something that is no directory", path);
        const char *hint = error == ENOSPC ? "make room for the image" : NULL;
        return failure_set(failure, error, NULL, hint, "%s \"" SHOWN "\"", doing, path);
}

static int count_entry(struct tree *tree, struct setup_failure *failure)
{
        if (tree->entries >= tree->max_entries)
                return failure_set(failure, 0, NULL,
                    "raise the bound with --max-files, if you trust the image",
                    "the image has more than %llu files and directories",
                    (unsigned long long)tree->max_entries);
        tree->entries++;
        return 0;
}

/* The directory at `path`; with `make`, it and those above it are made where they are missing. */
static int find_directory(struct tree *tree, const char *path, bool make, struct setup_failure *failure)
{
        if (tree->parent >= 0 && strcmp(tree->parent_path, path) == 0)
                return tree->parent;
        int fd = open_directory(tree, path);
        for (size_t end = 0; fd == -ENOENT && make && path[end];) {
                char part[PATH_MAX];
                end += strcspn(path + end, "/");
                (void)snprintf(part, sizeof part, "%.*s", (int)end, path);
                end += strspn(path + end, "/");
                _cleanup_(closep) int there = open_directory(tree, part);
                if (there >= 0)
                        continue;
                int r = there == -ENOENT ? count_entry(tree, failure)
                                         : fail_at(failure, -there, "opening", part);
                if (r < 0)
                        return r;
                char *slash = strrchr(part, '/');
                if (slash)
                        *slash = '\0';
                _cleanup_(closep) int above = open_directory(tree, slash ? part : "");
                if (above < 0 || mkdirat(above, slash ? slash + 1 : part, 0755) < 0)
                        return fail_at(failure, above < 0 ? -above : errno, "making the directory of", path);
                if (!path[end])
                        fd = open_directory(tree, path);
        }
        if (fd < 0)
                return fd == -ENOENT && !make ? fd : fail_at(failure, -fd, "opening", path);
        forget_parent(tree);
        (void)snprintf(tree->parent_path, sizeof tree->parent_path, "%s", path);
        tree->parent = fd;
        return fd;
}

/* The directory that holds `path`, and the last part of it. */
static int find_parent(
    struct tree *tree, const char *path, bool make, const char **ret_name, struct setup_failure *failure)
{
        char above[PATH_MAX];
        const char *slash = strrchr(path, '/');
        (void)snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - path) : 0, path);
        *ret_name = slash ? slash + 1 : path;
        return find_directory(tree, above, make, failure);
}

/* Takes away what has that name, so that nothing is ever written through it. */
static int clear_place(struct tree *tree, int parent, const char *name)
{
        if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR)
                return -errno;
        int r = remove_tree(parent, name);
        /* The directory may have been the one kept, or above it; the parent itself is still there. */
        if (parent != tree->parent)
                forget_parent(tree);
        return r;
}

/* ---- Adding ---- */

/* No bits that change who somebody is. Owners are not kept: who belongs to no one but "others" reads. */
static unsigned kept_mode(const struct tree_entry *entry, unsigned always)
{
        unsigned mode = (entry->mode & 0777) | always;
        /* What belongs to an ordinary user of the image is there for the program, which is none in
         * particular. */
        if (!entry->root_owned)
                mode |= (entry->mode >> 6) & 05;
        return mode;
}

static int begin(
    struct tree *tree, const struct tree_entry *entry, const char **ret_name, struct setup_failure *failure)
{
        if (!*entry->path)
                return failure_set(failure, 0, NULL, NULL, "the archive's root is no directory");
        int r = count_entry(tree, failure);
        return r < 0 ? r : find_parent(tree, entry->path, true, ret_name, failure);
}

int tree_add_directory(struct tree *tree, const struct tree_entry *entry, struct setup_failure *failure)
{
        const char *name = "";
        unsigned mode = kept_mode(entry, 0700); /* we go on to write in it */
        if (!*entry->path)
                return fchmod(tree->root, mode | 0755) < 0 ? fail_at(failure, errno, "making", "/") : 0;
        int parent = begin(tree, entry, &name, failure);
        if (parent < 0)
                return parent;
        struct stat st;
        if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode)) {
                int r = clear_place(tree, parent, name);
                if (r < 0 || mkdirat(parent, name, 0700) < 0)
                        return fail_at(failure, r < 0 ? -r : errno, "making", entry->path);
        }
        /* A directory, as we have just seen or made it, and nobody else is here to change that. */
        return fchmodat(parent, name, mode, 0) < 0 ? fail_at(failure, errno, "making", entry->path) : 0;
}

int tree_add_symlink(
    struct tree *tree, const struct tree_entry *entry, const char *target, struct setup_failure *failure)
{
        const char *name = "";
        int parent = begin(tree, entry, &name, failure);
        if (parent < 0)
                return parent;
        int r = clear_place(tree, parent, name);
        return r < 0 || symlinkat(target, parent, name) < 0
                   ? fail_at(failure, r < 0 ? -r : errno, "making the link", entry->path)
                   : 0;
}

int tree_add_link(
    struct tree *tree, const struct tree_entry *entry, const char *target, struct setup_failure *failure)
{
        const char *name = "", *target_name = "";
        struct stat there, here;
        int r = find_parent(tree, target, false, &target_name, failure);
        if (r == -ENOENT || (r >= 0 && fstatat(r, target_name, &there, AT_SYMLINK_NOFOLLOW) < 0))
                return failure_set(failure, ENOENT, NULL, NULL,
                    "the archive links \"" SHOWN "\" to \"" SHOWN "\", which it does not have", entry->path,
                    target);
        if (r < 0)
                return r;
        if (!S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
                return failure_set(failure, 0, NULL, NULL,
                    "the archive links \"" SHOWN "\" to \"" SHOWN "\", which is no file", entry->path,
                    target);
        _cleanup_(closep) int from = fcntl(r, F_DUPFD_CLOEXEC, 0);
        int parent = from < 0 ? -errno : begin(tree, entry, &name, failure);
        if (parent < 0)
                return from < 0 ? fail_at(failure, errno, "linking", entry->path) : parent;
        if (fstatat(parent, name, &here, AT_SYMLINK_NOFOLLOW) == 0 && here.st_dev == there.st_dev &&
            here.st_ino == there.st_ino)
                return 0;
        r = clear_place(tree, parent, name);
        return r < 0 || linkat(from, target_name, parent, name, 0) < 0
                   ? fail_at(failure, r < 0 ? -r : errno, "linking", entry->path)
                   : 0;
}

int tree_add_file(struct tree *tree, const struct tree_entry *entry, struct setup_failure *failure)
{
        const char *name = "";
        if (entry->size > tree->max_bytes - MIN(tree->bytes, tree->max_bytes))
                return failure_set(failure, 0, NULL,
                    "raise the bound with --max-size, if you trust the image",
                    "the image has more than %llu bytes in files", (unsigned long long)tree->max_bytes);
        int parent = begin(tree, entry, &name, failure);
        if (parent < 0)
                return parent;
        tree->bytes += entry->size;
        int r = clear_place(tree, parent, name);
        int fd =
            r < 0 ? -1 : openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? fail_at(failure, r < 0 ? -r : errno, "making", entry->path) : fd;
}

int tree_finish_file(int fd, const struct tree_entry *entry, struct setup_failure *failure)
{
        /* Times of files stay: Python's compiled files name their source's. */
        const struct timespec times[2] = {entry->mtime, entry->mtime};
        if (fchmod(fd, kept_mode(entry, 0600)) < 0 || futimens(fd, times) < 0)
                return fail_at(failure, errno, "finishing", entry->path);
        return 0;
}

/* ---- Removing ---- */

int tree_remove(struct tree *tree, const char *path, struct setup_failure *failure)
{
        const char *name = "";
        int parent = find_parent(tree, path, false, &name, failure);
        if (parent == -ENOENT)
                return 0;
        int r = parent < 0 ? parent : remove_tree(parent, name);
        forget_parent(tree);
        return parent >= 0 && r < 0 ? fail_at(failure, -r, "removing", path) : r;
}

int tree_remove_children(struct tree *tree, const char *path, struct setup_failure *failure)
{
        int directory = find_directory(tree, path, false, failure);
        if (directory == -ENOENT)
                return 0;
        int r = directory < 0 ? directory : remove_children(directory);
        forget_parent(tree);
        return directory >= 0 && r < 0 ? fail_at(failure, -r, "emptying", path) : r;
}
