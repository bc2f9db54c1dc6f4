/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/queue.h"

#include <poll.h>
#include <sys/uio.h>

static struct queue *queue_of(struct link *link)
{
        return (struct queue *)link;
}

int queue_flush(struct queue *queue)
{
        ssize_t n = ring_write(&queue->ring, queue->out);
        return n < 0 ? (int)n : 0;
}

size_t queue_room(const struct queue *queue)
{
        size_t room = ring_free(&queue->ring);
        size_t kept = QUEUE_RESERVE + sizeof(struct guest_header);
        return room > kept ? room - kept : 0;
}

static int wait_for_peer(const struct queue *queue)
{
        struct pollfd out = {.fd = queue->out, .events = POLLOUT};
        return poll(&out, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

/* Appends all of it, waiting for the peer if need be. */
static int put(struct queue *queue, const char *data, size_t size)
{
        while (size > 0) {
                size_t taken = ring_put(&queue->ring, data, size);
                data += taken;
                size -= taken;
                if (size == 0)
                        break;
                int r = queue_flush(queue);
                if (r == 0 && ring_free(&queue->ring) == 0)
                        r = wait_for_peer(queue);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int queue_send(struct link *link, enum guest_frame_type type, const void *head, size_t head_size,
    const void *tail, size_t tail_size, const int *fds, size_t n)
{
        struct queue *queue = queue_of(link);
        (void)fds;
        if (n > 0 || head_size + tail_size > GUEST_FRAME_MAX)
                return -EINVAL;
        struct guest_header header = {.size = (uint32_t)(head_size + tail_size), .type = (uint16_t)type};
        struct iovec parts[3] = {
            {&header, sizeof header}, {(void *)head, head_size}, {(void *)tail, tail_size}};

        /* A peer that keeps up gets it without a copy. */
        size_t sent = 0;
        if (queue->ring.used == 0) {
                ssize_t written = writev(queue->out, parts, 3);
                if (written < 0 && errno != EAGAIN && errno != EINTR)
                        return -errno;
                sent = written > 0 ? (size_t)written : 0;
        }
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                size_t done = MIN(sent, parts[i].iov_len);
                sent -= done;
                int r = put(queue, (const char *)parts[i].iov_base + done, parts[i].iov_len - done);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Reads `size` bytes to `data`, of which `*have` are there. 1, 0 (not yet), or -errno. */
static int fill(int fd, char *data, size_t size, size_t *have)
{
        while (*have < size) {
                ssize_t n = read(fd, data + *have, size - *have);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return errno == EAGAIN ? 0 : -errno;
                if (n == 0)
                        return -EPIPE;
                *have += (size_t)n;
        }
        return 1;
}

static int queue_receive(struct link *link, uint16_t *ret_type, char *payload, uint32_t *ret_size,
    int fds[FD_PASS_MAX], size_t *ret_n)
{
        struct queue *queue = queue_of(link);
        (void)fds;
        if (queue->have < sizeof queue->header) {
                int r = fill(link->in, (char *)&queue->header, sizeof queue->header, &queue->have);
                if (r <= 0)
                        return r;
                if (queue->header.size > GUEST_FRAME_MAX)
                        return -EBADMSG;
        }
        size_t have = queue->have - sizeof queue->header;
        int r = fill(link->in, payload, queue->header.size, &have);
        queue->have = have + sizeof queue->header;
        if (r <= 0)
                return r;
        queue->have = 0;
        *ret_type = queue->header.type;
        *ret_size = queue->header.size;
        *ret_n = 0;
        return 1;
}

static void queue_drain(struct link *link)
{
        struct queue *queue = queue_of(link);
        while (queue->ring.used > 0)
                if (wait_for_peer(queue) < 0 || queue_flush(queue) < 0)
                        return;
}

static const struct link_ops queue_ops = {
    .send = queue_send, .receive = queue_receive, .drain = queue_drain};

int queue_open(struct queue *queue, int in, int out)
{
        *queue = (struct queue){.link = {.ops = &queue_ops, .in = in}, .out = out};
        int r = fd_set_nonblocking(in, true);
        if (r == 0)
                r = fd_set_nonblocking(out, true);
        return r == 0 ? ring_open(&queue->ring, QUEUE_SIZE) : r;
}
