/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/native/guest_channel.h"

#include <sys/time.h>

/* An init that does not read for this long is stuck, and with it the container. */
#define SEND_TIMEOUT_SEC 10

int guest_channel_open(struct guest_channel *channel, int *ret_theirs)
{
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        int on = 1;
        struct timeval timeout = {.tv_sec = SEND_TIMEOUT_SEC};
        if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
            setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) < 0) {
                int error = errno;
                (void)close(pair[0]);
                (void)close(pair[1]);
                return -error;
        }
        *channel = (struct guest_channel){.socket = pair[0]};
        *ret_theirs = pair[1];
        return 0;
}

static void drop_fds(struct guest_channel *channel)
{
        for (size_t i = 0; i < channel->fd_count; i++)
                close_and_forget(&channel->fds[i]);
        channel->fd_count = 0;
}

void guest_channel_close(struct guest_channel *channel)
{
        close_and_forget(&channel->socket);
        drop_fds(channel);
        free(channel->buffer);
        channel->buffer = NULL;
        channel->have = channel->room = 0;
}

/* Reads until `wanted` bytes are there. 1, 0 (not yet), or -errno. */
static int fill(struct guest_channel *channel, size_t wanted)
{
        if (wanted > channel->room) {
                char *bigger = realloc(channel->buffer, wanted);
                if (!bigger)
                        return -ENOMEM;
                channel->buffer = bigger;
                channel->room = wanted;
        }
        while (channel->have < wanted) {
                int fds[FD_PASS_MAX];
                size_t n = 0;
                ssize_t got = fd_receive(channel->socket, channel->buffer + channel->have,
                    wanted - channel->have, fds, &n, &channel->sender, MSG_DONTWAIT);
                if (got == -EAGAIN)
                        return 0;
                if (got <= 0)
                        return got == 0 || got == -ECONNRESET ? -EPIPE : (int)got;
                for (size_t i = 0; i < n; i++) {
                        if (channel->fd_count < FD_PASS_MAX)
                                channel->fds[channel->fd_count++] = fds[i];
                        else
                                (void)close(fds[i]);
                }
                channel->have += (size_t)got;
        }
        return 1;
}

int guest_channel_receive(struct guest_channel *channel, struct guest_frame *ret)
{
        struct guest_header header;
        if (channel->have == 0)
                drop_fds(channel); /* the frame before is done with */
        int r = fill(channel, sizeof header);
        if (r <= 0)
                return r;
        memcpy(&header, channel->buffer, sizeof header);
        if (header.size > GUEST_FRAME_MAX)
                return -EBADMSG;
        r = fill(channel, sizeof header + header.size);
        if (r <= 0)
                return r;
        *ret = (struct guest_frame){
            .type = header.type,
            .size = header.size,
            .payload = channel->buffer + sizeof header,
            .sender = channel->sender,
        };
        channel->have = 0;
        return 1;
}
