/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A native container, as the files of this folder share it: native.c makes and ends it, commands.c tells its
 * init what to do, events.c hears what happened. It is a launcher process, the channel to the init inside,
 * the program's output pipes, and what the kernel tells through descriptors: all of them in one epoll set,
 * which is what the executor polls.
 */
#pragma once

#include "sandbox/backend.h"
#include "sandbox/native/denied.h"
#include "sandbox/native/guest_channel.h"
#include "sandbox/native/launcher_client.h"
#include "sandbox/native/meter.h"

/* Sources in the epoll set. */
enum source {
        SOURCE_LAUNCHER,
        SOURCE_GUEST,
        SOURCE_STDOUT,
        SOURCE_STDERR,
        SOURCE_OOM,
        SOURCE_PIDS,
        SOURCE_DENIED,
        SOURCE_TIMER,
};

/* Bytes of output taken at a time. */
#define OUTPUT_READ_SIZE 65536

struct container {
        struct launcher_client launcher;
        struct guest_channel guest;
        struct meter meter;
        struct denied denied;
        struct evidence evidence;
        struct error error;
        char cgroup_path[LAUNCHER_PATH_SIZE];
        char leftover[LAUNCHER_PATH_SIZE];
        const struct container_spec *spec;
        int epoll;
        int pidfd;          /* of the init */
        int gate;           /* our end, from SPEC_END to its opening; -1: none */
        int timer;          /* the deadline of a kill, or of draining */
        int output[2];      /* read ends by enum output_stream; -1: ended */
        int output_ends[2]; /* write ends, until the init has them */
        bool discarded[2];
        bool told_created;             /* the executor knows that files and the spec may be sent */
        bool made;                     /* the launcher said so */
        pid_t gate_pid;                /* the program's process, waiting; 0 before */
        bool init_gone, launcher_gone; /* the end of either's channel has been seen */
        bool told_gate, started, exited, output_ended, lost, destroying, destroyed, killed;
        uint64_t oom_kills, forks_refused; /* as told so far */
        char *buffer;                      /* output on its way */
        char *file;                        /* content of the file being received, with its path in front */
        size_t file_size, file_have, file_path_size;
        unsigned file_mode;
        int listener; /* where the gateway meets the guest, until it is handed on; -1 */
        char id[LAUNCHER_ID_SIZE];
};

/* Adds a descriptor to the epoll set. 0 or -errno. */
int container_watch(struct container *c, int fd, enum source source, uint32_t events);

/* (Re)arms the container's one timer. */
void container_set_timer(struct container *c, unsigned msec);

/* commands.c: see struct container_ops. */
int container_put_file(
    struct container *c, const char *path, unsigned mode, const void *data, size_t size, struct error *err);
int container_execute(struct container *c, const struct exec_spec *exec, struct error *err);
int container_release_gate(struct container *c, struct error *err);
int container_kill(struct container *c, unsigned deadline_msec);
int container_collect(struct container *c, const struct collect_limits *limits);
void container_dismiss(struct container *c);
int container_destroy(struct container *c);

/* pull.c: see struct backend_ops. */
int native_pull(struct backend *backend, const struct image_pull *pull, char ret_digest[IMAGE_DIGEST_SIZE],
    struct error *err);

/* events.c: see struct container_ops. */
int container_next(struct container *c, struct container_event *event, struct error *err);
