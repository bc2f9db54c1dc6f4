/* SPDX-License-Identifier: Apache-2.0 */
/* The program's process: forked by the init, held at the gate, then executed. */
#pragma once

#include "guest/link.h"
#include "protocol/failure.h"

#include <sys/resource.h>
#include <sys/types.h>

struct program {
        pid_t pid;       /* 0: not forked yet */
        int gate;        /* write end: one byte opens it */
        int exec_status; /* read end: errno of a failed execve, or end of file after a good one; -1 when
                            known */
        bool ended;
        int wait_status; /* valid when ended */
        struct rusage usage;
};
#define PROGRAM_INIT                                                                                        \
        {                                                                                                   \
                .gate = -1, .exec_status = -1                                                               \
        }

/*
 * Two ways to start it. program_fork() is for an init that has to go on meanwhile, since it carries the
 * program's streams. program_await() is for one that has not: the process shares the init's memory until its
 * execve, as after vfork(), which spares copying page tables and one fault for each page that either
 * touches, and its gate is opened by the supervisor itself.
 *
 * Forks it from the spec (protocol/guest.h). `standard` becomes its descriptors 0-2. It announces itself on
 * `socket` and waits. 0 or -errno with the failure filled in.
 */
int program_fork(struct program *program, char *spec, size_t spec_size, int socket, const int standard[3],
    struct setup_failure *failure);

/*
 * The same with the gate's inner end given, and the init suspended until execve has happened or failed,
 * which is then sent on `link`, or the process is gone. It is gone when the gate's other end is closed, so
 * whoever holds that can end the wait.
 */
int program_await(struct program *program, char *spec, size_t spec_size, int socket, const int standard[3],
    int gate, struct link *link, struct setup_failure *failure);

/* Opens the gate of program_fork(). */
void program_release(struct program *program);

/* Looks whether the execve has happened or failed, and sends STARTED or EXEC_FAILED once. Blocks no longer
 * than that takes. 0, or -errno when the channel is broken. */
int program_check_started(struct program *program, struct link *link);
