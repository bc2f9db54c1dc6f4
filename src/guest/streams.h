/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's standard streams, relayed in frames over a queue where no descriptors can be passed.
 *
 * Nothing here waits and nothing grows: output is read from the program's pipes only while the queue has
 * room, so a program whose output nobody reads blocks in write() as it would on any pipe; input is bounded
 * by the window that protocol/guest.h gives the supervisor.
 */
#pragma once

#include "guest/queue.h"

#include <poll.h>

struct streams {
        struct queue *queue;
        char *buffer;                    /* GUEST_OUTPUT_MAX bytes */
        int output[GUEST_STREAM_COUNT_]; /* read ends; -1: not there yet, or ended */
        bool discard[GUEST_STREAM_COUNT_];
        uint64_t deadline; /* once the program has ended: when an empty pipe counts as ended; 0 before */

        int input; /* write end; -1: not there yet, or closed */
        struct ring waiting;
        bool input_ended, input_closed; /* by the supervisor; by the program */
        uint64_t taken, acknowledged;
};

#define STREAMS_WATCH_MAX 3

/* 0 or -ENOMEM. */
int streams_init(struct streams *streams, struct queue *queue);

/* Makes the pipes; the program's ends go to the caller. 0 or -errno. */
int streams_open(struct streams *streams, int ret_standard[3]);

size_t streams_watch(struct streams *streams, struct pollfd watched[STREAMS_WATCH_MAX], int *timeout);
/* Moves what can be moved; `watched` is what streams_watch() filled in, after poll(). 0 or -errno. */
int streams_handle(struct streams *streams, const struct pollfd *watched, size_t n);

/* INPUT, INPUT_END and DISCARD frames. 1, or -EBADMSG when the peer breaks the rules. */
int streams_take_frame(struct streams *streams, uint16_t type, const char *payload, uint32_t size);

/* The program and all of it is dead: what is left in the pipes is the rest. */
int streams_finish(struct streams *streams);
