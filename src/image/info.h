/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of an image, as it stands beside its tree in a file of ours, image.json. */
#pragma once

#include "image/name.h"

#define IMAGE_INFO_FILE "image.json"

struct image_info {
        char name[IMAGE_NAME_SIZE];
        char format[16];          /* "tar", "oci" or "docker" */
        char digest[80];          /* "sha256:..." of its configuration; of a plain tar, of the tar */
        char manifest_digest[80]; /* by which a registry knows it, or "" */
        char search_path[2048];   /* PATH that its configuration gives, or "" */
        char created[32];         /* when it came here; RFC 3339 */
        uint64_t layers, size, files, skipped;
};

/* As one JSON object; the caller frees. NULL if out of memory. */
char *image_info_json(const struct image_info *info, bool in_use);

int image_info_write(int directory, const struct image_info *info, struct error *err);
int image_info_read(int directory, struct image_info *ret, struct error *err);
