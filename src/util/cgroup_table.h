/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of /proc/PID/cgroup, one line "ID:controllers:path" per hierarchy: which group a process is in.
 * Nothing is kept; safe from any thread.
 */
#pragma once

#include "util/common.h"

/*
 * Copies the path that `table` gives for `controller` ("": v2's hierarchy) into ret_path, NUL-terminated.
 * Returns 0, -ENOENT if there is no such line, or -ENAMETOOLONG if the path does not fit.
 */
int cgroup_table_path(const char *table, const char *controller, char *ret_path, size_t size);
