/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's part in a run: it is started beside the container, has to be ready before the gate opens,
 * gets the guest's sockets, and what it did becomes events and figures of the result. If it dies, the run
 * ends. Internal to the executor. A run without network calls these functions for nothing.
 */
#pragma once

#include "sandbox/gateway/gateway.h"

struct run;
struct container_event;

struct run_network {
        struct gateway_client *client; /* NULL: the run has no network */
        char **environment;            /* what makes pip and the others use it; NULL likewise */
        bool gate_waits;               /* the container is as it should be, the gateway not ready yet */
        bool ended;                    /* it has told its last figures */
        uint64_t received_bytes, sent_bytes;
        unsigned named[2]; /* refusals and other outcomes that have an entry with a name, by what is below */
};

/* Starts it, if the run has a network. Fails the run if it can't. */
void run_network_start(struct run *run);

/* Whether the gate has to wait for it; then run_network_take_events() opens it. */
bool run_network_delays_gate(struct run *run);

/* For ppoll(); -1: nothing to wait for. */
int run_network_fd(const struct run *run);

/* What it has told since. */
void run_network_take_events(struct run *run);

/* CONTAINER_SOCKET */
void run_network_on_socket(struct run *run, struct container_event *event);

/* After the container is gone: waits for its last figures, which are there at once, and ends it. */
void run_network_finish(struct run *run);
