/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/events.h"

#include "util/clock.h"
#include "util/fd.h"

#include <event2/buffer.h>
#include <poll.h>

#define PENDING_MAX (1U << 20)
#define LINE_MAX_BYTES 4096
#define END_WAIT (NSEC_PER_SEC * 1)

struct events {
        int fd;
        struct evbuffer *pending;
        struct event *writable;
        uint64_t left; /* that may still be emitted */
        uint64_t dropped;
};

static void flush(struct events *events)
{
        while (evbuffer_get_length(events->pending) > 0) {
                if (evbuffer_write(events->pending, events->fd) > 0)
                        continue;
                if (errno == EAGAIN || errno == EINTR)
                        (void)event_add(events->writable, NULL);
                else
                        (void)evbuffer_drain(
                            events->pending, evbuffer_get_length(events->pending)); /* nobody reads */
                return;
        }
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
        flush(context);
}

int events_new(struct event_base *base, int fd, uint64_t max_events, struct events **ret)
{
        struct events *events = calloc(1, sizeof *events);
        if (!events)
                return -ENOMEM;
        int r = fd_set_nonblocking(fd, true);
        events->fd = fd;
        events->left = max_events;
        events->pending = evbuffer_new();
        events->writable = event_new(base, fd, EV_WRITE, on_writable, events);
        if (r == 0 && (!events->pending || !events->writable))
                r = -ENOMEM;
        if (r < 0) {
                events_free(events);
                return r;
        }
        *ret = events;
        return 0;
}

void events_emit(struct events *events, json_t *event)
{
        char *line = event ? json_dumps(event, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
        json_decref(event);
        if (!line || events->left == 0 || strlen(line) > LINE_MAX_BYTES ||
            evbuffer_get_length(events->pending) > PENDING_MAX ||
            evbuffer_add_printf(events->pending, "%s\n", line) < 0)
                events->dropped++;
        else
                events->left--;
        free(line);
        flush(events);
}

void events_end(struct events *events, json_t *event)
{
        if (event)
                (void)json_object_set_new(event, "dropped", json_integer((json_int_t)events->dropped));
        events->left++;
        events_emit(events, event);
        uint64_t deadline = clock_now() + END_WAIT;
        while (evbuffer_get_length(events->pending) > 0 && clock_now() < deadline) {
                struct pollfd poller = {.fd = events->fd, .events = POLLOUT};
                (void)poll(&poller, 1, 100);
                flush(events);
        }
}

struct events *events_free(struct events *events)
{
        if (!events)
                return NULL;
        if (events->writable)
                event_free(events->writable);
        if (events->pending)
                evbuffer_free(events->pending);
        free(events);
        return NULL;
}
