/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Docker backend is a module, libmai-docker.so: libcurl and TLS, which take milliseconds to load, are
 * brought in by whoever uses Docker and by nobody else. What the module and its loader (sandbox/modules.c)
 * agree on. The two are built together, and must be of one version.
 */
#pragma once

#include "sandbox/backend.h"

#define BACKEND_MODULE_SYMBOL "mai_backend_module"

struct backend_module {
        const char *version; /* MAI_VERSION of its build */
        const struct backend_ops *ops;
};

extern const struct backend_module mai_backend_module;
