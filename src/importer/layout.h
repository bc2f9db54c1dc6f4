/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory that holds an image in parts: an OCI layout, or what `docker save` writes. Nobody trusts what
 * its JSON says: parts are opened beneath the directory only, and their digests checked.
 */
#pragma once

#include "importer/layer.h"

#define LAYOUT_LAYERS_MAX 256U

struct layout_layer {
        int fd;
        uint64_t size;
        char packed[SHA256_HEX_SIZE]; /* as it lies there; "": nobody says */
        char plain[SHA256_HEX_SIZE];  /* decompressed: the diff_id */
};

struct layout {
        const char *format; /* "oci" or "docker" */
        char digest[80];    /* of the configuration */
        char manifest_digest[80];
        char search_path[2048]; /* PATH of the configuration's Env, or "" */
        struct layout_layer *layers;
        size_t layer_count;
};
void layout_clear(struct layout *layout);

/* Does the directory look like one? */
bool layout_is_one(int directory);

/* Reads what it says, and opens its layers, of the one image in it that is for this machine. */
int layout_read(int directory, struct layout *ret, struct setup_failure *failure);
