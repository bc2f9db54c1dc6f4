/* SPDX-License-Identifier: Apache-2.0 */
/* The CONFIGURE frame: what an init that somebody else has started is to be. */
#pragma once

#include "protocol/guest.h"

struct configuration {
        struct guest_configure head;
        char paths[GUEST_WRITABLE_MAX * GUEST_WRITABLE_PATH_MAX];
        const char *writable[GUEST_WRITABLE_MAX + 1]; /* into paths; NULL-terminated */
};

/* Copies and checks the payload. 0 or -errno with the failure filled in. */
int configure_parse(
    struct configuration *ret, const char *payload, uint32_t size, struct setup_failure *failure);

/* Compares with what we are: ids, CPUs (narrowed if need be), and that the directories can be written to. */
int configure_verify(
    const struct configuration *configuration, unsigned *degraded, struct setup_failure *failure);
