/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammars of what a guest may name: a few dozen harmless characters, short, and in one normal form, so
 * that two spellings of one name neither count twice nor carry anything to the upstream.
 */
#pragma once

#include "util/common.h"

#define NAME_MAX_BYTES 100      /* of a package name; npm's own bound is 214 */
#define FILE_NAME_MAX_BYTES 250 /* of a wheel, sdist or tarball */

/*
 * A Python project name (PEP 508) in its PEP 503 form: lower case, runs of - _ . as one -. `ret` has room
 * for NAME_MAX_BYTES + 1. False if it is not a name.
 */
bool name_pypi(const char *text, char *ret);

/* An npm name, "name" or "@scope/name", as new packages have to be: lower case. Checked, not changed. */
bool name_npm(const char *text);

/* The base name of a file: letters, digits and . _ + ! ~ -, not beginning with a dot. */
bool name_file(const char *text);

/* A name of an entry: what may stand as the first segment of a path. */
bool name_entry(const char *text);

/* Whether a file of a Python index is a wheel or a source distribution; other kinds are not handed out. */
bool name_is_wheel(const char *file);
bool name_is_sdist(const char *file);

/* Whether the file's name begins with the project's, given in its PEP 503 form, and a dash. */
bool name_file_belongs(const char *file, const char *project);

/* * and ? match as in a shell; there is no escape and no class. */
bool name_matches(const char *pattern, const char *name);
