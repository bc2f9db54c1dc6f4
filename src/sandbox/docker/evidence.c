/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for a container of an engine, from three witnesses: the engine's own account (inspect), the
 * init (which reads the kernel's files inside, before any code of the user's runs), and, where the engine is
 * on this machine, the kernel's account of the init as seen from outside. Where two speak of one thing they
 * must agree.
 */
#include "sandbox/docker/container.h"

#include "sandbox/docker/request.h"
#include "seccomp/seccomp.h"

#include <jansson.h>
#include <sys/utsname.h>

#define MISMATCH(err, ...) error_set(err, ERROR_MISMATCH, 0, evidence_mismatch_hint, __VA_ARGS__)

const char evidence_mismatch_hint[] = "nothing was run; see whether the engine or its runtime supports this";

static const char *const from_engine[] = {"read_only_root", "limits", "network", "image", "runtime", NULL};
static const char *const from_guest[] = {"uid", "gid", "groups", "capabilities", "no_new_privs", "seccomp",
    "landlock_abi", "namespaces", "read_only_root", "cgroup", "limits", "network", NULL};

/* ---- The engine ---- */

#define SHOWN_MAX 128

/* A word of the engine's, for a message. */
static const char *shown(const char *word, char text[SHOWN_MAX])
{
        return engine_words(word, SHOWN_MAX, text, SHOWN_MAX);
}

struct engine_word {
        const char *setting; /* of the policy */
        const char *member;  /* of HostConfig */
        json_int_t expected;
};

static int check_numbers(const json_t *config, const struct container_spec *spec, struct error *err)
{
        const struct limits *limits = &spec->limits;
        const struct engine_word words[] = {
            {"mem_limit", "Memory", (json_int_t)limits->mem_limit},
            {"mem_limit", "MemorySwap", (json_int_t)limits->mem_limit},
            {"pids_limit", "PidsLimit", (json_int_t)(limits->pids_limit + DOCKER_OWN_PROCESSES)},
        };
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                const json_t *seen = json_object_get(config, words[i].member);
                if (!json_is_integer(seen) || json_integer_value(seen) != words[i].expected)
                        return MISMATCH(err, "%s: %lld was asked for, the engine says %s = %lld",
                            words[i].setting, (long long)words[i].expected, words[i].member,
                            (long long)json_integer_value(seen));
        }
        return 0;
}

static int check_words(const json_t *config, struct error *err)
{
        static const struct {
                const char *setting, *member, *expected;
        } words[] = {
            {"network_mode", "NetworkMode", "none"},
            {"namespaces", "IpcMode", "private"},
            {"namespaces", "PidMode", ""},
            {"namespaces", "UTSMode", ""},
        };
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                char text[SHOWN_MAX];
                const char *seen = json_string_value(json_object_get(config, words[i].member));
                /* An engine that is not Docker may leave out what is empty, or spell "its own" so. */
                if (seen && (strcmp(seen, words[i].expected) == 0 ||
                                (!words[i].expected[0] && strcmp(seen, "private") == 0)))
                        continue;
                if (!seen && !words[i].expected[0])
                        continue;
                return MISMATCH(err, "%s: \"%s\" was asked for, the engine says %s = \"%s\"",
                    words[i].setting, words[i].expected, words[i].member, shown(seen, text));
        }
        return 0;
}

static int check_emptiness(const json_t *account, const json_t *config, struct error *err)
{
        static const char *const empty[] = {
            "Binds", "Devices", "VolumesFrom", "Links", "GroupAdd", "Mounts"};
        for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
                if (json_array_size(json_object_get(config, empty[i])) > 0)
                        return MISMATCH(err, "docker: the engine gave the container %s", empty[i]);
        const json_t *mount;
        size_t i;
        json_array_foreach (json_object_get(account, "Mounts"), i, mount) {
                char type_shown[SHOWN_MAX], where_shown[SHOWN_MAX];
                const char *type = json_string_value(json_object_get(mount, "Type"));
                const char *where = json_string_value(json_object_get(mount, "Destination"));
                if (!type || strcmp(type, "tmpfs") != 0)
                        return MISMATCH(err, "read_only: the engine mounted \"%s\" on \"%s\"",
                            shown(type, type_shown), shown(where, where_shown));
        }
        if (json_is_true(json_object_get(config, "Privileged")))
                return MISMATCH(err, "cap_drop: the engine says that the container is privileged");
        return 0;
}

static int ask_engine(struct container *c, const json_t *account, struct error *err)
{
        const json_t *config = json_object_get(account, "HostConfig");
        int r = check_numbers(config, c->spec, err);
        if (r == 0)
                r = check_words(config, err);
        if (r == 0)
                r = check_emptiness(account, config, err);
        if (r < 0)
                return r;
        if (c->spec->read_only && !json_is_true(json_object_get(config, "ReadonlyRootfs")))
                return MISMATCH(err, "read_only: the engine says that the root can be written to");
        char text[SHOWN_MAX];
        const char *runtime = json_string_value(json_object_get(config, "Runtime"));
        if (c->spec->docker_runtime && (!runtime || strcmp(runtime, c->spec->docker_runtime) != 0))
                return MISMATCH(err, "docker.runtime: \"%s\" was asked for, the engine says \"%s\"",
                    c->spec->docker_runtime, shown(runtime, text));
        (void)engine_words(runtime, SHOWN_MAX, c->evidence.runtime_name, sizeof c->evidence.runtime_name);
        return 0;
}

/* ---- The init ---- */

static bool all_equal(const uint32_t ids[4])
{
        return ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
}

/* The host's id for one inside, by the first line of a map; UINT32_MAX: unmapped. */
static uint32_t outside_id(uint32_t id, const uint32_t map[3])
{
        return id >= map[0] && id - map[0] < map[2] ? map[1] + (id - map[0]) : UINT32_MAX;
}

static int take_identity(struct evidence *e, const struct guest_evidence *g, struct error *err)
{
        if (!all_equal(g->uid) || !all_equal(g->gid))
                return MISMATCH(err, "user: the program's process has several user or group ids");
        e->uid = g->uid[0];
        e->gid = g->gid[0];
        if (e->own_kernel) {
                e->host_uid = e->host_gid = UINT32_MAX; /* only the host's kernel knows */
        } else {
                e->host_user_namespace =
                    g->uid_map[0] == 0 && g->uid_map[1] == 0 && g->uid_map[2] == UINT32_MAX;
                e->host_uid = outside_id(e->uid, g->uid_map);
                e->host_gid = outside_id(e->gid, g->gid_map);
        }
        e->group_count = g->group_count;
        for (size_t i = 0; i < MIN(g->group_count, ARRAY_SIZE(e->groups)); i++)
                e->groups[i] = g->groups[i];
        return 0;
}

/*
 * Something that the runtime does not enforce, as its own files or its lack of them tell: an error that says
 * what to do, or, where the caller has allowed it by name, a note in the evidence.
 */
static int missing(
    struct container *c, enum enforcement part, const char *settings, const char *what, struct error *err)
{
        if (c->spec->degraded_allowed & 1U << part) {
                c->evidence.degraded |= 1U << part;
                return 0;
        }
        char hint[200];
        (void)snprintf(hint, sizeof hint,
            "let the engine use another runtime (docker.runtime) or run it with other arguments, or pass "
            "--allow-degraded %s",
            enforcement_name(part));
        return error_set(err, ERROR_UNENFORCED, 0, hint, "%s: runtime \"%s\" %s", settings,
            c->evidence.runtime_name, what);
}

static const char lacks_inodes[] = "mounts a tmpfs without a limit on the number of files";
static const char lacks_cgroup[] = "puts the container into no control group of its own, where limits hold";

static int take_mounts(struct container *c, const struct guest_evidence *g, struct error *err)
{
        const struct limits *limits = &c->spec->limits;
        /*
         * A kernel of the container's own need not tell nosuid and nodev: no_new_privs and the empty
         * capability sets, which must hold, make both of no use.
         */
        uint32_t needed =
            GUEST_MOUNT_TMPFS | (c->evidence.own_kernel ? 0U : GUEST_MOUNT_NOSUID | GUEST_MOUNT_NODEV);
        if (g->mount_count != DOCKER_WRITABLE_COUNT + DOCKER_DEVICE_COUNT)
                return MISMATCH(err, "disk_limit: the init looked at %u of %u paths", g->mount_count,
                    DOCKER_WRITABLE_COUNT + DOCKER_DEVICE_COUNT);
        for (unsigned i = 0; i < DOCKER_WRITABLE_COUNT; i++) {
                const struct guest_mount *mount = &g->mounts[i];
                if (strncmp(mount->path, docker_writable[i], sizeof mount->path) != 0)
                        return MISMATCH(err, "disk_limit: the init looked at another directory than %s",
                            docker_writable[i]);
                if ((mount->flags & needed) != needed ||
                    mount->flags & (GUEST_MOUNT_READ_ONLY | GUEST_MOUNT_MISSING | GUEST_MOUNT_UNWRITABLE |
                                       GUEST_MOUNT_NOEXEC))
                        return MISMATCH(err,
                            "disk_limit: %s is not the file system that was asked for (0x%x)",
                            docker_writable[i], mount->flags);
                if (mount->bytes == 0 || mount->bytes > limits->disk_limit + 65536)
                        return MISMATCH(err, "disk_limit: the policy says %llu, %s has %llu",
                            (unsigned long long)limits->disk_limit, docker_writable[i],
                            (unsigned long long)mount->bytes);
                if (mount->inodes == 0) {
                        int r = missing(c, ENFORCE_INODES, "inode_limit", lacks_inodes, err);
                        if (r < 0)
                                return r;
                } else if (mount->inodes > limits->inode_limit + DOCKER_OWN_INODES)
                        return MISMATCH(err, "inode_limit: the policy says %llu, %s has %llu",
                            (unsigned long long)limits->inode_limit, docker_writable[i],
                            (unsigned long long)mount->inodes);
        }
        c->evidence.disk_bytes = g->mounts[0].bytes;
        c->evidence.disk_inodes = g->mounts[0].inodes;
        return 0;
}

/* The guest has seen none, nor has anybody outside. */
static int check_cgroup(struct container *c, struct error *err)
{
        if (c->evidence.cgroup_version != 0)
                return 0;
        return missing(c, ENFORCE_CGROUP, "mem_limit, pids_limit, cpu_count", lacks_cgroup, err);
}

static int take_network(struct evidence *e, const struct guest_evidence *g, struct error *err)
{
        char name[SHOWN_MAX];
        for (uint32_t i = 0; i < g->interface_count; i++)
                if (i >= GUEST_INTERFACES_MAX || memcmp(g->interfaces[i], "lo", sizeof "lo") != 0)
                        return MISMATCH(err, "network_mode: the container has an interface %s",
                            engine_words(g->interfaces[MIN(i, GUEST_INTERFACES_MAX - 1)],
                                GUEST_INTERFACE_SIZE, name, sizeof name));
        e->network = "none";
        return 0;
}

static void take_cgroup(struct evidence *e, const struct guest_evidence *g)
{
        e->cgroup_version = (int)g->cgroup_version;
        e->memory_max = g->memory_max;
        e->memory_swap_max = g->memory_swap_max;
        e->pids_max = g->pids_max;
        if (e->pids_max != UINT64_MAX && e->pids_max > 0)
                e->pids_max -= DOCKER_OWN_PROCESSES;
        e->cpu_quota_usec = g->cpu_quota_usec;
        e->cpu_period_usec = g->cpu_period_usec;
        e->cpus_allowed = g->cpus_allowed;
}

static int ask_guest(struct container *c, struct error *err)
{
        const struct guest_evidence *g = c->guest_evidence;
        struct evidence *e = &c->evidence;
        int r = take_identity(e, g, err);
        if (r == 0)
                r = take_mounts(c, g, err);
        if (r == 0)
                r = take_network(e, g, err);
        if (r < 0)
                return r;
        if (g->dumpable != 0)
                return MISMATCH(err, "docker: the container's init can be looked into by the program");
        if (g->cgroup_writable == 1)
                return MISMATCH(err, "mem_limit: the container can write to its own control group");
        if (g->core_limit > 1)
                return MISMATCH(err, "docker: core dumps are not off");
        if (g->open_files > c->spec->limits.open_files)
                return MISMATCH(err, "open_files: the policy says %llu, %llu is in force",
                    (unsigned long long)c->spec->limits.open_files, (unsigned long long)g->open_files);
        take_cgroup(e, g);
        e->cap_effective = g->cap_effective;
        e->cap_permitted = g->cap_permitted;
        e->cap_inheritable = g->cap_inheritable;
        e->cap_bounding = g->cap_bounding;
        e->cap_ambient = g->cap_ambient;
        e->no_new_privs = g->no_new_privs == 1;
        e->seccomp_mode = g->seccomp_mode == GUEST_UNKNOWN ? 0 : (int)g->seccomp_mode;
        e->seccomp_filters = g->seccomp_filters == GUEST_UNKNOWN ? 0 : g->seccomp_filters;
        e->landlock_abi = g->landlock_abi;
        e->read_only_root = g->root_flags & GUEST_MOUNT_READ_ONLY;
        _Static_assert((int)GUEST_NAMESPACE_COUNT_ == (int)NAMESPACE_COUNT_ &&
                           (int)GUEST_NAMESPACE_USER == (int)NAMESPACE_USER &&
                           (int)GUEST_NAMESPACE_CGROUP == (int)NAMESPACE_CGROUP,
            "the same namespaces in the same order");
        memcpy(e->namespaces, g->namespaces, sizeof e->namespaces);
        if (e->seccomp_mode == 2) {
                (void)snprintf(e->seccomp_profile, sizeof e->seccomp_profile, "%s", seccomp_profile_name);
                (void)snprintf(e->seccomp_sha256, sizeof e->seccomp_sha256, "%s", seccomp_profile_sha256());
        }
        return 0;
}

/* ---- All of it ---- */

/* Nobody need ask the engine which kernel the container is on, if it is ours. */
bool evidence_needs_version(const struct container *c)
{
        struct utsname ours;
        return !c->endpoint.socket_path || uname(&ours) < 0 ||
               strncmp(ours.release, c->guest_evidence->kernel_release, GUEST_RELEASE_SIZE - 1) != 0;
}

/*
 * Is the kernel that the container sees another one than the engine's machine runs? Where the engine does
 * not say what it runs, no: then more is asked for.
 */
static bool on_own_kernel(const struct container *c)
{
        json_t *version = c->version ? json_loads(c->version, 0, NULL) : NULL;
        const char *engine = json_string_value(json_object_get(version, "KernelVersion"));
        const char *seen = c->guest_evidence->kernel_release;
        bool other = engine && engine[0] && seen[0] && strncmp(engine, seen, GUEST_RELEASE_SIZE - 1) != 0;
        json_decref(version);
        return other;
}

/* The runtime's version, where the engine was asked for its parts and lists it; else the engine's own. */
static void name_version(struct container *c)
{
        struct evidence *e = &c->evidence;
        json_t *version = c->version ? json_loads(c->version, 0, NULL) : NULL;
        const char *found = c->engine.server;
        const json_t *part;
        size_t i;
        json_array_foreach (json_object_get(version, "Components"), i, part) {
                const char *name = json_string_value(json_object_get(part, "Name"));
                const char *text = json_string_value(json_object_get(part, "Version"));
                if (name && text && strcmp(name, e->runtime_name) == 0)
                        found = text;
        }
        if (found[0])
                (void)engine_words(found, SHOWN_MAX, e->runtime_version, sizeof e->runtime_version);
        json_decref(version);
}

int evidence_gather(struct container *c, struct error *err)
{
        json_error_t ignored;
        json_t *account = json_loads(c->inspected, 0, &ignored);
        int r = account ? 0
                        : error_set(err, ERROR_BACKEND, EBADMSG, "see docker.host: is it an engine?",
                              "docker: the engine's account of the container makes no sense");
        c->evidence.own_kernel = on_own_kernel(c);
        if (r == 0)
                r = ask_engine(c, account, err);
        if (r == 0)
                r = ask_guest(c, err);
        if (r == 0)
                r = evidence_ask_kernel(c, account, err);
        if (r == 0)
                r = check_cgroup(c, err);
        json_decref(account);
        if (r < 0)
                return r;
        name_version(c);
        (void)snprintf(c->evidence.cgroup_path, sizeof c->evidence.cgroup_path, "%s", c->name);
        memcpy(c->evidence.engine_says, from_engine, sizeof from_engine);
        memcpy(c->evidence.guest_says, from_guest, sizeof from_guest);
        return 0;
}
