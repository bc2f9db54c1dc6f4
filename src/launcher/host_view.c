/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/staging.h"

#include "util/defence.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

/* Larger files of /etc are left out rather than copied. */
#define ETC_FILE_MAX (256U << 10)

/* What Python and its libraries look for in /etc. Copied, or taken as links. Absent ones are left out. */
static const char *const etc_files[] = {
    "ld.so.cache", /* the dynamic loader: without it every library is searched for */
    "localtime",   /* time zone */
    "os-release",  /* platform.freedesktop_os_release() */
    "mime.types",  /* mimetypes */
    "services",    /* socket.getservbyname() */
    "protocols",
    "matplotlibrc",    /* Debian's default for matplotlib */
    "ssl/openssl.cnf", /* ssl */
    "locale.alias",
};
static const char *const etc_directories[] = {
    "alternatives", /* numpy's BLAS is a link through it */
    "ssl/certs",    /* certificate authorities */
    "fonts",        /* fontconfig */
    "python3",
    "python3.11", /* sitecustomize, of which Debian's is a link here */
    "python3.12",
    "python3.13",
};

/* Top-level names that are links into /usr on a merged system, or directories of their own. */
static const char *const system_directories[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

/*
 * A read-only view of a host directory with inodes of its own: an overlay of two lower directories (the
 * second one empty, since an overlay without an upper directory wants two) and no upper. Locks and watches
 * on it reach nobody else.
 */
static int add_view(int staging, const char *path, const char *host_path, struct setup_failure *failure)
{
        char lower[160];
        if (!DEFENCE("overlay")) {
                int copy = mount_copy(AT_FDCWD, host_path, false);
                if (copy < 0 || mount_restrict(copy, PLAIN | MOUNT_ATTR_RDONLY, false) < 0 ||
                    mount_attach(copy, staging, path) < 0)
                        return failure_set(failure, errno, NULL, NULL, "binding %s", host_path);
                return copy;
        }
        _cleanup_(closep) int empty = openat(staging, STAGING_EMPTY, O_PATH | O_CLOEXEC);
        (void)snprintf(lower, sizeof lower, "%s:/proc/self/fd/%d", host_path, empty);
        const struct mount_option options[] = {{"lowerdir", lower}};
        unsigned attributes = (DEFENCE("nosuid") ? PLAIN : MOUNT_ATTR_NODEV) | MOUNT_ATTR_RDONLY;
        return staging_mount(staging, path, "overlay", options, ARRAY_SIZE(options), attributes, failure);
}

static int copy_etc_file(int root, int host_etc, const char *name, struct setup_failure *failure)
{
        char path[64], target[256];
        struct stat st;
        (void)snprintf(path, sizeof path, "etc/%s", name);
        if (fstatat(host_etc, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        if (S_ISLNK(st.st_mode)) {
                ssize_t n = readlinkat(host_etc, name, target, sizeof target - 1);
                if (n <= 0)
                        return 0;
                target[n] = '\0';
                return symlinkat(target, root, path) < 0
                           ? failure_set(failure, errno, NULL, NULL, "linking %s", path)
                           : 0;
        }
        if (!S_ISREG(st.st_mode) || st.st_size > (off_t)ETC_FILE_MAX)
                return 0;
        _cleanup_(closep) int file = openat(host_etc, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (file < 0)
                return 0; /* not ours to read */
        _cleanup_(closep) int copy = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        off_t done = 0;
        ssize_t n = copy < 0 ? -1 : 1;
        while (n > 0 && done < st.st_size)
                n = sendfile(copy, file, &done, (size_t)(st.st_size - done));
        return n < 0 ? failure_set(failure, errno, NULL, NULL, "copying /etc/%s", name) : 0;
}

/*
 * A view of one directory of /etc. For where there can be none of the whole: in a container something is
 * often mounted on single files of it, and from a user namespace the kernel lets nobody look beneath such a
 * mount.
 */
static int add_etc_view(int staging, const char *name, struct setup_failure *failure)
{
        char path[64], host_path[64];
        (void)snprintf(path, sizeof path, STAGING_ROOT "/etc/%s", name);
        (void)snprintf(host_path, sizeof host_path, "/etc/%s", name);
        _cleanup_(closep) int view = add_view(staging, path, host_path, failure);
        return view < 0 ? view : 0;
}

int host_view_fill_etc(int staging, int root, struct setup_failure *failure)
{
        _cleanup_(closep) int host_etc = openat(AT_FDCWD, "/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (host_etc < 0)
                return failure_set(failure, errno, "image", NULL, "opening /etc");
        int r = staging_directory(root, "etc/ssl", 0755, failure);
        for (size_t i = 0; i < ARRAY_SIZE(etc_files) && r == 0; i++)
                r = copy_etc_file(root, host_etc, etc_files[i], failure);
        if (r < 0)
                return r;

        /* One view of /etc serves all its directories; it is attached only while copies of parts are taken.
         */
        _cleanup_(closep) int view = add_view(staging, STAGING_ETC, "/etc", failure);
        if (view < 0 && view != -EINVAL)
                return view;
        for (size_t i = 0; i < ARRAY_SIZE(etc_directories); i++) {
                char path[64];
                struct stat st;
                if (fstatat(host_etc, etc_directories[i], &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                    !S_ISDIR(st.st_mode))
                        continue;
                (void)snprintf(path, sizeof path, "etc/%s", etc_directories[i]);
                r = staging_directory(root, path, 0755, failure);
                if (r < 0)
                        return r;
                if (view < 0) {
                        r = add_etc_view(staging, etc_directories[i], failure);
                        if (r < 0)
                                return r;
                        continue;
                }
                _cleanup_(closep) int part = mount_copy(view, etc_directories[i], false);
                r = part < 0 ? part : mount_attach(part, root, path);
                if (r < 0)
                        return failure_set(failure, -r, "image", NULL, "showing /%s", path);
        }
        return 0;
}

int host_view_fill_system(int staging, int root, struct setup_failure *failure)
{
        int r = staging_directory(root, "usr", 0755, failure);
        if (r < 0)
                return r;
        _cleanup_(closep) int usr = add_view(staging, STAGING_ROOT "/usr", "/usr", failure);
        if (usr < 0)
                return usr;
        for (size_t i = 0; i < ARRAY_SIZE(system_directories); i++) {
                const char *name = system_directories[i];
                char host_path[32], target[64];
                struct stat st;
                (void)snprintf(host_path, sizeof host_path, "/%s", name);
                if (lstat(host_path, &st) < 0)
                        continue;
                if (S_ISLNK(st.st_mode)) {
                        ssize_t n = readlink(host_path, target, sizeof target - 1);
                        if (n <= 0)
                                continue;
                        target[n] = '\0';
                        if (symlinkat(target, root, name) < 0)
                                return failure_set(failure, errno, "image", NULL, "linking %s", host_path);
                } else if (S_ISDIR(st.st_mode)) {
                        char path[48];
                        (void)snprintf(path, sizeof path, STAGING_ROOT "/%s", name);
                        r = staging_directory(root, name, 0755, failure);
                        if (r < 0)
                                return r;
                        _cleanup_(closep) int view = add_view(staging, path, host_path, failure);
                        if (view < 0)
                                return view;
                }
        }
        return 0;
}
