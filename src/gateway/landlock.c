/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/harden.h"
#include "gateway/url.h"
#include "util/parse.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>

/* Newer than the headers we may be built with. */
#define FS_REFER (1ULL << 13)           /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)        /* ABI 3 */
#define NET_BIND_TCP (1ULL << 0)        /* ABI 4 */
#define NET_CONNECT_TCP (1ULL << 1)     /* ABI 4 */
#define FS_IOCTL_DEV (1ULL << 15)       /* ABI 5 */
#define SCOPE_ABSTRACT_UNIX (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)        /* ABI 6 */
#define RULE_NET_PORT 2
#define FS_ABI_1 ((1ULL << 13) - 1)

struct ruleset_attributes {
        uint64_t handled_access_fs, handled_access_net, scoped;
};

struct net_port_attributes {
        uint64_t allowed_access, port;
};

#define CACHE_ACCESS                                                                                        \
        (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |       \
            LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE)

/*
 * What resolving a name reads: configuration, and the modules that it names. The certificates are not here:
 * they were read before. What does not exist on this host is passed over.
 */
static const struct {
        const char *path;
        uint64_t access;
} readable[] = {
    {"/etc/hosts", LANDLOCK_ACCESS_FS_READ_FILE},
    {"/etc/host.conf", LANDLOCK_ACCESS_FS_READ_FILE},
    {"/etc/resolv.conf", LANDLOCK_ACCESS_FS_READ_FILE},
    {"/etc/nsswitch.conf", LANDLOCK_ACCESS_FS_READ_FILE},
    {"/etc/gai.conf", LANDLOCK_ACCESS_FS_READ_FILE},
    {"/etc/services", LANDLOCK_ACCESS_FS_READ_FILE},
    {"/etc/localtime", LANDLOCK_ACCESS_FS_READ_FILE},
    {"/etc/ld.so.cache", LANDLOCK_ACCESS_FS_READ_FILE},
    {"/etc/ssl/openssl.cnf", LANDLOCK_ACCESS_FS_READ_FILE},
    {"/lib", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR},
    {"/usr/lib", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR},
};

static int add_path(int ruleset, int fd, uint64_t access)
{
        struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
        return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno
                                                                                                 : 0;
}

static int add_port(int ruleset, uint64_t port)
{
        struct net_port_attributes rule = {.allowed_access = NET_CONNECT_TCP, .port = port};
        return syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &rule, 0) < 0 ? -errno : 0;
}

/* The port behind the last colon of an origin, which always has one. */
static int add_origin(int ruleset, const char *origin)
{
        uint64_t port;
        const char *colon = strrchr(origin, ':');
        return colon && parse_u64(colon + 1, &port) ? add_port(ruleset, port) : -EINVAL;
}

/* The ports of the upstreams, and of name servers that answer by TCP. */
static int add_ports(int ruleset, const struct gateway_config *config)
{
        int r = add_port(ruleset, 53);
        for (size_t i = 0; r == 0 && i < config->entry_count; i++) {
                const struct index_entry *entry = &config->entries[i];
                for (char **origin = entry->origins; r == 0 && *origin; origin++)
                        r = add_origin(ruleset, *origin);
                _cleanup_(freep) char *proxy = NULL;
                if (r == 0 && entry->proxy)
                        r = url_origin(entry->proxy, &proxy);
                if (r == 0 && proxy)
                        r = add_origin(ruleset, proxy);
        }
        return r;
}

static int add_paths(int ruleset, int cache_directory, long abi)
{
        int r = add_path(ruleset, cache_directory, CACHE_ACCESS | (abi >= 3 ? FS_TRUNCATE : 0));
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(readable); i++) {
                _cleanup_(closep) int fd = open(readable[i].path, O_PATH | O_CLOEXEC);
                if (fd >= 0)
                        r = add_path(ruleset, fd, readable[i].access);
        }
        return r;
}

int harden_landlock(
    const struct gateway_config *config, int cache_directory, int *ret_abi, struct error *err)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (abi < 1) {
                if (!config->landlock_optional)
                        return error_set(err, ERROR_UNENFORCED, errno,
                            "boot a kernel with Landlock (lsm=...,landlock), or allow the degradation "
                            "\"landlock\"",
                            "the gateway: this kernel has no Landlock");
                *ret_abi = 0;
                return 0;
        }
        struct ruleset_attributes attributes = {.handled_access_fs = FS_ABI_1};
        size_t size = sizeof attributes.handled_access_fs;
        if (abi >= 2)
                attributes.handled_access_fs |= FS_REFER;
        if (abi >= 3)
                attributes.handled_access_fs |= FS_TRUNCATE;
        if (abi >= 4) {
                attributes.handled_access_net = NET_BIND_TCP | NET_CONNECT_TCP;
                size = offsetof(struct ruleset_attributes, scoped);
        }
        if (abi >= 5)
                attributes.handled_access_fs |= FS_IOCTL_DEV;
        if (abi >= 6) {
                attributes.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
                size = sizeof attributes;
        }
        _cleanup_(closep) int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
        int r = ruleset < 0 ? -errno : add_paths(ruleset, cache_directory, abi);
        if (r == 0 && abi >= 4)
                r = add_ports(ruleset, config);
        if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
                r = -errno;
        if (r < 0)
                return error_set(err, ERROR_INTERNAL, -r, NULL, "the gateway: entering its Landlock rules");
        *ret_abi = (int)abi;
        return 0;
}
