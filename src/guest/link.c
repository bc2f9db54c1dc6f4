/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/link.h"

static int socket_send(struct link *link, enum guest_frame_type type, const void *head, size_t head_size,
    const void *tail, size_t tail_size, const int *fds, size_t n)
{
        return frame_send(link->in, type, head, head_size, tail, tail_size, fds, n);
}

static int socket_receive(struct link *link, uint16_t *ret_type, char *payload, uint32_t *ret_size,
    int fds[FD_PASS_MAX], size_t *ret_n)
{
        int r = frame_receive(link->in, ret_type, payload, ret_size, fds, ret_n);
        return r == 0 ? -EPIPE : r;
}

static void socket_drain(struct link *link)
{
        (void)link; /* a blocking socket holds nothing back */
}

const struct link_ops socket_link_ops = {
    .send = socket_send, .receive = socket_receive, .drain = socket_drain};
