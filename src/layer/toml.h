/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML 1.0, read into jansson's values: tables are objects, dates and times the text as it stands. Debian
 * has no C library for it. Strict, bounded in depth; errors (ERROR_INPUT) are "line N: …".
 */
#pragma once

#include "util/error.h"

#include <jansson.h>

/* *ret is a new reference. `size` at most 16 MiB. */
int toml_read(const char *text, size_t size, json_t **ret, struct error *err);
