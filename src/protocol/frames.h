/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving frames of the guest protocol (protocol/guest.h) over a blocking stream socket. */
#pragma once

#include "protocol/guest.h"
#include "util/fd.h"

#include <sys/types.h>

/*
 * Sends one frame: `head` then `tail` as its payload (each
 * may be empty), with descriptors if n > 0. 0 or -errno.
 */
int frame_send(int socket, enum guest_frame_type type, const void *head, size_t head_size, const void *tail,
    size_t tail_size, const int *fds, size_t n);

/*
 * Receives one frame into `payload` (room for GUEST_FRAME_MAX bytes), and the descriptors that came with it,
 * which the caller owns. Returns 1, 0 at the end of the stream, or -errno (-EBADMSG for a frame that is too
 * large).
 */
int frame_receive(
    int socket, uint16_t *ret_type, void *payload, uint32_t *ret_size, int fds[FD_PASS_MAX], size_t *ret_n);
