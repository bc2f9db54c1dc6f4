/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The importer gives up everything before it looks at an archive: whoever takes it over by a flaw in a
 * decompressor can change the one image that is being made, and nothing else.
 */
#pragma once

#include "protocol/failure.h"

/*
 * `writable` are directories to work in, `readable` is one to read, or -1. The largest file that it may
 * write is `max_file` bytes.
 */
int harden(
    const int *writable, size_t count, int readable, uint64_t max_file, struct setup_failure *failure);
