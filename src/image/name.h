/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What images are called: the grammar of the policy's `image` ("debian:12", "registry:5000/team/python"),
 * and the one part of a path that stands for such a name on disk.
 */
#pragma once

#include "util/error.h"

#define IMAGE_NAME_SIZE 129
#define IMAGE_FILE_NAME_SIZE (3 * IMAGE_NAME_SIZE) /* a percent sign and two digits for some characters */

/*
 * Letters, digits and . _ - : / @ +, the first a letter or digit, at most 128; no part between slashes is
 * empty, "." or ".."; not "host", which is this machine.
 */
int image_name_check(const char *name, struct error *err);

/* Of a name that was checked. Never starts with a dot, holds no slash, and two names never share one. */
void image_name_encode(const char *name, char ret[IMAGE_FILE_NAME_SIZE]);
