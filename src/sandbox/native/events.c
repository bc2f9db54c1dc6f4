/* SPDX-License-Identifier: Apache-2.0 */
/* What happened to a native container, one event at a time. */
#include "sandbox/native/container.h"

#include "sandbox/failure.h"
#include "sandbox/native/readback.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

/*
 * After the end of the program and the death of its descendants the pipes' end is at hand; this is for a
 * process that is stuck in the kernel.
 */
#define DRAIN_DEADLINE_MSEC 100

static int failed(struct container *c, struct container_event *event, enum container_event_type type)
{
        event->type = type;
        event->error = &c->error;
        return 0;
}

/* The container is gone without our doing: what that means depends on how far it had come. */
static int vanished(struct container *c, struct container_event *event, const char *what)
{
        (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->guest.socket, NULL);
        c->init_gone = true;
        if (c->exited || c->lost || c->destroying)
                return 0;
        if (!c->made && !c->launcher_gone) {
                /* The launcher ends what it could not complete, and is about to say why. */
                return 0;
        }
        if (c->killed || meter_oom_kills(&c->meter) > 0) {
                /* Killed by us, or the kernel took the init too for want of memory. */
                c->exited = true;
                container_set_timer(c, DRAIN_DEADLINE_MSEC);
                event->type = CONTAINER_EXITED;
                event->exited.wait_status = SIGKILL;
                event->exited.reaped = 0;
                event->exited.killed = 0;
                return 0;
        }
        c->lost = true;
        if (c->error.code == ERROR_NONE)
                (void)error_set(&c->error, ERROR_BACKEND, 0, NULL, "%s ended unexpectedly", what);
        return failed(c, event, c->started ? CONTAINER_LOST : CONTAINER_FAILED);
}

static int protocol_error(struct container *c, struct container_event *event)
{
        (void)error_set(
            &c->error, ERROR_BACKEND, EBADMSG, NULL, "a part of the container sent a malformed message");
        c->lost = true;
        return failed(c, event, c->started ? CONTAINER_LOST : CONTAINER_FAILED);
}

static int on_created(struct container *c, const struct launcher_created *created, int *fds, size_t n)
{
        if (n == 0)
                return error_set(
                    &c->error, ERROR_INTERNAL, EBADMSG, NULL, "the launcher sent no descriptors");
        c->pidfd = fds[0];
        (void)snprintf(c->cgroup_path, sizeof c->cgroup_path, "%s", created->cgroup_path);
        c->evidence.degraded |= created->degraded;
        size_t listeners = c->spec->network == NETWORK_NONE ? 0 : 1;
        if ((size_t)__builtin_popcount(created->controllers) + listeners != n - 1)
                return error_set(
                    &c->error, ERROR_INTERNAL, EBADMSG, NULL, "the launcher sent the wrong descriptors");
        if (listeners > 0)
                c->listener = fds[n - 1];
        int r = meter_open(&c->meter, created->cgroup_version, created->controllers, fds + 1);
        if (r == 0 && created->cgroup_version == 0)
                r = meter_open_processes(&c->meter, created->init_pid, c->spec->limits.mem_limit);
        if (r == 0 && created->cgroup_version == 2 && c->meter.files[METER_MEMORY_EVENTS] >= 0)
                r = container_watch(c, c->meter.files[METER_MEMORY_EVENTS], SOURCE_OOM, EPOLLPRI);
        if (r == 0 && c->meter.oom_event >= 0)
                r = container_watch(c, c->meter.oom_event, SOURCE_OOM, EPOLLIN);
        if (r == 0 && c->meter.files[METER_PIDS_EVENTS] >= 0)
                r = container_watch(c, c->meter.files[METER_PIDS_EVENTS], SOURCE_PIDS, EPOLLPRI);
        if (r < 0)
                return error_set(&c->error, ERROR_BACKEND, -r, NULL, "watching the container's cgroup");
        c->made = true;
        return readback_begin(&c->evidence, &c->meter, &c->error);
}

static int on_launcher(struct container *c, struct container_event *event)
{
        union launcher_message message;
        int fds[FD_PASS_MAX];
        size_t n = 0;
        struct error ignored = {};
        int r =
            launcher_receive(&c->launcher, false, &message, fds, &n, c->error.code ? &ignored : &c->error);
        error_clear(&ignored);
        if (r == 0)
                return 0;
        if (r < 0) {
                (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->launcher.socket, NULL);
                c->launcher_gone = true;
                if (c->destroying && !c->destroyed) {
                        c->destroyed = true;
                        event->type = CONTAINER_DESTROYED;
                        event->destroyed.complete = false;
                        event->destroyed.processes_killed = 0;
                        event->destroyed.leftover = "the launcher is gone";
                        return 0;
                }
                c->lost = c->lost || !c->started;
                return c->started ? vanished(c, event, "the launcher") : failed(c, event, CONTAINER_FAILED);
        }
        switch (message.header.type) {
        case LAUNCHER_CREATED:
                if (on_created(c, &message.created, fds, n) < 0)
                        return failed(c, event, CONTAINER_FAILED);
                return c->init_gone ? vanished(c, event, "the container's init") : 0;
        case LAUNCHER_DESTROYED:
                c->destroyed = true;
                (void)snprintf(c->leftover, sizeof c->leftover, "%.*s",
                    (int)sizeof message.destroyed.leftover - 1, message.destroyed.leftover);
                event->type = CONTAINER_DESTROYED;
                event->destroyed.complete = message.destroyed.complete;
                event->destroyed.processes_killed = message.destroyed.processes_killed;
                event->destroyed.leftover = c->leftover[0] ? c->leftover : NULL;
                return 0;
        default:
                return protocol_error(c, event);
        }
}

static const char *const skip_reasons[] = {
    [GUEST_SKIP_NOT_REGULAR] = "not_regular",
    [GUEST_SKIP_TOO_LARGE] = "too_large",
    [GUEST_SKIP_TOO_MANY] = "too_many",
    [GUEST_SKIP_TOO_DEEP] = "too_deep",
    [GUEST_SKIP_UNREADABLE] = "unreadable",
    [GUEST_SKIP_HARD_LINK] = "hard_link",
};

static int on_ready(struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        struct guest_ready ready;
        if (frame->size != sizeof ready || c->guest.fd_count == 0)
                return protocol_error(c, event);
        memcpy(&ready, frame->payload, sizeof ready);
        if (ready.version != GUEST_PROTOCOL_VERSION || c->guest.fd_count != 1U + (ready.has_listener != 0))
                return protocol_error(c, event);
        c->meter.disk = take_fd(&c->guest.fds[0]);
        if (ready.has_listener) {
                c->denied.listener = take_fd(&c->guest.fds[1]);
                if (container_watch(c, c->denied.listener, SOURCE_DENIED, EPOLLIN) < 0)
                        return protocol_error(c, event);
        }
        c->guest.fd_count = 0;
        c->evidence.landlock_abi = ready.landlock_abi;
        c->evidence.degraded |= ready.degraded;
        return 0;
}

/* Both have spoken, the launcher and the program's process: read back what holds, and tell. */
static int on_gate(struct container *c, struct container_event *event)
{
        c->told_gate = true;
        if (readback_process(&c->evidence, c->gate_pid, &c->meter, c->cgroup_path, &c->error) < 0)
                return failed(c, event, CONTAINER_FAILED);
        event->type = CONTAINER_AT_GATE;
        event->evidence = &c->evidence;
        return 0;
}

static int tell_file(struct container *c, struct container_event *event)
{
        event->type = CONTAINER_FILE;
        event->file.path = c->file;
        event->file.path_size = c->file_path_size;
        event->file.data = c->file + c->file_path_size + 1;
        event->file.size = c->file_size;
        event->file.mode = c->file_mode;
        return 0;
}

static int on_file(struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        struct guest_file head;
        if (frame->size < sizeof head)
                return protocol_error(c, event);
        memcpy(&head, frame->payload, sizeof head);
        if (head.path_size != frame->size - sizeof head || head.path_size == 0 ||
            head.path_size > GUEST_PATH_MAX || head.size > c->spec->limits.disk_limit)
                return protocol_error(c, event);
        free(c->file);
        c->file = malloc(head.path_size + 1 + (size_t)head.size);
        if (!c->file) {
                (void)error_oom(&c->error);
                c->lost = true;
                return failed(c, event, CONTAINER_LOST);
        }
        memcpy(c->file, frame->payload + sizeof head, head.path_size);
        c->file[head.path_size] = '\0';
        c->file_path_size = head.path_size;
        c->file_size = (size_t)head.size;
        c->file_have = 0;
        c->file_mode = head.mode & 0777;
        return head.size == 0 ? tell_file(c, event) : 0;
}

static int on_file_data(struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        if (!c->file || frame->size > c->file_size - c->file_have)
                return protocol_error(c, event);
        memcpy(c->file + c->file_path_size + 1 + c->file_have, frame->payload, frame->size);
        c->file_have += frame->size;
        return c->file_have == c->file_size ? tell_file(c, event) : 0;
}

static int on_file_skipped(
    struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        struct guest_file_skipped head;
        if (frame->size < sizeof head)
                return protocol_error(c, event);
        memcpy(&head, frame->payload, sizeof head);
        if (head.path_size != frame->size - sizeof head)
                return protocol_error(c, event);
        event->type = CONTAINER_FILE_SKIPPED;
        event->file.path = frame->payload + sizeof head;
        event->file.path_size = head.path_size;
        event->file.data = NULL;
        event->file.size = 0;
        event->file.mode = 0;
        event->file.reason = head.reason < ARRAY_SIZE(skip_reasons) && skip_reasons[head.reason]
                                 ? skip_reasons[head.reason]
                                 : "other";
        return 0;
}

static int on_exited(struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        struct guest_exited exited;
        if (frame->size != sizeof exited)
                return protocol_error(c, event);
        memcpy(&exited, frame->payload, sizeof exited);
        c->exited = true;
        container_set_timer(c, DRAIN_DEADLINE_MSEC);
        event->type = CONTAINER_EXITED;
        event->exited.wait_status = exited.wait_status;
        event->exited.reaped = exited.reaped;
        event->exited.killed = exited.killed;
        meter_note_peak(&c->meter, exited.max_rss_bytes);
        return 0;
}

static int on_guest(struct container *c, struct container_event *event)
{
        struct guest_frame frame;
        int r = guest_channel_receive(&c->guest, &frame);
        if (r == 0)
                return 0;
        if (r == -EBADMSG)
                return protocol_error(c, event);
        if (r < 0)
                return vanished(c, event, "the container's init");
        switch (frame.type) {
        case GUEST_READY:
                return on_ready(c, &frame, event);
        case GUEST_AT_GATE:
                c->gate_pid = frame.sender;
                return 0;
        case GUEST_STARTED:
                c->started = true;
                event->type = CONTAINER_STARTED;
                return 0;
        case GUEST_EXEC_FAILED: {
                struct guest_exec_failed message;
                if (frame.size != sizeof message)
                        return protocol_error(c, event);
                memcpy(&message, frame.payload, sizeof message);
                event->type = CONTAINER_EXEC_FAILED;
                event->errnum = message.errnum;
                return 0;
        }
        case GUEST_EXITED:
                return on_exited(c, &frame, event);
        case GUEST_FILE:
                return on_file(c, &frame, event);
        case GUEST_FILE_DATA:
                return on_file_data(c, &frame, event);
        case GUEST_FILE_SKIPPED:
                return on_file_skipped(c, &frame, event);
        case GUEST_COLLECTED: {
                struct guest_collected message;
                if (frame.size != sizeof message)
                        return protocol_error(c, event);
                memcpy(&message, frame.payload, sizeof message);
                event->type = CONTAINER_COLLECTED;
                event->collected.files = message.files;
                event->collected.bytes = message.bytes;
                event->collected.skipped = message.skipped;
                return 0;
        }
        case GUEST_SETUP_FAILED: {
                struct setup_failure failure;
                if (frame.size != sizeof failure)
                        return protocol_error(c, event);
                memcpy(&failure, frame.payload, sizeof failure);
                (void)failure_to_error(&failure, &c->error);
                c->lost = true;
                return failed(c, event, c->started ? CONTAINER_LOST : CONTAINER_FAILED);
        }
        default:
                return protocol_error(c, event);
        }
}

static void end_output(struct container *c, enum output_stream stream)
{
        (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->output[stream], NULL);
        close_and_forget(&c->output[stream]);
}

static int on_output(struct container *c, enum output_stream stream, struct container_event *event)
{
        ssize_t n = read(c->output[stream], c->buffer, OUTPUT_READ_SIZE);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0) {
                end_output(c, stream);
                return 0;
        }
        if (c->discarded[stream])
                return 0;
        event->type = CONTAINER_OUTPUT;
        event->output.stream = stream;
        event->output.data = c->buffer;
        event->output.size = (size_t)n;
        return 0;
}

/* A deadline has come: of a kill that the init did not answer, or of pipes that somebody stuck in the kernel
 * holds. */
static int on_timer(struct container *c, struct container_event *event)
{
        uint64_t expirations;
        if (read(c->timer, &expirations, sizeof expirations) < 0)
                return 0;
        if (!c->exited) {
                if (c->pidfd >= 0)
                        (void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
                return vanished(c, event, "the container's init");
        }
        for (int i = 0; i < 2; i++)
                if (c->output[i] >= 0)
                        end_output(c, (enum output_stream)i);
        return 0;
}

static void told_count(
    struct container_event *event, enum container_event_type type, const char *name, uint64_t count)
{
        event->type = type;
        event->count.name = name;
        event->count.count = count;
}

static int on_oom(struct container *c, struct container_event *event)
{
        uint64_t ignored;
        if (c->meter.oom_event >= 0)
                (void)read(c->meter.oom_event, &ignored, sizeof ignored);
        uint64_t kills = meter_oom_kills(&c->meter);
        if (kills > c->oom_kills) {
                c->oom_kills = kills;
                told_count(event, CONTAINER_OOM, "oom_kill", kills);
        }
        return 0;
}

static int on_pids(struct container *c, struct container_event *event)
{
        uint64_t refused = meter_forks_refused(&c->meter);
        if (refused > c->forks_refused) {
                c->forks_refused = refused;
                told_count(event, CONTAINER_PIDS_REFUSED, "fork", refused);
        }
        return 0;
}

static void end_denied(struct container *c)
{
        (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->denied.listener, NULL);
        close_and_forget(&c->denied.listener);
}

static int on_denied(struct container *c, uint32_t ready, struct container_event *event)
{
        if (!(ready & EPOLLIN)) {
                end_denied(c); /* hung up: no process is left under the filter */
                return 0;
        }
        int which = denied_answer(&c->denied);
        if (which >= 0)
                told_count(event, CONTAINER_SYSCALL_DENIED, c->denied.calls[which].name,
                    c->denied.calls[which].count);
        else if (which != -EAGAIN)
                end_denied(c);
        return 0;
}

/* The last look at counters whose notification may still be on its way, once the program has ended. */
static int last_counts(struct container *c, struct container_event *event)
{
        (void)on_oom(c, event);
        if (event->type == CONTAINER_NOTHING)
                (void)on_pids(c, event);
        return 0;
}

static int handle(struct container *c, const struct epoll_event *ready, struct container_event *event)
{
        uint32_t source = ready->data.u32;
        switch (source) {
        case SOURCE_LAUNCHER:
                return on_launcher(c, event);
        case SOURCE_GUEST:
                return on_guest(c, event);
        case SOURCE_STDOUT:
        case SOURCE_STDERR:
                return on_output(c, source == SOURCE_STDOUT ? STREAM_STDOUT : STREAM_STDERR, event);
        case SOURCE_OOM:
                return on_oom(c, event);
        case SOURCE_PIDS:
                return on_pids(c, event);
        case SOURCE_DENIED:
                return on_denied(c, ready->events, event);
        default:
                return on_timer(c, event);
        }
}

int container_next(struct container *c, struct container_event *event, struct error *err)
{
        event->type = CONTAINER_NOTHING;
        if (!c->told_created) {
                c->told_created = true; /* frames wait in the channel until the init is there to read them */
                event->type = CONTAINER_CREATED;
                return 0;
        }
        for (;;) {
                if (c->listener >= 0) {
                        event->type = CONTAINER_SOCKET;
                        event->socket = take_fd(&c->listener);
                        return 0;
                }
                if (c->made && c->gate_pid && !c->told_gate && !c->lost)
                        return on_gate(c, event);
                if (c->exited && !c->output_ended && c->output[0] < 0 && c->output[1] < 0) {
                        (void)last_counts(c, event);
                        if (event->type != CONTAINER_NOTHING)
                                return 0;
                        c->output_ended = true;
                        event->type = CONTAINER_OUTPUT_END;
                        return 0;
                }
                struct epoll_event ready;
                int n = epoll_wait(c->epoll, &ready, 1, 0);
                if (n < 0 && errno != EINTR)
                        return error_set(err, ERROR_INTERNAL, errno, NULL, "waiting for the container");
                if (n <= 0)
                        return 0;
                int r = handle(c, &ready, event);
                if (r < 0 || event->type != CONTAINER_NOTHING)
                        return r;
        }
}
