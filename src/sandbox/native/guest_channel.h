/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's end of the guest protocol: whole frames out of a stream, without ever blocking on
 * reads. Frames are sent with frame_send() (protocol/frames.h), which blocks no longer than the socket's
 * send time-out.
 */
#pragma once

#include "protocol/guest.h"
#include "util/fd.h"

#include <sys/types.h>

struct guest_channel {
        int socket;   /* -1: closed */
        char *buffer; /* header and payload of the frame being received */
        size_t have, room;
        int fds[FD_PASS_MAX]; /* that came with it; the caller takes or they are closed with the channel */
        size_t fd_count;
        pid_t sender; /* of the bytes received last, as seen from here */
};
#define GUEST_CHANNEL_INIT                                                                                  \
        {                                                                                                   \
                .socket = -1                                                                                \
        }

struct guest_frame {
        uint16_t type;
        uint32_t size;
        const char *payload; /* valid until the next receive */
        pid_t sender;
};

/* Makes a socket pair; *ret_theirs is the init's end. */
int guest_channel_open(struct guest_channel *channel, int *ret_theirs);
void guest_channel_close(struct guest_channel *channel);

/* 1 and a frame; 0: none complete yet; -EPIPE at the end; -errno (-EBADMSG: not our protocol). */
int guest_channel_receive(struct guest_channel *channel, struct guest_frame *ret);
