/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's file-descriptor based mount calls, in the few
 * combinations that we need. All return a descriptor or -errno.
 */
#pragma once

#include "util/common.h"

#include <linux/mount.h> /* MOUNT_ATTR_* */

struct mount_option {
        const char *key;
        const char *value; /* NULL: a flag */
};

/* A new file system, detached. `attributes`: MOUNT_ATTR_*. */
int mount_new(const char *type, const struct mount_option *options, size_t n, unsigned attributes);

/* A detached copy of the mount(s) at `path` below `directory` (AT_FDCWD, or a descriptor; "" for itself). */
int mount_copy(int directory, const char *path, bool recursive);

/*
 * Attaches a detached mount at `path` below `root`, resolving it inside of `root` and following no link at
 * all. 0 or -errno.
 */
int mount_attach(int mount, int root, const char *path);

/*
 * Covers `path` below `root` with a copy of the mount at
 * `cover`. 0, -ENOENT if there is nothing to cover, or -errno.
 */
int mount_cover(const char *cover, int root, const char *path);

/* Sets MOUNT_ATTR_* on a mount, and on those below it. 0 or -errno. */
int mount_restrict(int mount, unsigned attributes, bool recursive);

/* Puts a detached mount on top of whatever is at `path`. 0 or -errno. */
int mount_on_top(int mount, const char *path);

/* Makes every mount of this namespace private: nothing propagates in or out. */
int mount_all_private(void);

/* Lets go of the mount at `path` and those below it, now or as soon as nobody uses them. */
void mount_detach(const char *path);

/* Makes the mount at `fd` the root of this process and its namespace, and lets go of the old root. */
int mount_become_root(int fd);
