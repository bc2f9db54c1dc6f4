/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/frame_reader.h"

void frame_reader_clear(struct frame_reader *reader)
{
        free(reader->buffer);
        *reader = (struct frame_reader){};
}

/* Takes until `wanted` bytes are there. 1: they are. */
static int fill(struct frame_reader *reader, const char **data, size_t *size, size_t wanted)
{
        if (wanted > reader->room) {
                char *larger = realloc(reader->buffer, wanted);
                if (!larger)
                        return -ENOMEM;
                reader->buffer = larger;
                reader->room = wanted;
        }
        size_t take = MIN(*size, wanted - reader->have);
        if (take > 0)
                memcpy(reader->buffer + reader->have, *data, take);
        reader->have += take;
        *data += take;
        *size -= take;
        return reader->have == wanted;
}

int frame_reader_next(
    struct frame_reader *reader, const char **data, size_t *size, struct received_frame *ret)
{
        struct guest_header header;
        if (reader->complete) {
                reader->complete = false;
                reader->have = 0;
        }
        if (reader->have < sizeof header) {
                int r = fill(reader, data, size, sizeof header);
                if (r <= 0)
                        return r;
        }
        memcpy(&header, reader->buffer, sizeof header);
        if (header.size > GUEST_FRAME_MAX)
                return -EBADMSG;
        int r = fill(reader, data, size, sizeof header + header.size);
        if (r <= 0)
                return r;
        *ret = (struct received_frame){
            .type = header.type, .size = header.size, .payload = reader->buffer + sizeof header};
        reader->complete = true;
        return 1;
}
