/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/staging.h"

#include "protocol/launcher.h"
#include "util/defence.h"

#include <fcntl.h>

/*
 * The kernel makes an overlay only of mounts of its maker's own namespace, so the descriptor, which the
 * library opened in another one, is good for nothing but this: a working directory is carried over into the
 * copies of its mounts.
 */
int image_view_take(struct setup_failure *failure)
{
        return fchdir(LAUNCHER_IMAGE_FD) < 0
                   ? failure_set(failure, errno, "image", NULL, "entering the image's directory")
                   : 0;
}

int image_view_keep(int staging, struct setup_failure *failure)
{
        _cleanup_(closep) int tree = mount_copy(AT_FDCWD, LAUNCHER_IMAGE_ROOT, false);
        int r = tree < 0 ? tree : mount_restrict(tree, PLAIN | MOUNT_ATTR_RDONLY, false);
        if (r == 0)
                r = mount_attach(tree, staging, STAGING_IMAGE);
        return r < 0 ? failure_set(failure, -r, "image", NULL, "taking the image's tree") : 0;
}

int image_view_join(struct setup_failure *failure)
{
        /* The first is the uppermost. No inode is shared with another container: the overlay has its own. */
        const char *layers = DEFENCE("image-places") ? "/" STAGING_SKELETON ":/" STAGING_IMAGE
                                                     : "/" STAGING_IMAGE ":/" STAGING_SKELETON;
        const struct mount_option options[] = {{"lowerdir", layers}};
        _cleanup_(closep) int staging = openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_(closep) int root = staging_mount(staging, STAGING_ROOT, "overlay", options,
            ARRAY_SIZE(options), PLAIN | MOUNT_ATTR_RDONLY, failure);
        if (root < 0)
                return root;
        _cleanup_(closep) int dev = mount_copy(AT_FDCWD, "/" STAGING_DEV, true);
        int r = dev < 0 ? dev : mount_attach(dev, root, "dev");
        return r < 0 ? failure_set(failure, -r, "image", NULL, "attaching /dev") : take_fd(&root);
}
