/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's standard input. It never gets a descriptor of the caller's files, sockets or terminal:
 * through one it could reopen the file for writing (/proc/self/fd), talk to the socket's peer, or type into
 * the terminal (TIOCSTI). Only a pipe is handed on as it is; files and sockets are copied into one by a
 * thread; anything else means empty input.
 */
#pragma once

#include "util/common.h"
#include "util/error.h"

struct input {
        int fd;     /* for mai_request_set_stdin(), or -1: empty */
        int opened; /* descriptor to close at the end, or -1 */
};

#define INPUT_INIT                                                                                          \
        {                                                                                                   \
                .fd = -1, .opened = -1                                                                      \
        }

void input_close(struct input *input);

/*
 * The file named by --stdin. A directory, a terminal or another device than /dev/null is an error
 * (ERROR_USAGE).
 */
int input_open(const char *path, struct input *ret, struct error *err);

/* Our own standard input. */
int input_inherit(struct input *ret, struct error *err);

/* A whole Python program from our own standard input. Caller frees *ret_source. */
int input_read_program(char **ret_source, size_t *ret_size, struct error *err);
