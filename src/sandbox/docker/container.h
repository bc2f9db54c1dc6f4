/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container of an engine, as the files of this folder share it: docker.c makes and frees it, setup.c takes
 * it through the engine's calls until it runs and removes it at last, commands.c tells its init what to do,
 * guest.c hears what the init says, events.c turns all of it into the backend's events, evidence.c says what
 * holds. Everything it waits for is in one epoll set, which is what the executor polls.
 */
#pragma once

#include "sandbox/backend.h"
#include "sandbox/docker/attach.h"
#include "sandbox/docker/frame_reader.h"

#include <jansson.h>

/* Sources in the epoll set: the upper half of data.u64. */
enum docker_source {
        SOURCE_ENGINE,
        SOURCE_ATTACH,
        SOURCE_INPUT,
        SOURCE_TIMER,
        SOURCE_WAKE,
};

/* What the engine was asked for last, on the way to a running container. */
enum docker_step {
        STEP_PING,
        STEP_IMAGE,
        STEP_CREATE,
        STEP_BUILD,
        STEP_ATTACH,
        STEP_START,
        STEP_RUNNING,
};

#define DOCKER_ID_SIZE 33
#define DOCKER_NAME_FORMAT "mai-sandbox-%s" /* of a container, by its id */
#define DOCKER_DIGEST_SIZE 80
/* How long the engine may take to remove a container, before it is named as left over. */
#define DOCKER_REMOVE_MSEC 9000U
/* Beside the files, what may wait to be sent: the spec, input, frames' heads. */
#define DOCKER_QUEUE_MORE (GUEST_SPEC_MAX + (64U << 20))

struct container {
        const struct container_spec *spec;
        struct endpoint endpoint;
        struct engine engine;
        struct attach attach;
        struct error error;
        char id[DOCKER_ID_SIZE];
        char name[64]; /* what the engine knows it by */
        uint32_t uid, gid;
        char cpus[64];
        int epoll;
        int timer;          /* the deadline of a step of the setup, a kill, draining, removal */
        int wake;           /* an eventfd: there is something to tell that no other descriptor shows */
        unsigned call_msec; /* docker.call_timeout */

        enum docker_step step;
        bool built; /* the derived image was made just now: do not try twice */
        bool told_failure;
        bool failed;  /* an error is to be told */
        bool created; /* the engine has it: there is something to remove */
        char base_id[DOCKER_DIGEST_SIZE];
        char derived[128];
        bool version_known;
        char *version;   /* the engine's account of itself, JSON; NULL: none */
        char *inspected; /* the engine's account of the running container, JSON */

        /* The guest's words */
        struct frame_reader reader;
        const char *piece; /* of the container's output that is still to be taken apart */
        size_t piece_size;
        struct strbuf
            complaints; /* what the container wrote to standard error: the runtime's, or the init's */
        struct evidence evidence;
        struct guest_evidence *guest_evidence;
        struct guest_sample sample;
        uint64_t started_at, sampled_at; /* 0: not yet */
        bool ready;                      /* the init has locked itself down */
        bool told_created, told_gate, started, exited, output_ended, lost, destroying, removing, destroyed,
            killed;
        bool stream_ended[2], discarded[2];
        bool killed_whole; /* the engine was asked to kill it, init and all */
        bool collecting, collected;
        bool vanished_asked; /* the container's end is being looked into */
        bool told_end;
        int end_status; /* to be told as EXITED, when has_end */
        bool has_end;
        bool removed_complete;
        char leftover[256];
        uint64_t oom_kills, forks_refused; /* as the guest says */
        uint64_t told_oom_kills, told_forks_refused;
        char *file; /* content of the file being received, with its path in front */
        size_t file_size, file_have, file_path_size;
        unsigned file_mode;

        /* The program's standard input on its way in */
        int input; /* our own descriptor of it, -1: none or at its end */
        bool input_begun, input_polled, input_end_sent;
        uint64_t input_sent, input_taken;
        char *input_buffer;
};

/* docker.c */
void container_set_timer(struct container *c, unsigned msec);
/* Makes its descriptor readable: there is something to tell that no descriptor shows. */
void container_wake(struct container *c);
/* Takes note of a failure that is told by the next event; the first one counts. */
void container_fail(struct container *c, struct error *err);

/* setup.c */
int setup_begin(struct container *c, struct error *err);
void setup_attached(struct container *c);
/* A step of the way to the program's start has taken too long, if one is under way that has no other limit.
 */
void setup_late(struct container *c);
/* Asks the engine for its account of itself; version_known follows. */
void setup_ask_version(struct container *c);
/* Asks the engine how the container ended; container_fail() or has_end follows. */
void setup_look_into_end(struct container *c);
void setup_kill(struct container *c);
/* Removes it as soon as no call is under way; `destroyed` follows. */
void setup_remove(struct container *c);
/* The removal takes too long: `destroyed`, with what is left. */
void setup_remove_late(struct container *c);
/* Blocking, for a backend's prune: 0 when no such container is left. */
int setup_remove_by_id(const struct endpoint *endpoint, const char *id, struct error *err);

/* guest.c: one frame of the init's. Fills the event if there is something to tell. -errno: malformed. */
int guest_take_frame(struct container *c, const struct received_frame *frame, struct container_event *event);

/* evidence.c: 0, or what does not fit together. */
int evidence_gather(struct container *c, struct error *err);
/* Whether the container is on another kernel than this machine's, or can't be known without the engine. */
bool evidence_needs_version(const struct container *c);
extern const char evidence_mismatch_hint[];

/* evidence_kernel.c: compares with, and adds, what this machine's kernel says. `account`: of inspect. */
int evidence_ask_kernel(struct container *c, const json_t *account, struct error *err);

/* commands.c: see struct container_ops. */
int commands_configure(struct container *c, struct error *err);
int container_put_file(
    struct container *c, const char *path, unsigned mode, const void *data, size_t size, struct error *err);
int container_execute(struct container *c, const struct exec_spec *exec, struct error *err);
int container_release_gate(struct container *c, struct error *err);
int container_kill(struct container *c, unsigned deadline_msec);
void container_discard_output(struct container *c, enum output_stream stream);
int container_collect(struct container *c, const struct collect_limits *limits);
int container_destroy(struct container *c);
/* Sends standard input as far as the window and its source allow. */
void commands_pump_input(struct container *c);

/* events.c: FAILED or LOST, with what c->error says. Returns 0. */
int container_tell_failure(struct container *c, struct container_event *event);
/* events.c: see struct container_ops. */
int container_next(struct container *c, struct container_event *event, struct error *err);
