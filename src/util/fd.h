/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing descriptors completely, bounded; passing descriptors over sockets. */
#pragma once

#include "util/common.h"

#include <sys/socket.h>
#include <sys/types.h>

/* Writes all of it, across EINTR and short writes. Blocking descriptors only. 0 or -errno. */
int fd_write_all(int fd, const void *data, size_t size);

/* Reads exactly `size` bytes; -EPIPE at an early end of file. Blocking descriptors only. 0 or -errno. */
int fd_read_all(int fd, void *data, size_t size);

/*
 * Reads a small file (of ours, or a text file of the kernel whose records stay below 2 KiB) relative to a
 * directory descriptor (or AT_FDCWD) into `buffer`, NUL-terminated; what does not fit is dropped. Not for
 * pipes. Returns the length or -errno.
 */
ssize_t fd_read_small(int dirfd, const char *path, char *buffer, size_t size);

/* The same for a descriptor that is already open: pread from offset 0. */
ssize_t fd_pread_small(int fd, char *buffer, size_t size);

/* Opens for writing and writes `text` in one write, as kernel interface files want it. 0 or -errno. */
int fd_write_file(int dirfd, const char *path, const char *text);

/*
 * Reads a whole file or stream into a fresh allocation with a NUL behind it; the caller frees *ret_data.
 * -EFBIG if there is more than `max` bytes. Works on pipes too.
 */
int fd_read_whole(int fd, size_t max, char **ret_data, size_t *ret_size);

/* Closes every descriptor from `first` on. 0 or -errno (-ENOSYS before Linux 5.9). */
int fd_close_from(int first);

int fd_set_nonblocking(int fd, bool on);

/* The most descriptors that one message carries. */
#define FD_PASS_MAX 16

/* Room for the descriptors of one message; as long-lived as the message that it is attached to. */
union fd_rights {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
};

/* Puts `n` descriptors (at most FD_PASS_MAX, which the caller checks) beside a message; n may be 0. */
void fd_attach(struct msghdr *message, union fd_rights *rights, const int *fds, size_t n);

/* Sends one message with descriptors (n may be 0). EPIPE instead of SIGPIPE. 0 or -errno. */
int fd_send(int socket, const void *data, size_t size, const int *fds, size_t n);

/*
 * Receives one message; descriptors arrive with CLOEXEC set. *ret_n descriptors are stored in fds (room for
 * FD_PASS_MAX). If ret_pid is not NULL it receives the sender's pid as seen from here, when the socket has
 * SO_PASSCRED set (else it stays untouched). Returns bytes, 0 at the end of the stream, or -errno
 * (-EMSGSIZE when the message or its descriptors were cut; received descriptors are then closed).
 */
ssize_t fd_receive(
    int socket, void *data, size_t size, int fds[FD_PASS_MAX], size_t *ret_n, pid_t *ret_pid, int flags);
