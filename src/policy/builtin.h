/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shipped policy as it was when the program was built;
 * made from config/sandbox.yaml by tools/embed-policy.py.
 */
#pragma once

#include <stddef.h>

extern const char policy_builtin_text[];
extern const size_t policy_builtin_size;
extern const char policy_builtin_sha256[65];
