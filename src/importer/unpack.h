/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of an archive put into a tree. */
#pragma once

#include "importer/layer.h"

enum unpack_what {
        UNPACK_ALL,       /* a plain archive, in which ".wh.x" is a name like another */
        UNPACK_WHITEOUTS, /* of a layer only what takes away from the layers below: the first pass */
        UNPACK_ENTRIES,   /* of a layer all else */
};

int unpack(struct tree *tree, struct layer *layer, enum unpack_what what, struct setup_failure *failure);
