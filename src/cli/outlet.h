/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of our output streams while a program runs. The thread that writes is the one that enforces the time
 * limit, so a reader who does not read (a pager, a stopped terminal) must not hold it up: what cannot be
 * written at once waits in memory, up to a limit. The descriptor's own O_NONBLOCK is left alone, since it is
 * shared with the caller.
 */
#pragma once

#include "util/common.h"
#include "util/strbuf.h"

#define OUTLET_PENDING_MAX (256U << 20)

struct outlet {
        int fd;
        bool known, regular; /* whether it is a regular file: those never block */
        char last;           /* byte handed over last; 0 at the start */
        struct strbuf pending;
        size_t sent; /* bytes at the front of `pending` that are written */
        int failed;  /* first -errno: everything after it is dropped */
};

#define OUTLET_INIT(descriptor)                                                                             \
        {                                                                                                   \
                .fd = (descriptor), .pending = STRBUF_INIT(OUTLET_PENDING_MAX)                              \
        }

void outlet_clear(struct outlet *outlet);

/*
 * Hands over bytes. Waits only when OUTLET_PENDING_MAX bytes wait already. 0 or -errno; -EINTR after a
 * caught signal.
 */
int outlet_write(struct outlet *outlet, const void *data, size_t size);

/* Writes what can be written without waiting. 0 or -errno. */
int outlet_pump(struct outlet *outlet);

/* Waits until everything is written. 0 or -errno; -EINTR after a caught signal. */
int outlet_flush(struct outlet *outlet);
