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

/* Returns how much was written, less than `size` only if it would have to wait; or -errno. */
static ssize_t write_some(struct outlet *outlet, const char *data, size_t size, bool block)
{
        if (!outlet->known) {
                struct stat status;
                outlet->regular = fstat(outlet->fd, &status) == 0 && S_ISREG(status.st_mode);
                outlet->known = true;
        }
        size_t done = 0;
        while (done < size) {
                size_t chunk = size - done;
                if (!outlet->regular) {
                        int ready = wait_writable(outlet, block);
                        if (ready < 0)
                                return ready;
                        if (ready == 0)
                                break;
                        /* More than this could make a pipe that has room wait for more room. */
                        chunk = MIN(chunk, (size_t)PIPE_BUF);
                }
                ssize_t n = write(outlet->fd, data + done, chunk);
                if (n >= 0)
                        done += (size_t)n;
                else if (errno == EINTR && signals_caught())
                        return -EINTR;
                else if (errno == EAGAIN && !block)
                        break;
                else if (errno != EINTR && errno != EAGAIN)
                        return -errno;
        }
        return (ssize_t)done;
}

static int drain(struct outlet *outlet, bool block)
{
        if (outlet->failed)
                return outlet->failed;
        size_t left = outlet->pending.size - outlet->sent;
        if (left == 0)
                return 0;
        ssize_t n = write_some(outlet, outlet->pending.data + outlet->sent, left, block);
        if (n < 0) {
                /* Interrupted means that we are asked to end; outlet_flush() may still try the rest. */
                if (n != -EINTR)
                        outlet->failed = (int)n;
                return (int)n;
        }
        outlet->sent += (size_t)n;
        if (outlet->sent == outlet->pending.size) {
                strbuf_clear(&outlet->pending);
                outlet->sent = 0;
        }
        return 0;
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
        int r = drain(outlet, false);
        if (r < 0)
                return r;
        const char *at = data;
        outlet->last = at[size - 1];
        if (outlet->pending.size == 0) {
                ssize_t n = write_some(outlet, at, size, false);
                if (n < 0) {
                        if (n != -EINTR)
                                outlet->failed = (int)n;
                        return (int)n;
                }
                at += n;
                size -= (size_t)n;
                if (size == 0)
                        return 0;
        }
        r = strbuf_append(&outlet->pending, at, size);
        if (r == 0)
                return 0;
        /* No room or no memory to let it wait: now we have to. */
        r = drain(outlet, true);
        if (r < 0)
                return r;
        ssize_t n = write_some(outlet, at, size, true);
        return n < 0 ? (int)n : 0;
}
