/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/staging.h"

#include "util/fd.h"

#include <fcntl.h>
#include <sys/stat.h>

int staging_directory(int directory, const char *path, mode_t mode, struct setup_failure *failure)
{
        if (mkdirat(directory, path, mode) < 0 && errno != EEXIST)
                return failure_set(failure, errno, NULL, NULL, "making directory %s", path);
        return 0;
}

int staging_file(
    int directory, const char *path, const char *text, size_t size, struct setup_failure *failure)
{
        _cleanup_(closep) int fd =
            openat(directory, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
        int r = fd < 0 ? -errno : fd_write_all(fd, text, size);
        return r < 0 ? failure_set(failure, -r, NULL, NULL, "writing %s", path) : 0;
}

int staging_mount(int staging, const char *path, const char *type, const struct mount_option *options,
    size_t n, unsigned attributes, struct setup_failure *failure)
{
        int mount = mount_new(type, options, n, attributes);
        if (mount < 0)
                return failure_set(failure, -mount, NULL, NULL, "making a %s for %s", type, path);
        int r = mount_attach(mount, staging, path);
        if (r < 0) {
                (void)close(mount);
                return failure_set(failure, -r, NULL, NULL, "attaching the %s at %s", type, path);
        }
        return mount;
}
