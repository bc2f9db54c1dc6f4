/* SPDX-License-Identifier: Apache-2.0 */
/* What a collected file probably is, by the end of its name. */
#pragma once

#include "util/common.h"

/* "image/png", …; NULL: no idea. Static. */
const char *media_type(const char *path, size_t path_size);
