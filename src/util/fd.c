/* SPDX-License-Identifier: Apache-2.0 */
#include "util/fd.h"

#include <fcntl.h>
#include <sys/syscall.h>

/*
 * The kernel hands out its text files by the page and breaks only between records. So less than half a page
 * is the end of the file, as long as no record (a line, or a whole status) is longer than the other half;
 * asking again to see an end of file would double the system calls of each reading.
 */
#define SHORT_READ 2048

int fd_write_all(int fd, const void *data, size_t size)
{
        const char *at = data;
        while (size > 0) {
                ssize_t n = write(fd, at, size);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                at += n;
                size -= (size_t)n;
        }
        return 0;
}

int fd_read_all(int fd, void *data, size_t size)
{
        char *at = data;
        while (size > 0) {
                ssize_t n = read(fd, at, size);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (n == 0)
                        return -EPIPE;
                at += n;
                size -= (size_t)n;
        }
        return 0;
}

ssize_t fd_pread_small(int fd, char *buffer, size_t size)
{
        size_t have = 0;
        while (have < size - 1) {
                ssize_t n = pread(fd, buffer + have, size - 1 - have, (off_t)have);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                have += (size_t)n;
                if (n < SHORT_READ)
                        break;
        }
        buffer[have] = '\0';
        return (ssize_t)have;
}

ssize_t fd_read_small(int dirfd, const char *path, char *buffer, size_t size)
{
        _cleanup_(closep) int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;
        return fd_pread_small(fd, buffer, size);
}

int fd_write_file(int dirfd, const char *path, const char *text)
{
        _cleanup_(closep) int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;
        size_t size = strlen(text);
        ssize_t n = write(fd, text, size);
        if (n < 0)
                return -errno;
        return (size_t)n == size ? 0 : -EIO;
}

int fd_read_whole(int fd, size_t max, char **ret_data, size_t *ret_size)
{
        size_t room = 65536;
        size_t have = 0;
        _cleanup_(freep) char *data = malloc(room + 1);
        if (!data)
                return -ENOMEM;
        for (;;) {
                if (have == room) {
                        if (room > max)
                                return -EFBIG;
                        room *= 2;
                        char *bigger = realloc(data, room + 1);
                        if (!bigger)
                                return -ENOMEM;
                        data = bigger;
                }
                ssize_t n = read(fd, data + have, room - have);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (n == 0)
                        break;
                have += (size_t)n;
                if (have > max)
                        return -EFBIG;
        }
        data[have] = '\0';
        *ret_data = TAKE_PTR(data);
        *ret_size = have;
        return 0;
}

int fd_close_from(int first)
{
        return syscall(SYS_close_range, (unsigned)first, ~0U, 0U) < 0 ? -errno : 0;
}

int fd_set_nonblocking(int fd, bool on)
{
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0)
                return -errno;
        int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
        if (wanted != flags && fcntl(fd, F_SETFL, wanted) < 0)
                return -errno;
        return 0;
}

void fd_attach(struct msghdr *message, union fd_rights *rights, const int *fds, size_t n)
{
        if (n == 0)
                return;
        message->msg_control = rights->space;
        message->msg_controllen = CMSG_SPACE(sizeof(int) * n);
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n);
        memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * n);
}

int fd_send(int socket, const void *data, size_t size, const int *fds, size_t n)
{
        if (n > FD_PASS_MAX)
                return -E2BIG;
        union fd_rights rights = {};
        struct iovec iov = {.iov_base = (void *)data, .iov_len = size};
        struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
        fd_attach(&message, &rights, fds, n);
        ssize_t sent;
        do {
                sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        } while (sent < 0 && errno == EINTR);
        if (sent < 0)
                return -errno;
        return (size_t)sent == size ? 0 : -EIO;
}

ssize_t fd_receive(
    int socket, void *data, size_t size, int fds[FD_PASS_MAX], size_t *ret_n, pid_t *ret_pid, int flags)
{
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
        } control;
        struct iovec iov = {.iov_base = data, .iov_len = size};
        struct msghdr message = {.msg_iov = &iov,
            .msg_iovlen = 1,
            .msg_control = control.space,
            .msg_controllen = sizeof control.space};
        ssize_t got;
        do {
                got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
        } while (got < 0 && errno == EINTR);
        if (got < 0)
                return -errno;

        size_t n = 0;
        for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message); cmsg; cmsg = CMSG_NXTHDR(&message, cmsg)) {
                if (cmsg->cmsg_level != SOL_SOCKET)
                        continue;
                if (cmsg->cmsg_type == SCM_RIGHTS) {
                        size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                        for (size_t i = 0; i < count; i++) {
                                int fd;
                                memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof fd);
                                if (n < FD_PASS_MAX)
                                        fds[n++] = fd;
                                else
                                        (void)close(fd);
                        }
                } else if (cmsg->cmsg_type == SCM_CREDENTIALS && ret_pid) {
                        struct ucred ucred;
                        memcpy(&ucred, CMSG_DATA(cmsg), sizeof ucred);
                        *ret_pid = ucred.pid;
                }
        }
        if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
                for (size_t i = 0; i < n; i++)
                        (void)close(fds[i]);
                return -EMSGSIZE;
        }
        *ret_n = n;
        return got;
}
