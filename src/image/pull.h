/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getting an image from a registry: skopeo, a program of its own, copies it into an OCI layout, which is
 * then imported like any other. What talks to the network has no privileges: where root calls, skopeo is
 * started as the importer's uid and sees of root's files only the credentials for registries.
 */
#pragma once

#include "image/import.h"

/*
 * `import` says what it is to be called and who is told how far it is; its `source` is not used. While
 * skopeo is at work only bytes_done is known.
 */
int image_pull(const struct image_store *store, const char *reference, const struct image_import *import,
    struct image_info *ret, struct error *err);
