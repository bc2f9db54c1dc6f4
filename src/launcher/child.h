/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side of making a native container: from the first instruction in its namespaces to the init.
 */
#pragma once

#include "protocol/launcher.h"

/*
 * `go` brings a byte when the maps are written, and another when the limits hold. `no_cgroup`: there is none
 * to hold them, so resource limits stand in. Never returns.
 */
_Noreturn void child_main(const struct launcher_create *create, bool no_cgroup, int guest, int go);
