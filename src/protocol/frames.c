/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/frames.h"

#include <sys/socket.h>
#include <sys/uio.h>

int frame_send(int socket, enum guest_frame_type type, const void *head, size_t head_size, const void *tail,
    size_t tail_size, const int *fds, size_t n)
{
        struct guest_header header = {.size = (uint32_t)(head_size + tail_size), .type = (uint16_t)type};
        if (head_size + tail_size > GUEST_FRAME_MAX || n > FD_PASS_MAX)
                return -E2BIG;

        struct iovec iov[3] = {
            {&header, sizeof header}, {(void *)head, head_size}, {(void *)tail, tail_size}};
        union fd_rights rights = {};
        struct msghdr message = {.msg_iov = iov, .msg_iovlen = 3};
        fd_attach(&message, &rights, fds, n);

        /* A stream may take a part only; go on behind it. The descriptors went with the first byte. */
        size_t left = sizeof header + head_size + tail_size;
        while (left > 0) {
                ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
                if (sent < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                left -= (size_t)sent;
                message.msg_control = NULL;
                message.msg_controllen = 0;
                for (size_t i = 0; i < 3 && sent > 0; i++) {
                        size_t step = MIN((size_t)sent, iov[i].iov_len);
                        iov[i].iov_base = (char *)iov[i].iov_base + step;
                        iov[i].iov_len -= step;
                        sent -= (ssize_t)step;
                }
        }
        return 0;
}

int frame_receive(
    int socket, uint16_t *ret_type, void *payload, uint32_t *ret_size, int fds[FD_PASS_MAX], size_t *ret_n)
{
        struct guest_header header;
        size_t n = 0;
        ssize_t first = fd_receive(socket, &header, sizeof header, fds, &n, NULL, 0);
        if (first <= 0)
                return (int)first;
        int r = fd_read_all(socket, (char *)&header + first, sizeof header - (size_t)first);
        if (r == 0 && header.size > GUEST_FRAME_MAX)
                r = -EBADMSG;
        if (r == 0)
                r = fd_read_all(socket, payload, header.size);
        if (r < 0) {
                for (size_t i = 0; i < n; i++)
                        (void)close(fds[i]);
                return r;
        }
        *ret_type = header.type;
        *ret_size = header.size;
        *ret_n = n;
        return 1;
}
