/* SPDX-License-Identifier: Apache-2.0 */
/* Whole guest frames (protocol/guest.h) out of bytes that come in pieces. */
#pragma once

#include "protocol/guest.h"

struct frame_reader {
        char *buffer; /* header and payload of the frame being received */
        size_t have, room;
        bool complete; /* it was handed out: the next bytes begin another one */
};

struct received_frame {
        uint16_t type;
        uint32_t size;
        const char *payload; /* valid until the next call */
};

void frame_reader_clear(struct frame_reader *reader);

/* Takes from *data (moved forward). 1: *ret is a frame; 0: all taken; -EBADMSG: too large; -ENOMEM. */
int frame_reader_next(
    struct frame_reader *reader, const char **data, size_t *size, struct received_frame *ret);
