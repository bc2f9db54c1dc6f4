/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/backend.h"

#include "sandbox/modules.h"

const struct backend_ops *backend_find(const char *name)
{
        if (strcmp(name, native_backend.name) == 0)
                return &native_backend;
        return strcmp(name, "docker") == 0 ? docker_backend_load() : NULL;
}
