/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/backend.h"

static const struct backend_ops *const backends[] = {&native_backend};

const struct backend_ops *backend_find(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
                if (strcmp(backends[i]->name, name) == 0)
                        return backends[i];
        return NULL;
}
