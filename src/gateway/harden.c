/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/harden.h"

#include "util/fd.h"

#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static int set_limits(struct error *err)
{
        static const struct {
                __rlimit_resource_t resource;
                rlim_t value;
                const char *name;
        } limits[] = {
            /* 1 and not 0: a piped handler of the host ignores 0. Memory may hold credentials. */
            {RLIMIT_CORE, 1, "core"},
            {RLIMIT_NOFILE, 4096, "open files"},
#ifndef __SANITIZE_ADDRESS__ /* its shadow alone is larger */
            /* A page of nothing but brackets grows tenfold and more when it is read. */
            {RLIMIT_DATA, (rlim_t)1 << 30, "memory"},
#endif
            {RLIMIT_FSIZE, (rlim_t)8 << 30, "file size"},
            {RLIMIT_MEMLOCK, 64U << 10, "locked memory"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                struct rlimit limit;
                if (getrlimit(limits[i].resource, &limit) == 0) {
                        limit.rlim_max = MIN(limit.rlim_max, limits[i].value);
                        limit.rlim_cur = limit.rlim_max;
                }
                if (setrlimit(limits[i].resource, &limit) < 0)
                        return error_set(err, ERROR_INTERNAL, errno, NULL, "limiting %s", limits[i].name);
        }
        return 0;
}

static int switch_user(const struct gateway_config *config, struct error *err)
{
        if (geteuid() != 0 && getuid() != 0)
                return 0;
        if (!config->has_uid)
                return error_set(err, ERROR_UNENFORCED, 0, "name an unused [uid, gid] under user",
                    "gateway configuration: user: started as root and told no other user");
        if (setgroups(0, NULL) < 0 || setresgid(config->gid, config->gid, config->gid) < 0 ||
            setresuid(config->uid, config->uid, config->uid) < 0)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "switching to user %u", config->uid);
        return 0;
}

/* While root, which alone can; past the last capability the call fails. */
static void drop_bounding_set(void)
{
        for (unsigned long cap = 0; cap < 64; cap++)
                (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

static int drop_capabilities(struct error *err)
{
        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {};
        if (syscall(SYS_capset, &header, none) < 0)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "dropping capabilities");
        return 0;
}

static int read_back(struct hardening *ret, struct error *err)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct data[2] = {};
        if (syscall(SYS_capget, &header, data) < 0)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "reading capabilities back");
        uid_t uids[3];
        gid_t gids[3];
        if (getresuid(&uids[0], &uids[1], &uids[2]) < 0 || getresgid(&gids[0], &gids[1], &gids[2]) < 0)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "reading the user back");
        ret->uid = uids[0];
        ret->gid = gids[0];
        ret->capabilities =
            data[0].effective | data[0].permitted | (uint64_t)(data[1].effective | data[1].permitted) << 32;
        ret->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
        bool root =
            uids[0] == 0 || uids[1] == 0 || uids[2] == 0 || gids[0] == 0 || gids[1] == 0 || gids[2] == 0;
        if (root || ret->capabilities != 0 || !ret->no_new_privs)
                return error_set(err, ERROR_MISMATCH, 0, NULL, "the gateway still has privileges");
        return 0;
}

int harden(
    const struct gateway_config *config, int cache_directory, struct hardening *ret, struct error *err)
{
        struct hardening state = {};
        (void)signal(SIGPIPE, SIG_IGN);
        int r = set_limits(err);
        drop_bounding_set();
        if (r == 0)
                r = switch_user(config, err);
        if (r == 0)
                r = drop_capabilities(err);
        if (r < 0)
                return r;
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "making the gateway not dumpable");
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "setting no_new_privs");
        r = read_back(&state, err);
        if (r == 0)
                r = harden_landlock(config, cache_directory, &state.landlock_abi, err);
        if (r == 0) {
                r = harden_load_filter(err);
                state.seccomp = r == 0;
        }
        if (r < 0)
                return r;
        *ret = state;
        return 0;
}
