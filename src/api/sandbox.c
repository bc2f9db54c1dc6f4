/* SPDX-License-Identifier: Apache-2.0 */
#include "api/internal.h"

#include "image/store.h"

#include <sys/eventfd.h>

static int open_sandbox(const char *policy_path, mai_sandbox *sandbox, struct error *err)
{
        sandbox->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (sandbox->cancel_fd < 0)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "eventfd");
        /* First: the backend gets ready in the background while the policy is read. */
        int r = container_manager_open(&sandbox->manager, err);
        if (r < 0)
                return r;
        return policy_load(policy_path, &sandbox->policy, err);
}

int mai_sandbox_open(const char *policy_path, mai_sandbox **ret, mai_error **ret_error)
{
        struct error err = {};
        mai_sandbox *sandbox = calloc(1, sizeof *sandbox);
        if (!sandbox)
                return api_fail(error_oom(&err), &err, ret_error);
        int r = open_sandbox(policy_path, sandbox, &err);
        if (r < 0) {
                (void)mai_sandbox_close(sandbox);
                return api_fail(r, &err, ret_error);
        }
        *ret = sandbox;
        return 0;
}

mai_sandbox *mai_sandbox_close(mai_sandbox *sandbox)
{
        if (!sandbox)
                return NULL;
        if (sandbox->policy)
                (void)policy_free(sandbox->policy);
        if (sandbox->manager)
                (void)container_manager_close(sandbox->manager);
        close_and_forget(&sandbox->cancel_fd);
        free(sandbox);
        return NULL;
}

void mai_cancel(mai_sandbox *sandbox)
{
        if (!atomic_load(&sandbox->running))
                return;
        int saved = errno;
        const uint64_t one = 1;
        ssize_t n = write(sandbox->cancel_fd, &one, sizeof one);
        (void)n; /* full means that it is cancelled already */
        errno = saved;
}

int mai_policy_check(const char *path, char **ret_path, mai_error **ret_error)
{
        struct error err = {};
        struct policy *policy;
        int r = policy_load(path, &policy, &err);
        if (r < 0)
                return api_fail(r, &err, ret_error);
        char *copy = ret_path ? strdup(policy_path(policy)) : NULL;
        (void)policy_free(policy);
        if (ret_path && !copy)
                return api_fail(error_oom(&err), &err, ret_error);
        if (ret_path)
                *ret_path = copy;
        return 0;
}

int mai_policy_show(const char *path, const char *trust_level, char **ret_text, mai_error **ret_error)
{
        struct error err = {};
        struct policy *policy;
        int r = policy_load(path, &policy, &err);
        if (r < 0)
                return api_fail(r, &err, ret_error);
        r = policy_show(policy, trust_level, ret_text, &err);
        (void)policy_free(policy);
        return r < 0 ? api_fail(r, &err, ret_error) : 0;
}

int mai_prune(unsigned *ret_removed, mai_error **ret_error)
{
        struct error err = {};
        struct container_manager *manager;
        unsigned removed = 0;
        int r = container_manager_open(&manager, &err);
        if (r < 0)
                return api_fail(r, &err, ret_error);
        r = container_manager_prune(manager, &removed, &err);
        /* Halves of images are only room on the disk: whatever is in the way there is no failure. */
        _cleanup_(image_store_close) struct image_store store = IMAGE_STORE_INIT;
        if (image_store_open(false, &store, NULL) == 0)
                image_store_prune(&store);
        (void)container_manager_close(manager);
        if (r < 0)
                return api_fail(r, &err, ret_error);
        if (ret_removed)
                *ret_removed = removed;
        return 0;
}
