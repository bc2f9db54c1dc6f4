/* SPDX-License-Identifier: Apache-2.0 */
/* A container spec in the words of the engine: the body of POST /containers/create. */
#pragma once

#include "policy/spec.h"
#include "util/error.h"

#include <jansson.h>

/* Where the init lies in derived images (docker/image.h). */
#define DOCKER_INIT_PATH "/.mai-sandbox/init"

/* Labels of ownership on containers and images. */
#define DOCKER_LABEL "org.mai-sandbox."

/* Directories of the container that can be written to, the working directory first. */
extern const char *const docker_writable[];
#define DOCKER_WRITABLE_COUNT 3U

/* Devices that may be written to. */
extern const char *const docker_devices[];
#define DOCKER_DEVICE_COUNT 3U

/* What the init and the folders it makes use up on top of what the program may have. */
#define DOCKER_OWN_PROCESSES 1U
#define DOCKER_OWN_INODES 2U

struct docker_identity {
        const char *id; /* 32 hexadecimal digits */
        uint32_t uid, gid;
        const char *image; /* the derived one */
        const char *cpus;  /* "0-1", or "": all */
};

/* NULL: out of memory. */
json_t *docker_create_request(const struct container_spec *spec, const struct docker_identity *identity);
