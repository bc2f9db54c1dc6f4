/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files on their way in: PUT_FILE and PUT_DATA frames, written
 * below the working directory before the program runs.
 */
#pragma once

#include "protocol/failure.h"

struct put_state {
        int fd;        /* of the file begun last, or -1 */
        uint64_t left; /* bytes of it still to come */
};

/* A PUT_FILE frame: checks the path, makes its directories and opens the file. */
int put_begin(
    struct put_state *put, int workdir, const char *payload, uint32_t size, struct setup_failure *failure);
/* A PUT_DATA frame. */
int put_data(struct put_state *put, const char *payload, uint32_t size, struct setup_failure *failure);
