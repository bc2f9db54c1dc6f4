/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The init: PID 1 of every container, on every backend. It comes in a container whose mounts are ready,
 * locks itself down, and then serves the guest protocol: puts files, starts the program, reaps, kills,
 * collects files. What else there is to do where the host can't (relaying streams, sampling) is an
 * extension, so that the native launcher does not carry it.
 */
#pragma once

#include "guest/link.h"
#include "guest/lockdown.h"

#include <poll.h>
#include <sys/types.h>

#define GUEST_WORKDIR "/sandbox"
#define GUEST_HOME "/tmp/home"

enum init_moment {
        INIT_RELEASED, /* the gate is open */
        INIT_ENDED,    /* the program and all of it is dead; EXITED is about to be sent */
        INIT_EXITED,   /* EXITED has been sent */
};

#define INIT_EXTENSION_WATCH_MAX 5

/* Functions return 0 or -errno, and an error ends the container. */
struct init_extension {
        void *state;
        void (*locked_down)(void *state, const struct lockdown_state *lockdown);
        /* Descriptors to poll, and the milliseconds until something is due (lowers *timeout; -1: never). */
        size_t (*watch)(void *state, struct pollfd watched[INIT_EXTENSION_WATCH_MAX], int *timeout);
        int (*handle)(void *state, const struct pollfd *watched, size_t n);
        /* The program's standard descriptors, and the socket that it announces itself on; the init closes
         * them. */
        int (*open_streams)(void *state, int ret_standard[3], int *ret_announce);
        /* A frame that the init does not know: 1 when it was for us, 0 when nobody knows it. */
        int (*take_frame)(void *state, uint16_t type, const char *payload, uint32_t size);
        int (*tell)(void *state, enum init_moment moment);
};

struct init_config {
        struct link *link;
        const struct init_extension *extension; /* NULL: descriptors can be passed, the host does the rest */
        struct lockdown_config lockdown;
        unsigned degraded;    /* already waived by whoever built the container */
        bool die_with_parent; /* the parent's thread lives as long as the container should */
};

/* Never returns: the process ends with the container. */
_Noreturn void init_main(const struct init_config *config);

/* Sends SETUP_FAILED and ends the process. */
_Noreturn void init_fail(struct link *link, const struct setup_failure *failure);
