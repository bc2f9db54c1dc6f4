/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The staging root, in which the launcher sits while it puts a container's tree together, and the small
 * steps that this takes. No program ever sees it.
 */
#pragma once

#include "launcher/mounts.h"
#include "protocol/failure.h"

#include <sys/types.h>

/* Names in it. */
#define STAGING_ROOT "root"   /* the container's tree */
#define STAGING_PROC "proc"   /* the host's: a new /proc may only be mounted where a full one is in sight */
#define STAGING_EMPTY "empty" /* a directory and a file to cover things with */
#define STAGING_BLANK "blank"
#define STAGING_ETC                                                                                         \
        "etc" /* where mounts have to be attached so that copies can be taken of parts of them              \
               */
#define STAGING_FILES "files"
#define STAGING_DEV "dev"           /* where /dev waits for the root of an image to be made */
#define STAGING_IMAGE "image"       /* the tree of an image, as it lies on disk */
#define STAGING_SKELETON "skeleton" /* and what is put over it */

#define PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* Below a directory of ours; there may be one already. */
int staging_directory(int directory, const char *path, mode_t mode, struct setup_failure *failure);

/* A small file, in place of one that there may be. */
int staging_file(
    int directory, const char *path, const char *text, size_t size, struct setup_failure *failure);

/* Makes the file system `type` and attaches it at `path` of the staging root. Returns its descriptor. */
int staging_mount(int staging, const char *path, const char *type, const struct mount_option *options,
    size_t n, unsigned attributes, struct setup_failure *failure);

/* host_view.c: what a container sees of this machine itself, /usr and parts of /etc, into `root`. */
int host_view_fill_system(int staging, int root, struct setup_failure *failure);
int host_view_fill_etc(int staging, int root, struct setup_failure *failure);

/*
 * image_view.c: the tree of an image instead. Every place that we mount something at, and every file of /etc
 * that is ours, lies in the skeleton, a layer above the image's own tree: so whatever the image has there (a
 * link, a file, nothing: CVE-2025-52565, CVE-2025-52881) is never even looked at.
 */

/* Before the mount namespace is unshared: the working directory becomes the image's, and goes along. */
int image_view_take(struct setup_failure *failure);
/* After it: the tree is attached to the staging root, where later steps find it. */
int image_view_keep(int staging, struct setup_failure *failure);
/* When the skeleton is complete: both layers become the container's root, with /dev in it. Its descriptor.
 */
int image_view_join(struct setup_failure *failure);
