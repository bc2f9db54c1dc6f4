/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One output stream of a program, cut at the policy's output_limit. Characters that arrive in pieces are put
 * together before they are passed on, so that each piece handed out is whole UTF-8 where the program wrote
 * UTF-8, and the cut falls between characters. Holds at most three bytes of its own.
 */
#pragma once

#include "util/common.h"

/* Takes bytes on their way; a return other than 0 stops the feeding and is passed on. */
typedef int (*stream_sink)(const char *data, size_t size, void *user);

struct stream_cutter {
        uint64_t limit;
        uint64_t total;  /* bytes that the program wrote, as far as they were looked at */
        uint64_t passed; /* bytes handed to the sink */
        char held[4];    /* the beginning of a character */
        size_t held_size;
        bool truncated;
};

/* Takes what arrived. Once `truncated`, everything is dropped. */
int stream_feed(struct stream_cutter *cutter, const char *data, size_t size, stream_sink sink, void *user);

/* Nothing more comes: hands out what is held, unless the stream was cut. */
int stream_end(struct stream_cutter *cutter, stream_sink sink, void *user);
