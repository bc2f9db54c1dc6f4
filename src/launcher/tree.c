/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/tree.h"

#include "launcher/staging.h"
#include "protocol/enforcement.h"
#include "util/defence.h"
#include "util/fd.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

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

/* ---- Preparing ---- */

/* A device node of our own where we may make one (then not even a lock on it is shared), else the host's. */
static int add_device(int dev, size_t i, struct setup_failure *failure)
{
        const char *name = devices[i].name;
        if (mknodat(dev, name, S_IFCHR | 0666, makedev(1, devices[i].minor)) == 0)
                return 0;
        char host_path[32];
        (void)snprintf(host_path, sizeof host_path, "/dev/%s", name);
        int r = staging_file(dev, name, "", 0, failure);
        if (r < 0)
                return r;
        _cleanup_(closep) int copy = mount_copy(AT_FDCWD, host_path, false);
        r = copy < 0 ? copy : mount_attach(copy, dev, name);
        return r < 0 ? failure_set(failure, -r, NULL, NULL, "showing %s", host_path) : 0;
}

static int fill_dev(int staging, const char *path, struct setup_failure *failure)
{
        const struct mount_option options[] = {{"mode", "0755"}, {"size", "64k"}, {"nr_inodes", "32"}};
        _cleanup_(closep) int dev = staging_mount(staging, path, "tmpfs", options, ARRAY_SIZE(options),
            MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, failure);
        if (dev < 0)
                return dev;
        for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
                int r = add_device(dev, i, failure);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ARRAY_SIZE(device_links); i++)
                if (symlinkat(device_links[i].target, dev, device_links[i].name) < 0)
                        return failure_set(
                            failure, errno, NULL, NULL, "linking /dev/%s", device_links[i].name);
        return staging_directory(dev, "shm", 0755, failure);
}

/* What neither the host nor an image has a say in. What depends on a request is added later. */
static int fill_own(int root, struct setup_failure *failure)
{
        static const char *const directories[] = {"proc", "sandbox", "tmp", "run", "var", "etc", "dev"};
        int r = 0;
        for (size_t i = 0; i < ARRAY_SIZE(directories) && r == 0; i++)
                r = staging_directory(root, directories[i], 0755, failure);
        if (r == 0 && symlinkat("/tmp", root, "var/tmp") < 0)
                r = failure_set(failure, errno, NULL, NULL, "linking /var/tmp");
        if (r == 0)
                r = staging_file(
                    root, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", 41, failure);
        return r == 0 ? staging_file(root, "etc/resolv.conf", "", 0, failure) : r;
}

static int make_staging(bool image, struct setup_failure *failure)
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
                r = staging_directory(staging, names[i], 0755, failure);
        static const char *const image_names[] = {STAGING_DEV, STAGING_IMAGE, STAGING_SKELETON};
        for (size_t i = 0; image && i < ARRAY_SIZE(image_names) && r == 0; i++)
                r = staging_directory(staging, image_names[i], 0755, failure);
        if (r == 0)
                r = staging_directory(staging, STAGING_EMPTY, 0555, failure);
        if (r == 0)
                r = staging_file(staging, STAGING_BLANK, "", 0, failure);
        if (r < 0) {
                (void)close(staging);
                return r;
        }
        return staging;
}

int tree_prepare(bool image, int *ret_proc, struct setup_failure *failure)
{
        if (image && image_view_take(failure) < 0)
                return -EINVAL;
        if (unshare(CLONE_NEWNS) < 0)
                return failure_set(failure, errno, NULL,
                    "run as root, or allow unprivileged user namespaces", "making a mount namespace");
        int r = mount_all_private();
        if (r < 0)
                return failure_set(failure, -r, NULL, NULL, "making mounts private");
        _cleanup_(closep) int staging = make_staging(image, failure);
        if (staging < 0)
                return staging;

        const struct mount_option options[] = {{"mode", "0755"}, {"size", "4m"}};
        _cleanup_(closep) int root = staging_mount(staging, image ? STAGING_SKELETON : STAGING_ROOT, "tmpfs",
            options, ARRAY_SIZE(options), PLAIN, failure);
        if (root < 0)
                return root;
        r = fill_own(root, failure);
        if (r == 0 && image)
                r = image_view_keep(staging, failure);
        if (r == 0 && !image)
                r = host_view_fill_system(staging, root, failure);
        if (r == 0 && !image)
                r = host_view_fill_etc(staging, root, failure);
        if (r == 0)
                r = fill_dev(staging, image ? STAGING_DEV : STAGING_ROOT "/dev", failure);
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
                int r = staging_directory(root, levels[i], 0755, failure);
                if (r < 0)
                        return r;
        }
        int count = 0;
        for (size_t i = 0; i < LAUNCHER_CPU_WORDS; i++)
                count += __builtin_popcountll(create->cpus[i]);
        char text[32];
        int n = count > 1 ? snprintf(text, sizeof text, "0-%d\n", count - 1)
                          : snprintf(text, sizeof text, "0\n");
        return staging_file(root, "sys/devices/system/cpu/online", text, (size_t)n, failure);
}

/* Nothing is changed on the file system that it is made of from here on. */
static int restrict_tree(int root, const struct launcher_create *create, struct setup_failure *failure)
{
        if ((create->flags & LAUNCHER_READ_WRITE_ROOT) || !DEFENCE("read-only"))
                return 0;
        int r = mount_restrict(root, MOUNT_ATTR_RDONLY, true);
        return r < 0 ? failure_set(failure, -r, "read_only", NULL, "making the container's root read-only")
                     : 0;
}

int tree_finish(const struct launcher_create *create, bool image, struct setup_failure *failure)
{
        const char *place = image ? "/" STAGING_SKELETON : "/" STAGING_ROOT;
        _cleanup_(closep) int root = openat(AT_FDCWD, place, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return failure_set(failure, errno, NULL, NULL, "opening the container's root");
        char text[512];
        int n = snprintf(text, sizeof text,
            "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
            "sandbox:x:%u:%u:sandbox:/tmp/home:/bin/sh\n"
            "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
            create->uid, create->gid);
        int r = staging_file(root, "etc/passwd", text, (size_t)n, failure);
        n = snprintf(text, sizeof text, "root:x:0:\nsandbox:x:%u:\nnogroup:x:65534:\n", create->gid);
        if (r == 0)
                r = staging_file(root, "etc/group", text, (size_t)n, failure);
        n = snprintf(text, sizeof text, "127.0.0.1 localhost %s\n::1 localhost ip6-localhost ip6-loopback\n",
            create->hostname);
        if (r == 0)
                r = staging_file(root, "etc/hosts", text, (size_t)n, failure);
        r = r == 0 ? show_cpus(root, create, failure) : r;
        n = snprintf(text, sizeof text, "%s\n", create->hostname);
        if (r == 0)
                r = staging_file(root, "etc/hostname", text, (size_t)n, failure);
        _cleanup_(closep) int joined = -1;
        if (r == 0 && image)
                r = joined = image_view_join(failure);
        return r < 0 ? r : restrict_tree(image ? joined : root, create, failure);
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
            staging_mount(staging, STAGING_FILES, "tmpfs", options, ARRAY_SIZE(options), PLAIN, failure);
        if (files < 0)
                return files;

        static const struct {
                const char *name, *path;
                mode_t mode;
        } parts[] = {{"sandbox", "sandbox", 0755}, {"tmp", "tmp", 01777}, {"shm", "dev/shm", 01777}};
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                int r = staging_directory(files, parts[i].name, parts[i].mode, failure);
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
