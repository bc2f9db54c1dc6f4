/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes files that a program made into a directory of the caller. Names and contents are hostile; the
 * directory is the caller's, and may hold anything. Nothing outside it is touched: each folder on the way is
 * opened by itself and without following links, a file is written beside and renamed into place, and what is
 * there already is replaced only if it is a plain file, which is never opened (it may be linked from
 * elsewhere).
 */
#pragma once

#include "util/error.h"

/* Folders within folders, at most. */
#define OUTPUT_DEPTH_MAX 64

/*
 * `path` is relative, `path_size` bytes, any byte but NUL; ".", ".." and empty parts are refused. Of `mode`
 * the permission bits for the caller's umask to cut down count. Errors: ERROR_OUTPUT, with the path escaped.
 */
int output_dir_write(int dirfd, const char *path, size_t path_size, unsigned mode, const void *data,
    size_t size, struct error *err);

/*
 * Opens the directory for that, making it and its parents
 * if missing. The caller closes *ret_fd. ERROR_OUTPUT.
 */
int output_dir_open(const char *path, int *ret_fd, struct error *err);
