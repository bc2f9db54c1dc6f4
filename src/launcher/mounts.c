/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/syscall.h>

int mount_new(const char *type, const struct mount_option *options, size_t n, unsigned attributes)
{
        _cleanup_(closep) int context = fsopen(type, FSOPEN_CLOEXEC);
        if (context < 0)
                return -errno;
        for (size_t i = 0; i < n; i++) {
                unsigned command = options[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
                if (fsconfig(context, command, options[i].key, options[i].value, 0) < 0)
                        return -errno;
        }
        if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return -errno;
        int fd = fsmount(context, FSMOUNT_CLOEXEC, attributes);
        return fd < 0 ? -errno : fd;
}

int mount_copy(int directory, const char *path, bool recursive)
{
        unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW |
                         (recursive ? AT_RECURSIVE : 0U) | (*path ? 0U : AT_EMPTY_PATH);
        int fd = open_tree(directory, path, flags);
        return fd < 0 ? -errno : fd;
}

int mount_attach(int mount, int root, const char *path)
{
        struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        _cleanup_(closep) int target = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
        if (target < 0)
                return -errno;
        if (move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
                return -errno;
        return 0;
}

int mount_restrict(int mount, unsigned attributes, bool recursive)
{
        struct mount_attr attr = {.attr_set = attributes};
        unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
        return mount_setattr(mount, "", flags, &attr, sizeof attr) < 0 ? -errno : 0;
}
