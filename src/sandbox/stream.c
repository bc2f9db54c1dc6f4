/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/stream.h"

#include "sandbox/text.h"

static int pass(struct stream_cutter *cutter, const char *data, size_t size, stream_sink sink, void *user)
{
        if (size == 0)
                return 0;
        cutter->passed += size;
        return sink(data, size, user);
}

int stream_feed(struct stream_cutter *cutter, const char *data, size_t size, stream_sink sink, void *user)
{
        cutter->total += size;
        if (cutter->truncated)
                return 0;

        uint64_t room = cutter->limit - cutter->passed - cutter->held_size;
        if (size > room) {
                size = (size_t)room;
                cutter->truncated = true;
        }

        /* Complete the character that is held, byte by byte: at most three are missing. */
        while (cutter->held_size > 0 && size > 0) {
                cutter->held[cutter->held_size++] = *data++;
                size--;
                if (utf8_incomplete_tail(cutter->held, cutter->held_size) == cutter->held_size)
                        continue;
                size_t held = cutter->held_size;
                /* A byte that does not continue it may begin the next one: give that back. */
                if (!utf8_valid(cutter->held, held)) {
                        held--;
                        data--;
                        size++;
                }
                cutter->held_size = 0;
                int r = pass(cutter, cutter->held, held, sink, user);
                if (r != 0)
                        return r;
        }

        size_t tail = utf8_incomplete_tail(data, size);
        int r = pass(cutter, data, size - tail, sink, user);
        if (tail > 0 && r == 0) {
                memcpy(cutter->held, data + size - tail, tail);
                cutter->held_size = tail;
        }
        return r;
}

int stream_end(struct stream_cutter *cutter, stream_sink sink, void *user)
{
        size_t held = cutter->held_size;
        cutter->held_size = 0;
        return cutter->truncated ? 0 : pass(cutter, cutter->held, held, sink, user);
}
