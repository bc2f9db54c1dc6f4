/* SPDX-License-Identifier: Apache-2.0 */
/* What happened to a container of an engine, one event at a time. */
#include "sandbox/docker/container.h"

#include <signal.h>
#include <sys/epoll.h>

#define READS_PER_LOOK 64U

int container_tell_failure(struct container *c, struct container_event *event)
{
        if (c->error.code == ERROR_NONE)
                (void)error_set(&c->error, ERROR_BACKEND, 0, "see the engine's log",
                    "docker: the container ended unexpectedly");
        c->lost = true;
        c->told_failure = true;
        event->type = c->started ? CONTAINER_LOST : CONTAINER_FAILED;
        event->error = &c->error;
        return 0;
}

static void told_count(
    struct container_event *event, enum container_event_type type, const char *name, uint64_t count)
{
        event->type = type;
        event->count.name = name;
        event->count.count = count;
}

/* Tells what was noted on the way and has not been told. True if there was something. */
static bool tell_noted(struct container *c, struct container_event *event)
{
        if (c->destroyed)
                return false;
        if (c->oom_kills > c->told_oom_kills) {
                c->told_oom_kills = c->oom_kills;
                told_count(event, CONTAINER_OOM, "oom_kill", c->oom_kills);
                return true;
        }
        if (c->forks_refused > c->told_forks_refused) {
                c->told_forks_refused = c->forks_refused;
                told_count(event, CONTAINER_PIDS_REFUSED, "fork", c->forks_refused);
                return true;
        }
        if (c->failed && !c->told_failure && !c->destroying) {
                (void)container_tell_failure(c, event);
                return true;
        }
        if (c->has_end && !c->exited) {
                c->exited = true;
                c->stream_ended[0] = c->stream_ended[1] = true;
                event->type = CONTAINER_EXITED;
                event->exited.wait_status = c->end_status;
                event->exited.reaped = event->exited.killed = 0;
                return true;
        }
        if (c->exited && !c->output_ended && c->stream_ended[0] && c->stream_ended[1]) {
                c->output_ended = true;
                event->type = CONTAINER_OUTPUT_END;
                return true;
        }
        return false;
}

/* The engine's account and the guest's are there: put them together, and tell. */
static bool tell_gate(struct container *c, struct container_event *event)
{
        if (c->told_gate || c->lost || c->failed || c->destroying || !c->guest_evidence || !c->inspected ||
            !c->version_known)
                return false;
        c->told_gate = true;
        if (evidence_gather(c, &c->error) < 0) {
                c->failed = true;
                (void)container_tell_failure(c, event);
                return true;
        }
        container_set_timer(c, c->call_msec);
        event->type = CONTAINER_AT_GATE;
        event->evidence = &c->evidence;
        return true;
}

static void protocol_error(struct container *c, int r)
{
        _cleanup_(error_clear) struct error err = {};
        if (r == -ENOMEM)
                (void)error_oom(&err);
        else
                (void)error_set(&err, ERROR_BACKEND, EBADMSG,
                    "see whether the engine passes the container's streams on unchanged",
                    "docker: the container's init sent a malformed message");
        container_fail(c, &err);
}

/*
 * Takes apart what has been received. 1: there is something to tell; 0: more must be received. A flood of
 * which nothing is told must not keep the caller from its deadlines: after a while of that it is told so
 * (-EAGAIN).
 */
static int take_pieces(struct container *c, struct container_event *event)
{
        for (unsigned read = 0; !c->lost;) {
                while (c->piece_size > 0) {
                        struct received_frame frame;
                        int r = frame_reader_next(&c->reader, &c->piece, &c->piece_size, &frame);
                        if (r > 0)
                                r = guest_take_frame(c, &frame, event);
                        if (r < 0) {
                                protocol_error(c, r);
                                c->piece_size = 0;
                                return 1;
                        }
                        if (event->type != CONTAINER_NOTHING)
                                return 1;
                        if (c->oom_kills > c->told_oom_kills || c->forks_refused > c->told_forks_refused)
                                return 1;
                }
                if (read++ >= READS_PER_LOOK)
                        return -EAGAIN;
                _cleanup_(error_clear) struct error err = {};
                enum demux_stream stream;
                int r = attach_read(&c->attach, &stream, &c->piece, &c->piece_size, &err);
                if (r < 0) {
                        container_fail(c, &err);
                        return 1;
                }
                if (r == 0) {
                        c->piece_size = 0;
                        return 0;
                }
                if (stream != DEMUX_STDOUT) {
                        (void)strbuf_append(&c->complaints, c->piece,
                            MIN(c->piece_size, c->complaints.max - c->complaints.size));
                        c->piece_size = 0;
                }
        }
        return 0;
}

/* Its streams have ended without our doing: what that means, the engine can tell. */
static void on_attach_ended(struct container *c)
{
        if (c->collecting && !c->collected && !c->lost && !c->destroying && !c->failed) {
                _cleanup_(error_clear) struct error err = {};
                (void)error_set(&err, ERROR_OUTPUT, 0, NULL,
                    "the run's files are lost: the container ended while they were collected");
                container_fail(c, &err);
                container_wake(c);
                return;
        }
        if (c->exited || c->lost || c->destroying || c->vanished_asked || c->has_end)
                return;
        c->vanished_asked = true;
        setup_look_into_end(c);
}

static void on_attach(struct container *c)
{
        _cleanup_(error_clear) struct error err = {};
        bool open_before = c->attach.state == ATTACH_OPEN;
        /* A container that is gone can't be written to; its end shows when it is read. */
        if (attach_process(&c->attach, &err) < 0 && c->attach.state != ATTACH_OPEN)
                container_fail(c, &err);
        else if (!open_before && c->attach.state == ATTACH_OPEN)
                setup_attached(c);
}

/* A deadline has come: of the setup, of the removal, of a kill that the init did not answer, or of output
 * that does not end. */
static void on_timer(struct container *c)
{
        uint64_t expirations;
        if (read(c->timer, &expirations, sizeof expirations) < 0)
                return;
        if (c->lost)
                return;
        if (c->destroying) {
                setup_remove_late(c);
                return;
        }
        if (!c->started) {
                setup_late(c);
                return;
        }
        if (!c->exited) {
                setup_kill(c);
                return;
        }
        c->stream_ended[0] = c->stream_ended[1] = true;
}

static void dispatch(struct container *c, const struct epoll_event *ready)
{
        int fd = (int)(uint32_t)ready->data.u64;
        switch ((enum docker_source)(ready->data.u64 >> 32)) {
        case SOURCE_ENGINE:
                engine_process(&c->engine, fd, ready->events);
                /* libcurl tells of a plain connection by its end. */
                if (c->attach.state == ATTACH_CONNECTING)
                        on_attach(c);
                return;
        case SOURCE_ATTACH:
                on_attach(c);
                return;
        case SOURCE_INPUT:
                commands_pump_input(c);
                return;
        case SOURCE_TIMER:
                on_timer(c);
                return;
        case SOURCE_WAKE: {
                uint64_t ignored;
                (void)read(c->wake, &ignored, sizeof ignored);
                return;
        }
        }
}

static bool tell_destroyed(struct container *c, struct container_event *event)
{
        if (!c->destroyed || c->told_end)
                return false;
        c->told_end = true;
        event->type = CONTAINER_DESTROYED;
        event->destroyed.complete = c->removed_complete;
        event->destroyed.processes_killed = 0;
        event->destroyed.leftover = c->leftover[0] ? c->leftover : NULL;
        return true;
}

int container_next(struct container *c, struct container_event *event, struct error *err)
{
        event->type = CONTAINER_NOTHING;
        if (!c->told_created) {
                c->told_created = true; /* frames wait until the init is there to read them */
                event->type = CONTAINER_CREATED;
                return 0;
        }
        for (;;) {
                if (tell_destroyed(c, event))
                        return 0;
                int taken = c->destroying ? 0 : take_pieces(c, event);
                if (taken > 0 && event->type != CONTAINER_NOTHING)
                        return 0;
                /* Only now: what has just been taken may be what was missing. */
                if (tell_gate(c, event) || tell_noted(c, event))
                        return 0;
                if (c->attach.state == ATTACH_ENDED)
                        on_attach_ended(c);
                struct epoll_event ready;
                int n = epoll_wait(c->epoll, &ready, 1, 0);
                if (n < 0 && errno != EINTR)
                        return error_set(err, ERROR_INTERNAL, errno, NULL, "waiting for the container");
                if (n <= 0 && taken != -EAGAIN)
                        return 0;
                if (n > 0)
                        dispatch(c, &ready);
                if (taken == -EAGAIN) {
                        container_wake(c); /* and here it goes on */
                        return 0;
                }
        }
}
