/* SPDX-License-Identifier: Apache-2.0 */
/* The library's end of the launcher: starting it from its sealed copy, and exchanging messages. */
#pragma once

#include "protocol/launcher.h"
#include "util/error.h"
#include "util/fd.h"

#include <sys/types.h>

struct launcher_client {
        pid_t pid;  /* 0: none */
        int socket; /* -1: none */
};
#define LAUNCHER_CLIENT_INIT                                                                                \
        {                                                                                                   \
                .socket = -1                                                                                \
        }

/* Any message that the launcher sends. */
union launcher_message {
        struct launcher_header header;
        struct launcher_created created;
        struct launcher_destroyed destroyed;
        struct launcher_failed failed;
};

/*
 * Starts one; does not wait until it is ready: a message may be sent at once. `image`: the directory of the
 * image that it is to make a container of, which it keeps open (and locked), or -1.
 */
int launcher_start(int image, struct launcher_client *ret, struct error *err);

/* Ends its stream, so that it removes everything of its container and exits, and waits for that. */
void launcher_stop(struct launcher_client *client);

int launcher_send(struct launcher_client *client, void *message, enum launcher_message_type type,
    size_t size, const int *fds, size_t n, struct error *err);

/*
 * Receives one message. 1; 0 when there is none now (only without `wait`); -EPIPE when the launcher is gone,
 * or -errno. A FAILED message is turned into an error and its status. Descriptors go to the caller.
 */
int launcher_receive(struct launcher_client *client, bool wait, union launcher_message *ret,
    int fds[FD_PASS_MAX], size_t *ret_n, struct error *err);
