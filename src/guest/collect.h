/* SPDX-License-Identifier: Apache-2.0 */
/* Files on their way out: what the program left in the working directory, after everything of it is dead. */
#pragma once

#include "guest/link.h"

/*
 * Sends FILE, FILE_DATA and FILE_SKIPPED frames and at last COLLECTED. Regular files only, each inode once,
 * bounded as `limits` says. `buffer` has room for GUEST_FRAME_MAX bytes. 0, or -errno when the channel is
 * broken.
 */
int collect_files(struct link *link, int workdir, const struct guest_collect *limits, char *buffer);
