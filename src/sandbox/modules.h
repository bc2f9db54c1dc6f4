/* SPDX-License-Identifier: Apache-2.0 */
/* Backends that are loaded when they are asked for (sandbox/module.h). */
#pragma once

#include "sandbox/backend.h"

/* The Docker backend, loaded now if it was not. Never NULL: one that can't be loaded says why when it is
 * opened. */
const struct backend_ops *docker_backend_load(void);
