/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `run` and `exec` turned into a request of the library. */
#pragma once

#include "cli/options.h"

#include "mai/sandbox.h"

/* 0; or negative with either error set: `err` for faults found here, *ret_error for the library's. */
int request_apply_options(
    mai_request *request, const struct option_list *options, struct error *err, mai_error **ret_error);
