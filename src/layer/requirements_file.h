/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that list requirements: a requirements file of pip's (requirements, comments, continued lines,
 * --hash,
 * --require-hashes; every other option, URLs and paths are refused), and a lock file (pylock.toml, PEP 751).
 * Errors are ERROR_INPUT and begin with the file's name and, where there is one, the line.
 */
#pragma once

#include "layer/requirement.h"

#define REQUIREMENTS_FILE_MAX (4U << 20)

int requirements_file_read(
    const char *name, const char *text, size_t size, struct requirement_set *set, struct error *err);

/* Whether a file of that name is a lock file: "pylock.toml", "pylock.NAME.toml". */
bool pylock_is_name(const char *path);

/* Source distributions of the lock count only with `sdist`: their hashes are left out otherwise. */
int pylock_read(const char *name, const char *text, size_t size, bool sdist, struct requirement_set *set,
    struct error *err);
