/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/request.h"

#include "sandbox/docker/profile.h"

#define CPU_NANO 1e9
/* The least that the engine takes. */
#define CPU_NANO_MIN 10000000.0

const char *const docker_writable[] = {"/sandbox", "/tmp", "/dev/shm", NULL};
const char *const docker_devices[] = {"/dev/null", "/dev/zero", "/dev/full", NULL};

/* The engine's own lists, which a list of ours replaces, and more behind them. */
static const char *const masked_paths[] = {"/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys",
    "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
    "/sys/firmware", "/sys/devices/virtual/powercap",
    /* What tells of the host or of other containers. */
    "/proc/bus", "/proc/fs", "/proc/irq", "/proc/driver", "/proc/kallsyms", "/proc/kmsg", "/proc/kpagecount",
    "/proc/kpageflags", "/proc/kpagecgroup", "/proc/modules", "/proc/interrupts", "/proc/slabinfo",
    "/proc/vmallocinfo", "/proc/cmdline", "/proc/config.gz", "/proc/diskstats", "/proc/partitions",
    "/proc/swaps", "/proc/iomem", "/proc/ioports", "/proc/key-users", "/proc/pressure", "/proc/vmstat",
    "/proc/zoneinfo", "/proc/buddyinfo", "/proc/pagetypeinfo", "/proc/softirqs", "/proc/mtrr",
    "/proc/dynamic_debug", "/sys/kernel", "/sys/block", "/sys/class", "/sys/bus", "/sys/dev", "/sys/devices",
    "/sys/module", "/sys/power", "/sys/hypervisor", "/sys/fs/bpf", "/sys/fs/ext4",
    /* With /sys/devices gone too, the C library counts the CPUs of the affinity mask, which are the right
       ones. */
    "/proc/stat"};
static const char *const read_only_paths[] = {"/proc/sys", "/proc/sysrq-trigger"};

/* CAP_* by number, without the prefix, as the engine names them. Only unsafe levels keep any. */
static const char *const capability_names[] = {"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER",
    "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST",
    "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE",
    "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD",
    "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM",
    "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"};

static json_t *strings(const char *const *items, size_t count)
{
        json_t *array = json_array();
        for (size_t i = 0; i < count; i++)
                if (json_array_append_new(array, json_string(items[i])) < 0) {
                        json_decref(array);
                        return NULL;
                }
        return array;
}

static json_t *capabilities(uint64_t set)
{
        json_t *array = json_array();
        for (size_t i = 0; array && i < ARRAY_SIZE(capability_names); i++)
                if (set & UINT64_C(1) << i)
                        (void)json_array_append_new(array, json_string(capability_names[i]));
        return array;
}

static json_t *security_options(const struct container_spec *spec)
{
        json_t *options = json_array();
        if (spec->no_new_privileges)
                (void)json_array_append_new(options, json_string("no-new-privileges"));
        if (spec->seccomp == SECCOMP_UNCONFINED) {
                (void)json_array_append_new(options, json_string("seccomp=unconfined"));
                return options;
        }
        json_t *profile = docker_seccomp_profile();
        _cleanup_(freep) char *text = profile ? json_dumps(profile, JSON_COMPACT) : NULL;
        json_decref(profile);
        if (!text || json_array_append_new(options, json_sprintf("seccomp=%s", text)) < 0) {
                json_decref(options);
                return NULL;
        }
        return options;
}

static json_t *tmpfs(const struct container_spec *spec, const struct docker_identity *identity)
{
        /*
         * exec, since wheels carry shared objects and the engine's default is noexec. Each has the whole of
         * disk_limit: one file system in three places is nothing that an engine offers. All are charged to
         * mem_limit, which bounds their sum.
         */
        json_t *mounts = json_object();
        for (size_t i = 0; docker_writable[i]; i++)
                (void)json_object_set_new(mounts, docker_writable[i],
                    json_sprintf("rw,exec,nosuid,nodev,size=%llu,nr_inodes=%llu,uid=%u,gid=%u,mode=%s",
                        (unsigned long long)spec->limits.disk_limit,
                        (unsigned long long)spec->limits.inode_limit + DOCKER_OWN_INODES, identity->uid,
                        identity->gid, i == 0 ? "0755" : "1777"));
        return mounts;
}

/*
 * No limit on processes here: it counts per user of the host. RLIMIT_CORE is 1 since piped core handlers
 * ignore 0.
 */
static json_t *ulimits(const struct container_spec *spec)
{
        const struct {
                const char *name;
                uint64_t value;
        } limits[] = {{"nofile", spec->limits.open_files}, {"core", 1}, {"memlock", 64U << 10},
            {"msgqueue", 800U << 10}, {"rtprio", 0}, {"nice", 0}, {"stack", 8U << 20}};
        json_t *array = json_array();
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
                (void)json_array_append_new(
                    array, json_pack("{s:s, s:I, s:I}", "Name", limits[i].name, "Soft",
                               (json_int_t)limits[i].value, "Hard", (json_int_t)limits[i].value));
        return array;
}

static json_t *host_config(const struct container_spec *spec, const struct docker_identity *identity)
{
        const struct limits *limits = &spec->limits;
        const char *const all[] = {"ALL"};
        json_int_t memory = (json_int_t)limits->mem_limit;
        json_t *config = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", /* */
            "CapDrop", strings(all, 1), "CapAdd", capabilities(spec->capabilities), "SecurityOpt",
            security_options(spec), "Tmpfs", tmpfs(spec, identity), "MaskedPaths",
            strings(masked_paths, ARRAY_SIZE(masked_paths)), "ReadonlyPaths",
            strings(read_only_paths, ARRAY_SIZE(read_only_paths)), "Ulimits", ulimits(spec));
        json_t *rest = json_pack("{s:b, s:I, s:s, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:s, s:s, s:s, "
                                 "s:s, s:{s:s}, s:{s:s}}",
            "ReadonlyRootfs", spec->read_only, "NanoCpus",
            (json_int_t)MAX(limits->cpu_count * CPU_NANO, CPU_NANO_MIN), "CpusetCpus", identity->cpus, /* */
            "Memory", memory, "MemorySwap", memory, "MemorySwappiness", (json_int_t)-1, "PidsLimit",
            (json_int_t)limits->pids_limit + DOCKER_OWN_PROCESSES, "OomKillDisable", 0, "Privileged", 0,
            "AutoRemove", 0, "Init", 0, "NetworkMode", "none", "IpcMode", "private", "PidMode", "", /* */
            "CgroupnsMode", "private", "LogConfig", "Type", "none", "RestartPolicy", "Name", "no");
        if (config && rest && spec->docker_runtime)
                (void)json_object_set_new(rest, "Runtime", json_string(spec->docker_runtime));
        if (!config || !rest || json_object_update(config, rest) < 0) {
                json_decref(config);
                config = NULL;
        }
        json_decref(rest);
        return config;
}

json_t *docker_create_request(const struct container_spec *spec, const struct docker_identity *identity)
{
        char host[16];
        (void)snprintf(host, sizeof host, "%.12s", identity->id);
        json_t *host_part = host_config(spec, identity);
        json_t *user = json_sprintf("%u:%u", identity->uid, identity->gid);
        if (!host_part || !user) {
                json_decref(host_part);
                json_decref(user);
                return NULL;
        }
        /* What the image says of commands, users, health checks and signals does not count. */
        return json_pack("{s:s, s:s, s:o, s:s, s:[s], s:[], s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:{s:[s]}, "
                         "s:s, s:{s:s, s:s}, s:o}",
            "Image", identity->image, "Hostname", host, "User", user, "WorkingDir", "/", "Entrypoint",
            DOCKER_INIT_PATH, "Cmd", "Tty", 0, "OpenStdin", 1, "StdinOnce", 1, "AttachStdin", 1,
            "AttachStdout", 1, "AttachStderr", 1, "NetworkDisabled", 1, "Healthcheck", "Test", "NONE",
            "StopSignal", "SIGKILL", "Labels", DOCKER_LABEL "container", identity->id,
            DOCKER_LABEL "trust_level", spec->trust_level ? spec->trust_level : "", "HostConfig", host_part);
}
