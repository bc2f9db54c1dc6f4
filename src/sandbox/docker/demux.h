/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's multiplexed stream: what a container without a terminal writes comes as pieces, each behind
 * eight bytes: the stream (1 standard output, 2 standard error), three zeros, the size in network order.
 * Fed with whatever arrives, cut anywhere.
 */
#pragma once

#include "util/common.h"

enum demux_stream {
        DEMUX_STDIN, /* never sent to us by an engine that behaves; let pass */
        DEMUX_STDOUT,
        DEMUX_STDERR,
        DEMUX_SYSTEM, /* the engine's own word about a stream that broke */
        DEMUX_STREAM_COUNT_,
};

struct demux {
        unsigned char header[8];
        size_t have;   /* bytes of the header */
        uint32_t left; /* bytes of the piece still to come */
        enum demux_stream stream;
};

/*
 * Takes from *data (moved forward, *size lowered) up to the end of a piece or of the data. 1: *ret_part is
 * something of *ret_stream; 0: all taken, nothing to tell; -EBADMSG: not such a stream.
 */
int demux_next(struct demux *demux, const char **data, size_t *size, enum demux_stream *ret_stream,
    const char **ret_part, size_t *ret_part_size);
