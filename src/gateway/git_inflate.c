/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/git.h"

#include <zlib.h>

enum reason git_inflate(const void *data, size_t size, struct strbuf *ret)
{
        z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)size};
        if (size > UINT32_MAX || inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
                return REASON_INTERNAL;
        enum reason reason = REASON_NONE;
        int state = Z_OK;
        while (reason == REASON_NONE && state == Z_OK) {
                Bytef piece[4096];
                stream.next_out = piece;
                stream.avail_out = sizeof piece;
                state = inflate(&stream, Z_NO_FLUSH);
                if (state != Z_OK && state != Z_STREAM_END)
                        reason = REASON_GIT;
                else if (strbuf_append(ret, piece, sizeof piece - stream.avail_out) < 0)
                        reason = REASON_TOO_LARGE;
        }
        if (reason == REASON_NONE && stream.avail_in > 0)
                reason = REASON_GIT; /* another member, or bytes behind it */
        (void)inflateEnd(&stream);
        return reason;
}
