/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The init: PID 1 of every container, on every backend. It comes in a container whose mounts are ready,
 * locks itself down, and then serves the guest protocol: puts files, starts the program, reaps, kills,
 * collects files.
 */
#pragma once

#include "guest/lockdown.h"

#define GUEST_WORKDIR "/sandbox"
#define GUEST_HOME "/tmp/home"

struct init_config {
        int socket; /* guest channel, blocking stream socket */
        struct lockdown_config lockdown;
        unsigned degraded;         /* already waived by whoever built the container */
        const uint64_t *step_nsec; /* six times measured so far, for the READY frame */
};

/* Never returns: the process ends with the container. */
_Noreturn void init_main(const struct init_config *config);

/* Sends SETUP_FAILED and ends the process. */
_Noreturn void init_fail(int socket, const struct setup_failure *failure);
