/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the parts of the installation are that are started when they are needed: beside the running program,
 * as in the build tree, or in the directory that the build names. No variable of the environment leads to
 * what is executed.
 */
#pragma once

#include "util/common.h"

#include <limits.h>

/* The path of the part; false if there is none. */
bool own_part_find(const char *file, char ret[PATH_MAX]);
