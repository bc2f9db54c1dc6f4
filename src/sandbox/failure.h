/* SPDX-License-Identifier: Apache-2.0 */
/* What could not be set up inside, as it came over a protocol, in the library's own form. */
#pragma once

#include "protocol/failure.h"
#include "util/error.h"

/* Returns -errno. The block's texts need not be terminated. */
int failure_to_error(const struct setup_failure *failure, struct error *err);
