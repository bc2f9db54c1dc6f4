/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file system that a container sees. tree_prepare() builds everything that does not depend on a request
 * (while the caller still reads its policy); tree_enter() adds what does, in the container's own namespaces,
 * and moves in.
 *
 * Invariants: the launcher itself lives in a staging root that holds nothing of the host but /proc; every
 * inode below the container's root belongs to a file system made for it (overlay, tmpfs, proc), so that no
 * lock or watch reaches another container; every mount is nosuid and, but for /dev, nodev; destinations are
 * opened without following links.
 */
#pragma once

#include "protocol/failure.h"
#include "protocol/launcher.h"

/*
 * Unshares the mount namespace, builds the staging root with the host image's tree in it (/usr and parts of
 * /etc), or with the tree of the image at LAUNCHER_IMAGE_FD (image.h), and makes it our root. *ret_proc is
 * the host's /proc, which stays reachable only through it.
 */
int tree_prepare(bool image, int *ret_proc, struct setup_failure *failure);

/* In the launcher, when a request has come: the names that depend on it, and everything read-only. */
int tree_finish(const struct launcher_create *create, bool image, struct setup_failure *failure);

/*
 * In the child, which is PID 1 of its namespace and has the container's ids: private writable directories,
 * /proc, and pivot. Bits of enum enforcement that had to be waived are added to *degraded.
 */
int tree_enter(const struct launcher_create *create, uint32_t *degraded, struct setup_failure *failure);

/* In the launcher: lets go of the tree, of which the child has a copy. */
void tree_forget(void);

/* What Landlock leaves writable. NULL-terminated. */
extern const char *const tree_writable[];
