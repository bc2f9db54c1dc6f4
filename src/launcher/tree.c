/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/tree.h"

#include "launcher/mounts.h"
#include "protocol/enforcement.h"
#include "util/defence.h"
#include "util/fd.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* Names in the staging root, which no program ever sees. */
#define STAGING_ROOT "root"   /* the container's tree */
#define STAGING_PROC "proc"   /* the host's: a new /proc may only be mounted where a full one is in sight */
#define STAGING_EMPTY "empty" /* a directory and a file to cover things with */
#define STAGING_BLANK "blank"
#define STAGING_ETC                                                                                         \
        "etc" /* where mounts have to be attached so that copies can be taken of parts of them              \
               */
#define STAGING_FILES "files"

#define PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

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

static const struct {
        const char *name;
        unsigned minor; /* of major 1 */
} devices[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};

static const struct {
        const char *name, *target;
} device_links[] = {{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"}};

/*
 * What /proc tells of the machine rather than of the container, or lets one do to it. Covered by an empty
 * file or directory of our own tmpfs, so that nobody can swap the cover (CVE-2025-31133). All of /proc is
 * read-only besides.
 */
static const struct {
        const char *path;
        bool directory;
} proc_masks[] = {
    {"proc/acpi", true},
    {"proc/asound", true},
    {"proc/bus", true},
    {"proc/driver", true},
    {"proc/fs", true},
    {"proc/irq", true},
    {"proc/scsi", true},
    {"proc/cmdline", false}, /* the host's boot parameters */
    {"proc/config.gz", false},
    {"proc/interrupts", false},
    {"proc/kallsyms", false},
    {"proc/kcore", false},
    {"proc/key-users", false},
    {"proc/keys", false},
    {"proc/latency_stats", false},
    {"proc/modules", false},
    {"proc/sched_debug", false},
    {"proc/sysrq-trigger", false},
    {"proc/timer_list", false},
};

const char *const tree_writable[] = {
    "/sandbox", "/tmp", "/dev/shm", "/dev/null", "/dev/zero", "/dev/full", NULL};

/* ---- Small steps ---- */

static int make_directory(int directory, const char *path, mode_t mode, struct setup_failure *failure)
{
        if (mkdirat(directory, path, mode) < 0 && errno != EEXIST)
                return failure_set(failure, errno, NULL, NULL, "making directory %s", path);
        return 0;
}

static int write_new_file(
    int directory, const char *path, const char *text, size_t size, struct setup_failure *failure)
{
        _cleanup_(closep) int fd =
            openat(directory, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
        int r = fd < 0 ? -errno : fd_write_all(fd, text, size);
        return r < 0 ? failure_set(failure, -r, NULL, NULL, "writing %s", path) : 0;
}

/* Makes the file system `type` and attaches it at `path` of the staging root. Returns its descriptor. */
static int add_mount(int staging, const char *path, const char *type, const struct mount_option *options,
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
        return add_mount(staging, path, "overlay", options, ARRAY_SIZE(options), attributes, failure);
}

/* ---- Preparing ---- */

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

static int fill_etc(int staging, int root, struct setup_failure *failure)
{
        _cleanup_(closep) int host_etc = openat(AT_FDCWD, "/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (host_etc < 0)
                return failure_set(failure, errno, "image", NULL, "opening /etc");
        int r = make_directory(root, "etc", 0755, failure);
        if (r == 0)
                r = make_directory(root, "etc/ssl", 0755, failure);
        if (r == 0)
                r = write_new_file(
                    root, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", 41, failure);
        if (r == 0)
                r = write_new_file(root, "etc/resolv.conf", "", 0, failure);
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
                r = make_directory(root, path, 0755, failure);
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

static int fill_system(int staging, int root, struct setup_failure *failure)
{
        int r = make_directory(root, "usr", 0755, failure);
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
                        r = make_directory(root, name, 0755, failure);
                        if (r < 0)
                                return r;
                        _cleanup_(closep) int view = add_view(staging, path, host_path, failure);
                        if (view < 0)
                                return view;
                }
        }
        return 0;
}

/* A device node of our own where we may make one (then not even a lock on it is shared), else the host's. */
static int add_device(int dev, size_t i, struct setup_failure *failure)
{
        const char *name = devices[i].name;
        if (mknodat(dev, name, S_IFCHR | 0666, makedev(1, devices[i].minor)) == 0)
                return 0;
        char host_path[32];
        (void)snprintf(host_path, sizeof host_path, "/dev/%s", name);
        int r = write_new_file(dev, name, "", 0, failure);
        if (r < 0)
                return r;
        _cleanup_(closep) int copy = mount_copy(AT_FDCWD, host_path, false);
        r = copy < 0 ? copy : mount_attach(copy, dev, name);
        return r < 0 ? failure_set(failure, -r, NULL, NULL, "showing %s", host_path) : 0;
}

static int fill_dev(int staging, int root, struct setup_failure *failure)
{
        int r = make_directory(root, "dev", 0755, failure);
        if (r < 0)
                return r;
        const struct mount_option options[] = {{"mode", "0755"}, {"size", "64k"}, {"nr_inodes", "32"}};
        _cleanup_(closep) int dev = add_mount(staging, STAGING_ROOT "/dev", "tmpfs", options,
            ARRAY_SIZE(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, failure);
        if (dev < 0)
                return dev;
        for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
                r = add_device(dev, i, failure);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ARRAY_SIZE(device_links); i++)
                if (symlinkat(device_links[i].target, dev, device_links[i].name) < 0)
                        return failure_set(
                            failure, errno, NULL, NULL, "linking /dev/%s", device_links[i].name);
        return make_directory(dev, "shm", 0755, failure);
}

static int make_staging(struct setup_failure *failure)
{
        const struct mount_option options[] = {{"mode", "0755"}, {"size", "256k"}};
        int staging = mount_new("tmpfs", options, ARRAY_SIZE(options), PLAIN);
        if (staging < 0)
                return failure_set(failure, -staging, NULL, NULL, "making the staging root");
        /* On top of the old root, which pivot_root needs to be its parent. */
        int r = mount_on_top(staging, "/");
        if (r < 0) {
                (void)close(staging);
                return failure_set(failure, -r, NULL, NULL, "attaching the staging root");
        }
        static const char *const names[] = {STAGING_ROOT, STAGING_PROC, STAGING_ETC, STAGING_FILES};
        r = 0;
        for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0; i++)
                r = make_directory(staging, names[i], 0755, failure);
        if (r == 0)
                r = make_directory(staging, STAGING_EMPTY, 0555, failure);
        if (r == 0)
                r = write_new_file(staging, STAGING_BLANK, "", 0, failure);
        if (r < 0) {
                (void)close(staging);
                return r;
        }
        return staging;
}

int tree_prepare(int *ret_proc, struct setup_failure *failure)
{
        if (unshare(CLONE_NEWNS) < 0)
                return failure_set(failure, errno, NULL,
                    "run as root, or allow unprivileged user namespaces", "making a mount namespace");
        int r = mount_all_private();
        if (r < 0)
                return failure_set(failure, -r, NULL, NULL, "making mounts private");
        _cleanup_(closep) int staging = make_staging(failure);
        if (staging < 0)
                return staging;

        const struct mount_option options[] = {{"mode", "0755"}, {"size", "4m"}};
        _cleanup_(closep) int root =
            add_mount(staging, STAGING_ROOT, "tmpfs", options, ARRAY_SIZE(options), PLAIN, failure);
        if (root < 0)
                return root;
        static const char *const mount_points[] = {"proc", "sandbox", "tmp", "run", "var"};
        r = 0;
        for (size_t i = 0; i < ARRAY_SIZE(mount_points) && r == 0; i++)
                r = make_directory(root, mount_points[i], 0755, failure);
        if (r == 0 && symlinkat("/tmp", root, "var/tmp") < 0)
                r = failure_set(failure, errno, NULL, NULL, "linking /var/tmp");
        if (r == 0)
                r = fill_system(staging, root, failure);
        if (r == 0)
                r = fill_etc(staging, root, failure);
        if (r == 0)
                r = fill_dev(staging, root, failure);
        if (r < 0)
                return r;

        _cleanup_(closep) int proc = mount_copy(AT_FDCWD, "/proc", true);
        r = proc < 0 ? proc : mount_attach(proc, staging, STAGING_PROC);
        if (r < 0)
                return failure_set(failure, -r, NULL, NULL, "keeping /proc in sight");
        r = mount_restrict(
            staging, MOUNT_ATTR_RDONLY, false); /* and so is every cover that is copied from it */
        if (r < 0)
                return failure_set(failure, -r, NULL, NULL, "making the staging root read-only");
        r = mount_become_root(staging);
        if (r < 0)
                return failure_set(failure, -r, NULL, NULL, "changing the root to the staging root");
        *ret_proc = take_fd(&proc);
        return 0;
}

/*
 * There is no /sys but for what the C library asks about the number of CPUs, so that os.cpu_count() is what
 * the container may use and not what the host has.
 */
static int show_cpus(int root, const struct launcher_create *create, struct setup_failure *failure)
{
        static const char *const levels[] = {
            "sys", "sys/devices", "sys/devices/system", "sys/devices/system/cpu"};
        for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
                int r = make_directory(root, levels[i], 0755, failure);
                if (r < 0)
                        return r;
        }
        int count = 0;
        for (size_t i = 0; i < LAUNCHER_CPU_WORDS; i++)
                count += __builtin_popcountll(create->cpus[i]);
        char text[32];
        int n = count > 1 ? snprintf(text, sizeof text, "0-%d\n", count - 1)
                          : snprintf(text, sizeof text, "0\n");
        return write_new_file(root, "sys/devices/system/cpu/online", text, (size_t)n, failure);
}

int tree_finish(const struct launcher_create *create, struct setup_failure *failure)
{
        _cleanup_(closep) int root = openat(AT_FDCWD, "/" STAGING_ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return failure_set(failure, errno, NULL, NULL, "opening the container's root");
        char text[512];
        int n = snprintf(text, sizeof text,
            "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
            "sandbox:x:%u:%u:sandbox:/tmp/home:/bin/sh\n"
            "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
            create->uid, create->gid);
        int r = write_new_file(root, "etc/passwd", text, (size_t)n, failure);
        n = snprintf(text, sizeof text, "root:x:0:\nsandbox:x:%u:\nnogroup:x:65534:\n", create->gid);
        if (r == 0)
                r = write_new_file(root, "etc/group", text, (size_t)n, failure);
        n = snprintf(text, sizeof text, "127.0.0.1 localhost %s\n::1 localhost ip6-localhost ip6-loopback\n",
            create->hostname);
        if (r == 0)
                r = write_new_file(root, "etc/hosts", text, (size_t)n, failure);
        r = r == 0 ? show_cpus(root, create, failure) : r;
        n = snprintf(text, sizeof text, "%s\n", create->hostname);
        if (r == 0)
                r = write_new_file(root, "etc/hostname", text, (size_t)n, failure);
        if (r < 0)
                return r;
        if ((create->flags & LAUNCHER_READ_WRITE_ROOT) || !DEFENCE("read-only"))
                return 0;
        r = mount_restrict(root, MOUNT_ATTR_RDONLY, true);
        return r < 0 ? failure_set(failure, -r, "read_only", NULL, "making the container's root read-only")
                     : 0;
}

void tree_forget(void)
{
        static const char *const places[] = {"/" STAGING_ROOT, "/" STAGING_ETC, "/" STAGING_PROC};
        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                mount_detach(places[i]);
}

/* ---- Entering ---- */

/* Entries of the writable file system that are ours: its root, three directories, HOME. */
#define OWN_INODES 5

static int add_writable(const struct launcher_create *create, int root, struct setup_failure *failure)
{
        char size[32], inodes[32], uid[16], gid[16];
        (void)snprintf(size, sizeof size, "%llu", (unsigned long long)create->disk_bytes);
        (void)snprintf(inodes, sizeof inodes, "%llu", (unsigned long long)create->inodes + OWN_INODES);
        (void)snprintf(uid, sizeof uid, "%u", create->uid);
        (void)snprintf(gid, sizeof gid, "%u", create->gid);
        const struct mount_option options[] = {
            {"size", size}, {"nr_inodes", inodes}, {"mode", "0755"}, {"uid", uid}, {"gid", gid}};
        _cleanup_(closep) int staging = openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_(closep) int files =
            add_mount(staging, STAGING_FILES, "tmpfs", options, ARRAY_SIZE(options), PLAIN, failure);
        if (files < 0)
                return files;

        static const struct {
                const char *name, *path;
                mode_t mode;
        } parts[] = {{"sandbox", "sandbox", 0755}, {"tmp", "tmp", 01777}, {"shm", "dev/shm", 01777}};
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                int r = make_directory(files, parts[i].name, parts[i].mode, failure);
                if (r < 0)
                        return r;
                _cleanup_(closep) int part = mount_copy(files, parts[i].name, false);
                r = part < 0 ? part : mount_attach(part, root, parts[i].path);
                if (r < 0)
                        return failure_set(failure, -r, "disk_limit", NULL, "attaching /%s", parts[i].path);
        }
        return 0;
}

static int add_proc(
    const struct launcher_create *create, int root, uint32_t *degraded, struct setup_failure *failure)
{
        _cleanup_(closep) int proc = mount_new("proc", NULL, 0,
            MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
                (DEFENCE("proc-mask") ? MOUNT_ATTR_RDONLY : 0));
        int r = proc < 0 ? proc : mount_attach(proc, root, "proc");
        if (r < 0)
                return failure_unenforced(failure, -r, "read_only",
                    "the host's own /proc must be fully visible to us: in a container, run it with its "
                    "/proc unmasked",
                    "mounting a /proc of the container's own");
        if (!DEFENCE("proc-mask"))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(proc_masks); i++) {
                r = mount_cover(proc_masks[i].directory ? "/" STAGING_EMPTY : "/" STAGING_BLANK, root,
                    proc_masks[i].path);
                if (r == 0 || r == -ENOENT)
                        continue; /* not every kernel has all of them */
                if (!(create->degraded_allowed & (1U << ENFORCE_PROC)))
                        return failure_unenforced(failure, -r, "read_only", "pass --allow-degraded proc",
                            "covering /%s", proc_masks[i].path);
                *degraded |= 1U << ENFORCE_PROC;
        }
        return 0;
}

int tree_enter(const struct launcher_create *create, uint32_t *degraded, struct setup_failure *failure)
{
        /* Mounts inherited across the user namespace are locked in place; a copy made here may become the
         * root. */
        _cleanup_(closep) int root = mount_copy(AT_FDCWD, "/" STAGING_ROOT, true);
        _cleanup_(closep) int staging = openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r = root < 0 ? root : mount_attach(root, staging, STAGING_ROOT);
        if (r < 0)
                return failure_set(failure, -r, NULL, NULL, "copying the container's tree");
        r = add_writable(create, root, failure);
        if (r < 0)
                return r;
        r = add_proc(create, root, degraded, failure);
        if (r < 0)
                return r;
        r = mount_become_root(root);
        return r < 0 ? failure_set(failure, -r, NULL, NULL, "changing the root to the container's") : 0;
}
