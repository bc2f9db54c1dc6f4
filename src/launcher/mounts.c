/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/mounts.h"

#include "util/defence.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

/* umount2(): not in the kernel's exported headers. */
#define DETACH 2

/* A system call's result as the project has it. */
static int result(long r)
{
        return r < 0 ? -errno : (int)r;
}

int mount_new(const char *type, const struct mount_option *options, size_t n, unsigned attributes)
{
        _cleanup_(closep) int context = result(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
        if (context < 0)
                return context;
        for (size_t i = 0; i < n; i++) {
                int command = options[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
                if (syscall(SYS_fsconfig, context, command, options[i].key, options[i].value, 0) < 0)
                        return -errno;
        }
        if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return -errno;
        return result(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes));
}

int mount_copy(int directory, const char *path, bool recursive)
{
        unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW |
                         (recursive ? AT_RECURSIVE : 0U) | (*path ? 0U : AT_EMPTY_PATH);
        return result(syscall(SYS_open_tree, directory, path, flags));
}

/* The place that `path` names inside of `root`, with no link followed: an O_PATH descriptor or -errno. */
static int open_place(int root, const char *path)
{
        struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        if (!DEFENCE("image-places")) {
                how.flags = O_PATH | O_CLOEXEC;
                how.resolve = RESOLVE_IN_ROOT;
        }
        return result(syscall(SYS_openat2, root, path, &how, sizeof how));
}

static int move_to(int mount, int place)
{
        return result(syscall(
            SYS_move_mount, mount, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
}

int mount_attach(int mount, int root, const char *path)
{
        _cleanup_(closep) int place = open_place(root, path);
        return place < 0 ? place : move_to(mount, place);
}

int mount_cover(const char *cover, int root, const char *path)
{
        _cleanup_(closep) int place = open_place(root, path);
        if (place < 0)
                return place;
        _cleanup_(closep) int copy = mount_copy(AT_FDCWD, cover, false);
        return copy < 0 ? copy : move_to(copy, place);
}

int mount_restrict(int mount, unsigned attributes, bool recursive)
{
        struct mount_attr attr = {.attr_set = attributes};
        unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
        return result(syscall(SYS_mount_setattr, mount, "", flags, &attr, sizeof attr));
}

int mount_on_top(int mount, const char *path)
{
        return result(syscall(SYS_move_mount, mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH));
}

int mount_all_private(void)
{
        return result(syscall(SYS_mount, NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
}

void mount_detach(const char *path)
{
        (void)syscall(SYS_umount2, path, DETACH);
}

int mount_become_root(int fd)
{
        if (fchdir(fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
                return -errno;
        /* The old root lies on top of the new one now, and "." is it. */
        if (syscall(SYS_umount2, ".", DETACH) < 0 || chdir("/") < 0)
                return -errno;
        return 0;
}
