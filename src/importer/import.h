/* SPDX-License-Identifier: Apache-2.0 */
/* From a source to a tree: what kind it is, its layers in order, and what it was. */
#pragma once

#include "importer/tree.h"
#include "protocol/importer.h"

struct import {
        int source;       /* a regular file, or a directory */
        int root, layout; /* empty directories: for the tree, and for the parts of an archive */
        uint64_t max_bytes, max_entries;
        void (*progress)(const struct importer_message *message, void *user); /* or NULL */
        void *user;
        struct importer_message message; /* how far it is; in the end what it was */
};

int import_run(struct import *import, struct setup_failure *failure);
