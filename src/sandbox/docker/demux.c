/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/demux.h"

int demux_next(struct demux *demux, const char **data, size_t *size, enum demux_stream *ret_stream,
    const char **ret_part, size_t *ret_part_size)
{
        while (*size > 0) {
                if (demux->left > 0) {
                        size_t part = MIN(*size, (size_t)demux->left);
                        *ret_stream = demux->stream;
                        *ret_part = *data;
                        *ret_part_size = part;
                        *data += part;
                        *size -= part;
                        demux->left -= (uint32_t)part;
                        return 1;
                }
                size_t take = MIN(*size, sizeof demux->header - demux->have);
                memcpy(demux->header + demux->have, *data, take);
                demux->have += take;
                *data += take;
                *size -= take;
                if (demux->have < sizeof demux->header)
                        return 0;
                const unsigned char *header = demux->header;
                if (header[0] >= DEMUX_STREAM_COUNT_ || header[1] || header[2] || header[3])
                        return -EBADMSG;
                demux->stream = (enum demux_stream)header[0];
                demux->left = (uint32_t)header[4] << 24 | (uint32_t)header[5] << 16 |
                              (uint32_t)header[6] << 8 | (uint32_t)header[7];
                demux->have = 0;
        }
        return 0;
}
