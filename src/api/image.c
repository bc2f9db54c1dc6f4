/* SPDX-License-Identifier: Apache-2.0 */
/* Images, by way of the backend that has them. */
#include "api/internal.h"

struct relay {
        mai_image_handler handler;
        void *user;
};

static int relay_progress(const struct image_progress *progress, void *user)
{
        const struct relay *relay = user;
        const mai_image_progress shown = {
            .parts_done = progress->parts_done,
            .parts = progress->parts,
            .bytes_done = progress->bytes_done,
            .bytes = progress->bytes,
        };
        return relay->handler ? relay->handler(&shown, relay->user) : 0;
}

static int pull_image(const char *backend_name, const struct image_pull *pull,
    char digest[IMAGE_DIGEST_SIZE], struct error *err)
{
        const struct backend_ops *ops = backend_find(backend_name);
        if (!ops)
                return error_set(err, ERROR_BACKEND, 0, "choose native or docker",
                    "backend: \"%s\" is not part of this build", backend_name);
        struct backend *backend = NULL;
        int r = ops->open(&backend, err); /* where it can't be loaded, this says why */
        if (r < 0)
                return r;
        if (ops->pull)
                r = ops->pull(backend, pull, digest, err);
        else
                r = error_set(err, ERROR_BACKEND, 0, "choose another one with --backend",
                    "backend: \"%s\" can't pull images", backend_name);
        (void)ops->close(backend);
        return r;
}

int mai_image_pull(const char *policy_path, const char *backend, const char *reference, const char *name,
    mai_image_handler handler, void *user, char **ret_digest, mai_error **ret_error)
{
        struct error err = {};
        struct policy *policy;
        struct container_spec spec = {};
        unsigned cpus;
        uint64_t memory;
        int r = policy_load(policy_path, &policy, &err);
        if (r < 0)
                return api_fail(r, &err, ret_error);
        policy_host_capacity(&cpus, &memory);
        /* What the policy says of its default level; which backend gets the image is the caller's choice. */
        r = policy_resolve(policy, &(struct policy_request){}, cpus, memory, &spec, &err);
        (void)policy_free(policy);
        if (r < 0)
                return api_fail(r, &err, ret_error);

        struct relay relay = {.handler = handler, .user = user};
        const struct image_pull pull = {
            .engine = spec.docker_host,
            .reference = reference,
            .name = name,
            .progress = relay_progress,
            .user = &relay,
        };
        char digest[IMAGE_DIGEST_SIZE] = "";
        r = pull_image(backend ? backend : spec.backend, &pull, digest, &err);
        container_spec_clear(&spec);
        char *copy = r == 0 ? strdup(digest) : NULL;
        if (r == 0 && !copy)
                r = error_oom(&err);
        if (r < 0)
                return api_fail(r, &err, ret_error);
        *ret_digest = copy;
        return 0;
}
