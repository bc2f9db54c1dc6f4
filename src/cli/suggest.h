/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean …?": the known word nearest to a mistyped one. */
#pragma once

#include "util/common.h"

/*
 * The word of the NULL-terminated list `known` that is fewest edits (insert, delete, replace, swap of
 * neighbours) away from word[0…size-1], or NULL if none is near enough to be what was meant.
 */
const char *suggest(const char *word, size_t size, const char *const *known);
