/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching an image through the engine, which does all of the work; we pass on how far it has come. */
#pragma once

#include "sandbox/backend.h"
#include "sandbox/docker/endpoint.h"

#include <jansson.h>

/* Blocks until it is there. See backend_ops.pull. */
int docker_pull(const struct endpoint *endpoint, const struct image_pull *pull,
    char ret_digest[IMAGE_DIGEST_SIZE], struct error *err);

/* ---- For the tests ---- */

/* A reference cut into what the engine wants apart. */
struct image_reference {
        char name[256]; /* without tag and digest */
        char tag[160];  /* "latest" where none is given; a digest where one is */
        bool by_digest;
};

/* -EINVAL with the error: no such reference. */
int image_reference_parse(const char *text, struct image_reference *ret, struct error *err);

/* Layers seen in the engine's reports. */
#define PULL_LAYERS_MAX 256U
struct pull_state {
        struct {
                char id[32];
                bool done;
                uint64_t bytes_done, bytes;
        } layers[PULL_LAYERS_MAX];
        unsigned layer_count;
        struct error error; /* what the engine said went wrong */
};

/* Takes note of one report of the engine's. */
void pull_take_report(struct pull_state *state, const json_t *report);
void pull_sum(const struct pull_state *state, struct image_progress *ret);
