/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The init's end of the guest channel. Two kinds: a blocking Unix socket, where the peer is a local
 * supervisor that always reads (native), and a queue over two pipes, where it may be far away and slow
 * (guest/queue.h).
 */
#pragma once

#include "protocol/frames.h"

struct link;

struct link_ops {
        /* 0 or -errno, which means that the channel is broken. */
        int (*send)(struct link *link, enum guest_frame_type type, const void *head, size_t head_size,
            const void *tail, size_t tail_size, const int *fds, size_t n);
        /*
         * One frame into `payload` (room for GUEST_FRAME_MAX bytes), when poll() says that `in` is readable.
         * The caller owns the descriptors. 1; 0: not complete yet; -errno (-EPIPE at the end of the stream).
         */
        int (*receive)(struct link *link, uint16_t *ret_type, char *payload, uint32_t *ret_size,
            int fds[FD_PASS_MAX], size_t *ret_n);
        /* Waits until everything sent has left us. */
        void (*drain)(struct link *link);
};

struct link {
        const struct link_ops *ops;
        int in;
};

extern const struct link_ops socket_link_ops;

static inline int link_send(struct link *link, enum guest_frame_type type, const void *head,
    size_t head_size, const void *tail, size_t tail_size)
{
        return link->ops->send(link, type, head, head_size, tail, tail_size, NULL, 0);
}
