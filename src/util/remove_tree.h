/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes a file or a whole directory tree, whatever somebody else put into it: no link is followed, and a
 * tree may be deeper than there are descriptors or bytes in a path. Nobody may be writing to it meanwhile.
 */
#pragma once

#include "util/common.h"

/* What `name` is below `directory`. 0, also when there is nothing; or -errno, and a part may be gone. */
int remove_tree(int directory, const char *name);

/* Everything in the directory, but not itself. 0 or -errno. */
int remove_children(int directory);
