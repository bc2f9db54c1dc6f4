/* SPDX-License-Identifier: Apache-2.0 */
/* What both forms of a layout share. */
#pragma once

#include "importer/layout.h"

#include <jansson.h>

#define LAYOUT_OCI_MARK "oci-layout"
#define LAYOUT_DOCKER_MARK "manifest.json"

/* Opens a regular file beneath the directory. A descriptor or negative. */
int layout_open_file(int directory, const char *path, uint64_t *ret_size, struct setup_failure *failure);

/* Reads a file of JSON, and the digest of its bytes. */
int layout_read_json(int directory, const char *path, json_t **ret, char digest[SHA256_HEX_SIZE],
    struct setup_failure *failure);

/* Is it 64 lower-case hexadecimal digits? */
bool layout_is_digest(const char *hex);

/* "blobs/sha256/HEX" of a descriptor's digest, which must be of that kind; also its bare digits. */
int layout_blob_path(
    const json_t *descriptor, char ret[96], const char **ret_hex, struct setup_failure *failure);

/* Is a platform (or a configuration, which names one in the same words) this machine? */
bool layout_runs_here(const json_t *platform);

/* Takes what we use of an image's configuration: machine, diff_ids, PATH. Makes the array of layers. */
int layout_take_config(struct layout *layout, const json_t *config, struct setup_failure *failure);

int layout_read_oci(int directory, struct layout *layout, struct setup_failure *failure);
int layout_read_docker(int directory, struct layout *layout, struct setup_failure *failure);
