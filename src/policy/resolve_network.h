/* SPDX-License-Identifier: Apache-2.0 */
/* The network part of resolving a policy (policy/resolve.c). Private to src/policy. */
#pragma once

#include "policy/values.h"

/* Fills `network` and `gateway` of the spec. A run without network costs a comparison. */
int resolve_network(const struct policy *policy, const struct policy_level *level,
    const struct policy_request *request, struct container_spec *spec, struct error *err);
