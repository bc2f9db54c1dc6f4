/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree that an image becomes, filled from archives that nobody trusts.
 *
 * Invariants: every change goes through a descriptor of the directory that holds the name, which was found
 * from the tree's root without leaving it and without following any link (openat2); the last part of a name
 * is never followed either; only directories, regular files and symbolic links come to be, with neither
 * setuid bits nor extended attributes, and no more of them, or of their bytes, than the bounds say.
 */
#pragma once

#include "protocol/failure.h"

#include <limits.h>
#include <sys/stat.h>
#include <time.h>

/* Directories within directories. What removes a tree or walks it may rely on that. */
#define TREE_DEPTH_MAX 128U

struct tree {
        int root;                        /* borrowed */
        uint64_t max_bytes, max_entries; /* of all archives together */
        uint64_t bytes, entries, skipped;
        char parent_path[PATH_MAX]; /* the directory opened last; neighbours in an archive share it */
        int parent;                 /* -1: none */
};
#define TREE_INIT                                                                                           \
        {                                                                                                   \
                .root = -1, .parent = -1                                                                    \
        }

void tree_clear(struct tree *tree);

/*
 * A name of an archive in the form that all functions here take: relative, without ".", empty parts and
 * slashes at the ends; "" is the root itself. ".." and names that are too long or too deep are refused.
 */
int tree_normalise(const char *name, char ret[PATH_MAX], struct setup_failure *failure);

/* What stands in a header, as far as it is kept. */
struct tree_entry {
        const char *path;
        unsigned mode;
        bool root_owned;
        struct timespec mtime;
        uint64_t size;
};

int tree_add_directory(struct tree *tree, const struct tree_entry *entry, struct setup_failure *failure);
int tree_add_symlink(
    struct tree *tree, const struct tree_entry *entry, const char *target, struct setup_failure *failure);
/* Another name for a file that the tree has already; `target` normalised as well. */
int tree_add_link(
    struct tree *tree, const struct tree_entry *entry, const char *target, struct setup_failure *failure);

/* A new file, empty. Returns a descriptor, to be filled and handed to tree_finish_file(). */
int tree_add_file(struct tree *tree, const struct tree_entry *entry, struct setup_failure *failure);
int tree_finish_file(int fd, const struct tree_entry *entry, struct setup_failure *failure);

/* What a later layer takes away: one name, or all that is in a directory. 0 also if there is nothing. */
int tree_remove(struct tree *tree, const char *path, struct setup_failure *failure);
int tree_remove_children(struct tree *tree, const char *path, struct setup_failure *failure);
