/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/ring.h"

#include <sys/uio.h>

int ring_open(struct ring *ring, size_t room)
{
        char *data = malloc(room);
        if (!data)
                return -ENOMEM;
        *ring = (struct ring){.data = data, .room = room};
        return 0;
}

void ring_close(struct ring *ring)
{
        free(ring->data);
        *ring = (struct ring){};
}

size_t ring_put(struct ring *ring, const void *data, size_t size)
{
        size = MIN(size, ring_free(ring));
        if (size == 0)
                return 0;
        size_t at = (ring->first + ring->used) % ring->room;
        size_t before_end = MIN(size, ring->room - at);
        memcpy(ring->data + at, data, before_end);
        memcpy(ring->data, (const char *)data + before_end, size - before_end);
        ring->used += size;
        return size;
}

ssize_t ring_write(struct ring *ring, int fd)
{
        size_t total = 0;
        while (ring->used > 0) {
                size_t before_end = MIN(ring->used, ring->room - ring->first);
                struct iovec parts[2] = {
                    {ring->data + ring->first, before_end}, {ring->data, ring->used - before_end}};
                ssize_t n = writev(fd, parts, parts[1].iov_len > 0 ? 2 : 1);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        break;
                if (n < 0)
                        return -errno;
                ring->first = (ring->first + (size_t)n) % ring->room;
                ring->used -= (size_t)n;
                total += (size_t)n;
        }
        if (ring->used == 0)
                ring->first = 0; /* so that a queue that keeps up stays in the same few pages */
        return (ssize_t)total;
}
