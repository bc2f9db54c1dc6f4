/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose misuse has hurt enough programs: using one of them is a compile error.
 * Included by util/common.h, and so by every file of the project.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* glibc makes it a macro where the compiler is clang, and clang does not poison macros. */
#undef sprintf

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok gets atoi atol atof tmpnam mktemp
