/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a run left: their list in the result, and their copies in the caller's directory. */
#pragma once

#include "sandbox/executor.h"

/* Files that one run may hand over, at most; their bytes are bounded by disk_limit. */
#define COLLECT_FILES_MAX 10000U

/*
 * Takes one collected file: nothing happens if it is an input that did not change; else it is listed with
 * its digest and, with an output directory, written there. ERROR_OUTPUT: it is listed but could not be
 * written. ERROR_MEMORY.
 */
int collect_file(struct result *result, const struct execution_request *request,
    const struct container_event *event, struct error *err);
