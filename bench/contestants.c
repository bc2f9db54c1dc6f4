/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part, with which command line, and the files that they need. */
#include "bench.h"

#include <sys/stat.h>

const char bench_program[] = "print(1)\n";
const char bench_expected[] = "1\n";

static const char python[] = "/usr/bin/python3";

/*
 * The nearest that runc offers to a native run: the same namespaces with a user namespace that never maps
 * host uid 0, no capability, no_new_privs, read-only root from the host's /usr, masked /proc, memory, pids
 * and cpu limits. What it lacks is a system-call filter: Debian ships no profile for it outside an engine.
 */
static const char runc_config[] =
    "{\"ociVersion\":\"1.0.2\",\"hostname\":\"sandbox\","
    "\"process\":{\"terminal\":false,\"user\":{\"uid\":1000,\"gid\":1000},\"cwd\":\"/sandbox\","
    "\"args\":[\"/usr/bin/python3\",\"/sandbox/main.py\"],"
    "\"env\":[\"PATH=/usr/bin:/bin\",\"HOME=/sandbox\",\"LANG=C.UTF-8\"],\"noNewPrivileges\":true,"
    "\"capabilities\":{\"bounding\":[],\"effective\":[],\"inheritable\":[],\"permitted\":[],\"ambient\":[]}}"
    ","
    "\"root\":{\"path\":\"rootfs\",\"readonly\":true},"
    "\"mounts\":["
    "{\"destination\":\"/usr\",\"type\":\"bind\",\"source\":\"/"
    "usr\",\"options\":[\"bind\",\"ro\",\"nosuid\",\"nodev\"]},"
    "{\"destination\":\"/"
    "proc\",\"type\":\"proc\",\"source\":\"proc\",\"options\":[\"nosuid\",\"noexec\",\"nodev\"]},"
    "{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\","
    "\"options\":[\"nosuid\",\"strictatime\",\"mode=755\",\"size=65536k\"]},"
    "{\"destination\":\"/dev/shm\",\"type\":\"tmpfs\",\"source\":\"shm\","
    "\"options\":[\"nosuid\",\"noexec\",\"nodev\",\"mode=1777\",\"size=65536k\"]},"
    "{\"destination\":\"/"
    "tmp\",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":[\"nosuid\",\"nodev\",\"mode=1777\"]}],"
    "\"linux\":{\"namespaces\":[{\"type\":\"user\"},{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":"
    "\"ipc\"},"
    "{\"type\":\"uts\"},{\"type\":\"mount\"},{\"type\":\"cgroup\"}],"
    "\"uidMappings\":[{\"containerID\":0,\"hostID\":1878982656,\"size\":65536}],"
    "\"gidMappings\":[{\"containerID\":0,\"hostID\":1878982656,\"size\":65536}],"
    "\"resources\":{\"memory\":{\"limit\":536870912},\"pids\":{\"limit\":64},"
    "\"cpu\":{\"quota\":100000,\"period\":100000}},"
    "\"maskedPaths\":[\"/proc/kcore\",\"/proc/keys\",\"/proc/timer_list\",\"/proc/sched_debug\"],"
    "\"readonlyPaths\":[\"/proc/sys\",\"/proc/sysrq-trigger\",\"/proc/irq\",\"/proc/bus\"]}}\n";

static int write_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "we");
        if (!file)
                return -errno;
        int status = fputs(text, file) < 0 ? -EIO : 0;
        return fclose(file) != 0 && status == 0 ? -errno : status;
}

static int make_directory(const char *base, const char *name)
{
        char path[192];
        (void)snprintf(path, sizeof path, "%s/%s", base, name);
        return mkdir(path, 0755) < 0 ? -errno : 0;
}

/* rootfs/ with mount points, the merged-/usr links, and the program. */
static int make_bundle(const char *bundle)
{
        static const char *const directories[] = {"", "rootfs", "rootfs/usr", "rootfs/proc", "rootfs/dev",
            "rootfs/sys", "rootfs/tmp", "rootfs/sandbox"};
        static const char *const links[] = {"bin", "sbin", "lib", "lib64"};

        for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
                int status = make_directory(bundle, directories[i]);
                if (status < 0)
                        return status;
        }
        for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
                char target[32], path[192];
                (void)snprintf(target, sizeof target, "usr/%s", links[i]);
                (void)snprintf(path, sizeof path, "%s/rootfs/%s", bundle, links[i]);
                if (symlink(target, path) < 0)
                        return -errno;
        }
        char path[192];
        (void)snprintf(path, sizeof path, "%s/rootfs/sandbox/main.py", bundle);
        int status = write_file(path, bench_program);
        if (status < 0)
                return status;
        (void)snprintf(path, sizeof path, "%s/config.json", bundle);
        return write_file(path, runc_config);
}

int workspace_make(struct workspace *ret)
{
        struct workspace made = {.path = "/tmp/mai-bench-XXXXXX"};
        if (!mkdtemp(made.path))
                return -errno;
        /* The root of runc's user namespace is nobody here, and has to walk through. */
        if (chmod(made.path, 0755) < 0)
                return -errno;
        (void)snprintf(made.program, sizeof made.program, "%s/main.py", made.path);
        (void)snprintf(made.bundle, sizeof made.bundle, "%s/bundle", made.path);
        (void)snprintf(made.state, sizeof made.state, "%s/state", made.path);
        *ret = made;
        int status = write_file(made.program, bench_program);
        return status < 0 ? status : make_bundle(made.bundle);
}

/* Installed? With a slash: that file. Without: on PATH. */
static bool executable(const char *name)
{
        if (strchr(name, '/'))
                return access(name, X_OK) == 0;
        static const char *const directories[] = {"/usr/bin", "/usr/sbin", "/usr/local/bin"};
        for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
                char path[128];
                (void)snprintf(path, sizeof path, "%s/%s", directories[i], name);
                if (access(path, X_OK) == 0)
                        return true;
        }
        return false;
}

static void set_arguments(struct contestant *contestant, const char *const *argv, size_t count)
{
        for (size_t i = 0; i < count && i + 1 < MAX_ARGUMENTS; i++)
                contestant->argv[i] = argv[i];
        if (!executable(argv[0]))
                contestant->unavailable = "not installed";
}

void contestants_fill(
    struct contestant contestants[CONTESTANT_COUNT_], const struct workspace *workspace, const char *sandbox)
{
        const char *const plain[] = {python, "-c", "print(1)"};
        const char *const mai[] = {sandbox, "run", workspace->program};
        const char *const bwrap[] = {"bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--gid",
            "1000", "--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
            "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/sandbox", "--setenv",
            "LANG", "C.UTF-8", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink",
            "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--ro-bind", "/etc/ld.so.cache",
            "/etc/ld.so.cache", "--ro-bind", "/etc/alternatives", "/etc/alternatives", "--proc", "/proc",
            "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/sandbox", "--ro-bind", workspace->program,
            "/sandbox/main.py", "--chdir", "/sandbox", "--", python, "/sandbox/main.py"};
        const char *const runc[] = {
            "runc", "--root", workspace->state, "run", "--bundle", workspace->bundle, "mai-bench"};

        memset(contestants, 0, sizeof *contestants * CONTESTANT_COUNT_);
        contestants[CONTESTANT_PLAIN].name = "python3";
        contestants[CONTESTANT_PLAIN].what = "no isolation";
        set_arguments(&contestants[CONTESTANT_PLAIN], plain, ARRAY_SIZE(plain));
        contestants[CONTESTANT_MAI].name = "mai-sandbox";
        contestants[CONTESTANT_MAI].what =
            "namespaces, cgroup limits, system-call filter, read-back, metering";
        set_arguments(&contestants[CONTESTANT_MAI], mai, ARRAY_SIZE(mai));
        contestants[CONTESTANT_BWRAP].name = "bwrap";
        contestants[CONTESTANT_BWRAP].what = "namespaces; no cgroup limits, no filter, no metering";
        set_arguments(&contestants[CONTESTANT_BWRAP], bwrap, ARRAY_SIZE(bwrap));
        contestants[CONTESTANT_RUNC].name = "runc";
        contestants[CONTESTANT_RUNC].what = "namespaces, cgroup limits; no filter, no metering";
        set_arguments(&contestants[CONTESTANT_RUNC], runc, ARRAY_SIZE(runc));
        if (geteuid() != 0)
                contestants[CONTESTANT_RUNC].unavailable = "its cgroup limits need root";
}
