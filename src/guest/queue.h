/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link over two byte streams that pass no descriptors. Sending never waits while there is room in the
 * queue; whoever sends much asks for the room first (queue_room()), so that what must not wait (the end of
 * the program, an answer) always finds some.
 */
#pragma once

#include "guest/link.h"
#include "guest/ring.h"

#define QUEUE_SIZE (512U << 10)
/* Kept for what must not wait: a handful of small frames. */
#define QUEUE_RESERVE (64U << 10)

struct queue {
        struct link link; /* first: the ops cast back */
        int out;
        struct ring ring;
        struct guest_header header; /* of the frame that is being received */
        size_t have;                /* bytes of header and payload received so far */
};

/* Takes the two descriptors over and makes them non-blocking. 0 or -errno. */
int queue_open(struct queue *queue, int in, int out);

/* Payload bytes of a frame that can be sent now without touching the reserve. */
size_t queue_room(const struct queue *queue);

/* More than half of it waits to be read: no time for what can be left out. */
static inline bool queue_is_slow(const struct queue *queue)
{
        return queue->ring.used > QUEUE_SIZE / 2;
}

/* Sends on what waits, as far as the peer takes it. 0 or -errno. */
int queue_flush(struct queue *queue);
