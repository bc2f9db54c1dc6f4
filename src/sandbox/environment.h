/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a program: lists of "NAME=VALUE", the later ones winning. */
#pragma once

#include "util/common.h"

/*
 * `base` with what `overrides` sets differently; both NULL-terminated, either may be NULL. Only the array is
 * new: the strings stay where they are. Caller frees the array; NULL when out of memory.
 */
const char **environment_merge(const char *const *base, const char *const *overrides);
