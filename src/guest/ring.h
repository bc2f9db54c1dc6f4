/* SPDX-License-Identifier: Apache-2.0 */
/* A byte queue of fixed size between two descriptors of different speed. */
#pragma once

#include "util/common.h"

struct ring {
        char *data; /* NULL: not opened */
        size_t room, first, used;
};

/* 0 or -ENOMEM. The memory is touched only as far as it is used. */
int ring_open(struct ring *ring, size_t room);
void ring_close(struct ring *ring);

static inline size_t ring_free(const struct ring *ring)
{
        return ring->room - ring->used;
}

/* Appends as much as fits, and says how much that was. */
size_t ring_put(struct ring *ring, const void *data, size_t size);

/*
 * Writes from the ring until it is empty or the descriptor (non-blocking) takes no more. Returns the bytes
 * written, or -errno; -EAGAIN is no error but 0 bytes.
 */
ssize_t ring_write(struct ring *ring, int fd);
