/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlet.h"

#include "cli/signals.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>

void outlet_clear(struct outlet *outlet)
{
        strbuf_clear(&outlet->pending);
}

/* 1: can take PIPE_BUF bytes now. 0: not now. -EINTR: a signal asks us to stop. */
static int wait_writable(struct outlet *outlet, bool block)
{
        for (;;) {
                struct pollfd poller = {.fd = outlet->fd, .events = POLLOUT};
                int n = poll(&poller, 1, block ? -1 : 0);
                if (n >= 0)
                        return n;
                if (errno != EINTR)
                        return -errno;
                if (signals_caught())
                        return -EINTR;
        }
}

/*
 * Writes until all is written, or, unless `block`, until it would have to wait. *ret_done counts the bytes
 * written, also when -errno is returned, so that none is written twice.
 */
static int write_some(struct outlet *outlet, const char *data, size_t size, bool block, size_t *ret_done)
{
        if (!outlet->known) {
                struct stat status;
                outlet->regular = fstat(outlet->fd, &status) == 0 && S_ISREG(status.st_mode);
                outlet->known = true;
        }
        *ret_done = 0;
        while (*ret_done < size) {
                size_t chunk = size - *ret_done;
                if (!outlet->regular) {
                        int ready = wait_writable(outlet, block);
                        if (ready <= 0)
                                return ready;
                        /* More than this could make a pipe that has room wait for more room. */
                        chunk = MIN(chunk, (size_t)PIPE_BUF);
                }
                ssize_t n = write(outlet->fd, data + *ret_done, chunk);
                if (n >= 0)
                        *ret_done += (size_t)n;
                else if (errno == EINTR && signals_caught())
                        return -EINTR;
                else if (errno == EAGAIN && !block)
                        return 0;
                else if (errno != EINTR && errno != EAGAIN)
                        return -errno;
        }
        return 0;
}

/* Everything after a failure is dropped; an interruption is none, and what is left may still be written. */
static int note_failure(struct outlet *outlet, int r)
{
        if (r < 0 && r != -EINTR)
                outlet->failed = r;
        return r;
}

static int drain(struct outlet *outlet, bool block)
{
        if (outlet->failed)
                return outlet->failed;
        size_t left = outlet->pending.size - outlet->sent;
        if (left == 0)
                return 0;
        size_t done;
        int r = write_some(outlet, outlet->pending.data + outlet->sent, left, block, &done);
        outlet->sent += done;
        if (outlet->sent == outlet->pending.size) {
                strbuf_clear(&outlet->pending);
                outlet->sent = 0;
        }
        return note_failure(outlet, r);
}

int outlet_pump(struct outlet *outlet)
{
        return drain(outlet, false);
}

int outlet_flush(struct outlet *outlet)
{
        return drain(outlet, true);
}

int outlet_write(struct outlet *outlet, const void *data, size_t size)
{
        if (size == 0)
                return 0;
        const char *at = data;
        size_t done = 0;
        size_t rest;
        outlet->last = at[size - 1];
        int r = drain(outlet, false);
        if (r == 0 && outlet->pending.size == 0)
                r = note_failure(outlet, write_some(outlet, at, size, false, &done));
        if (outlet->failed || done == size)
                return r;
        /* Interrupted or not, the rest is kept: half a line of JSON would spoil the lines after it. */
        if (strbuf_append(&outlet->pending, at + done, size - done) == 0)
                return r;

        /* No room or no memory to let it wait: now we have to. */
        r = drain(outlet, true);
        if (r < 0)
                return r;
        return note_failure(outlet, write_some(outlet, at + done, size - done, true, &rest));
}
