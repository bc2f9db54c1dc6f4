/* SPDX-License-Identifier: Apache-2.0 */
/* What tools/seccomp-compile leaves in generated code; seccomp.c alone looks at it. */
#pragma once

#include "seccomp/seccomp.h"

extern const struct seccomp_program seccomp_generated_with_notify;
extern const struct seccomp_program seccomp_generated_without_notify;
extern const char seccomp_generated_sha256[];

/* All names one after another, each NUL-terminated, and for each number where its name begins, 0 for none.
 * One blob, since an array of pointers would cost the launcher a relocation per call at every start. */
extern const char seccomp_generated_names[];
extern const uint16_t seccomp_generated_name_offsets[];
extern const size_t seccomp_generated_name_count;
