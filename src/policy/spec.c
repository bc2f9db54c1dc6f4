/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/spec.h"

static const char *const enforcement_names[ENFORCEMENT_COUNT_] = {
    [ENFORCE_CGROUP] = "cgroup",
    [ENFORCE_SWAP] = "swap",
    [ENFORCE_CPUSET] = "cpuset",
    [ENFORCE_LANDLOCK] = "landlock",
    [ENFORCE_GROUPS] = "groups",
    [ENFORCE_UID] = "uid",
    [ENFORCE_PROC] = "proc",
    [ENFORCE_INODES] = "inodes",
};

const char *enforcement_name(enum enforcement enforcement)
{
        return (unsigned)enforcement < ENFORCEMENT_COUNT_ ? enforcement_names[enforcement] : NULL;
}

static void free_all(char **texts)
{
        for (size_t i = 0; texts && texts[i]; i++)
                free(texts[i]);
        free(texts);
}

void container_spec_clear(struct container_spec *spec)
{
        if (!spec)
                return;
        free(spec->trust_level);
        free(spec->backend);
        free(spec->image);
        free(spec->policy_path);
        free(spec->docker_host);
        free(spec->docker_runtime);
        free_all(spec->environment);
        free_all(spec->unsafe);
        *spec = (struct container_spec){};
}
