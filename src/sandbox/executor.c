/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run, from admission to the last trace removed, as a machine of phases that the backend's events and a
 * few deadlines move on. Every phase has a deadline of ours, so that a backend that hangs costs a bounded
 * time.
 *
 *   WAITING -> CREATING -> STARTING -> RUNNING -> [KILLING] -> DRAINING -> [COLLECTING] -> DESTROYING ->
 * GONE
 */
#include "sandbox/executor.h"

#include "sandbox/collect.h"
#include "sandbox/environment.h"
#include "sandbox/events.h"
#include "sandbox/monitor.h"
#include "sandbox/stream.h"
#include "sandbox/text.h"
#include "util/clock.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define SETUP_DEADLINE (60 * NSEC_PER_SEC)
#define KILL_MSEC 50U
#define KILL_DEADLINE (500 * NSEC_PER_MSEC)
#define DRAIN_DEADLINE (500 * NSEC_PER_MSEC)
#define COLLECT_DEADLINE (30 * NSEC_PER_SEC)
#define DESTROY_DEADLINE (1 * NSEC_PER_SEC)

/* Deadlines and cancellation are looked at between as many events at least. */
#define EVENTS_PER_LOOK 32

/* Denied calls that only fail are events; so many are an attack on whoever counts them. */
#define DENIED_CALLS_MAX 10000U

/* Readings of the usage that may fail in a row before the run is ended: cpu_time would not be enforced. */
#define FAILED_LOOKS_MAX 3U

enum phase {
        PHASE_WAITING, /* for admission: there is no container yet */
        PHASE_CREATING,
        PHASE_STARTING, /* at the gate, or past it: nothing of the user's is known to run */
        PHASE_RUNNING,
        PHASE_KILLING,  /* EXITED is awaited */
        PHASE_DRAINING, /* OUTPUT_END is awaited */
        PHASE_COLLECTING,
        PHASE_DESTROYING,
        PHASE_GONE,
        PHASE_COUNT_,
};

struct run {
        struct container_manager *manager;
        const struct execution_request *request;
        const struct execution_listener *listener;
        struct result *result;
        const struct container_spec *spec; /* the result's */
        struct managed_container managed;
        const char **environment;

        enum phase phase;
        uint64_t phase_since, phase_deadline;
        uint64_t created_at;           /* creation began */
        uint64_t gate_at;              /* the gate was opened */
        uint64_t started_at, ended_at; /* of the program; 0: not yet */
        bool cancelled, failed, exited, drained, looked_at_end;
        bool destroyed; /* the backend said so */
        unsigned failed_looks;
        int cancel_fd; /* forgotten once it has fired */
        int wait_status;
        struct monitor monitor;
        struct stream_cutter streams[2];
};

/* ---- Time, and telling the listener ---- */

static double seconds_since_start(const struct run *run, uint64_t now)
{
        return run->started_at > 0 ? nsec_to_sec(now - run->started_at) : -1;
}

static void enter(struct run *run, enum phase phase, uint64_t patience)
{
        uint64_t now = clock_now();
        run->phase = phase;
        run->phase_since = now;
        run->phase_deadline = patience < UINT64_MAX - now ? now + patience : UINT64_MAX;
}

static void cancel(struct run *run);
static void fail(struct run *run, struct error *err);
static void begin_destroy(struct run *run);

static void tell_phase(struct run *run, const char *name)
{
        const struct execution_listener *listener = run->listener;
        if (listener && listener->phase &&
            listener->phase(seconds_since_start(run, clock_now()), name, listener->user) != 0)
                cancel(run);
}

static void fail_oom(struct run *run)
{
        struct error err = {};
        (void)error_oom(&err);
        fail(run, &err);
}

static void note(struct run *run, const struct event_note *what)
{
        const struct run_event *news;
        if (events_note(run->result, seconds_since_start(run, clock_now()), what, &news) < 0) {
                fail_oom(run);
                return;
        }
        const struct execution_listener *listener = run->listener;
        if (news && listener && listener->notice && listener->notice(news, listener->user) != 0)
                cancel(run);
}

/* ---- Ending a run ---- */

static void kill_program(struct run *run)
{
        if (run->phase != PHASE_RUNNING)
                return;
        (void)run->managed.ops->kill(run->managed.container, KILL_MSEC);
        enter(run, PHASE_KILLING, KILL_DEADLINE);
}

/* Records what ended the run, unless something of higher precedence did, and ends it. */
static void violate(struct run *run, const struct violation *violation)
{
        struct violation *known = &run->result->violation;
        if (known->kind == VIOLATION_NONE || violation->kind < known->kind)
                *known = *violation;
        kill_program(run);
}

static void cancel(struct run *run)
{
        switch (run->phase) {
        case PHASE_WAITING:
        case PHASE_CREATING:
        case PHASE_STARTING:
                run->cancelled = true;
                (void)error_set(
                    &run->result->error, ERROR_CANCELLED, 0, NULL, "cancelled before the program started");
                begin_destroy(run);
                break;
        case PHASE_RUNNING:
                run->cancelled = true;
                kill_program(run);
                break;
        case PHASE_COLLECTING:
                run->cancelled = true;
                begin_destroy(run);
                break;
        case PHASE_KILLING:
        case PHASE_DRAINING:
        case PHASE_DESTROYING:
        case PHASE_GONE:
        case PHASE_COUNT_:
                break; /* over already, for a reason of its own */
        }
}

/* The sandbox itself failed: takes the error (the first one stands), and gives up. */
static void fail(struct run *run, struct error *err)
{
        if (err->code == ERROR_NONE)
                (void)error_set(err, ERROR_INTERNAL, 0, NULL, "the backend failed without saying why");
        if (run->result->error.code == ERROR_NONE)
                error_move(&run->result->error, err);
        else
                error_clear(err);
        run->failed = true;
        begin_destroy(run);
}

/* Something failed that leaves the program's own outcome as it is. */
static void complain(struct run *run, struct error *err)
{
        if (run->result->error.code == ERROR_NONE)
                error_move(&run->result->error, err);
        else
                error_clear(err);
}

/* ---- Usage ---- */

static void note_full_disk(struct run *run, const struct usage *usage)
{
        /* Less than a block: nothing more fits. */
        if (usage->disk_free_bytes < 4096)
                note(run, &(struct event_note){.kind = "disk_full",
                              .detail_key = "resource",
                              .detail = "bytes",
                              .detail_size = 5,
                              .count = 1,
                              .so_far = true});
        if (usage->inodes_free == 0)
                note(run, &(struct event_note){.kind = "disk_full",
                              .detail_key = "resource",
                              .detail = "inodes",
                              .detail_size = 6,
                              .count = 1,
                              .so_far = true});
}

static bool look(struct run *run)
{
        struct usage usage;
        memset(&usage, 0xff, sizeof usage);
        if (run->managed.ops->sample(run->managed.container, &usage) < 0)
                return false;
        run->result->usage = usage;
        run->result->has_usage = true;
        note_full_disk(run, &usage);
        return true;
}

static void check_cpu_time(struct run *run)
{
        const struct usage *usage = &run->result->usage;
        double limit = run->spec->limits.cpu_time;
        if (usage->cpu_nsec != NOT_MEASURED && nsec_to_sec(usage->cpu_nsec) >= limit)
                violate(run, &(struct violation){.kind = VIOLATION_CPU_TIME,
                                 .has_limit = true,
                                 .limit = limit,
                                 .has_observed = true,
                                 .observed = nsec_to_sec(usage->cpu_nsec)});
}

/* A limit that can't be watched is a limit that is not enforced. */
static void check_watched(struct run *run, bool measured)
{
        bool waived = run->spec->degraded_allowed & 1U << ENFORCE_CGROUP;
        if (measured || waived) {
                run->failed_looks = 0;
        } else if (++run->failed_looks >= FAILED_LOOKS_MAX) {
                struct error err = {};
                (void)error_set(&err, ERROR_UNENFORCED, 0, "see `mai-sandbox doctor`",
                    "cpu_time: the program's CPU time can't be read any more");
                fail(run, &err);
        }
}

static void look_while_running(struct run *run)
{
        bool read = look(run);
        uint64_t now = clock_now();
        struct usage unknown;
        memset(&unknown, 0xff, sizeof unknown);
        const struct usage *usage = read ? &run->result->usage : &unknown;

        struct run_sample sample;
        double cpu_percent;
        int r = monitor_look(&run->monitor, usage, now, run->result, &sample, &cpu_percent);
        if (r < 0) {
                fail_oom(run);
                return;
        }
        const struct execution_listener *listener = run->listener;
        if (r > 0 && read && listener && listener->sample &&
            listener->sample(&sample, cpu_percent, listener->user) != 0)
                cancel(run);
        if (read)
                check_cpu_time(run);
        if (run->phase == PHASE_RUNNING)
                check_watched(run, read && usage->cpu_nsec != NOT_MEASURED);
}

/* The final figures, before anything of the container goes. */
static void look_at_end(struct run *run)
{
        if (run->looked_at_end || run->started_at == 0)
                return;
        run->looked_at_end = true;
        (void)look(run);
        run->result->wall = nsec_to_sec((run->ended_at > 0 ? run->ended_at : clock_now()) - run->started_at);
        run->result->has_usage = true;
}

/* ---- From phase to phase ---- */

static void begin_destroy(struct run *run)
{
        if (run->phase == PHASE_WAITING || run->phase >= PHASE_DESTROYING)
                return;
        if (run->phase == PHASE_COLLECTING)
                run->result->timing.collect = nsec_to_sec(clock_now() - run->phase_since);
        enter(run, PHASE_DESTROYING, DESTROY_DEADLINE); /* first: what follows may come back here */
        look_at_end(run);
        run->phase_since = clock_now();
        run->phase_deadline = run->phase_since + DESTROY_DEADLINE;
        if (run->managed.ops->destroy(run->managed.container) < 0)
                run->phase = PHASE_GONE;
}

static void after_drain(struct run *run)
{
        look_at_end(run);
        if (run->phase != PHASE_DRAINING)
                return;
        if (!run->request->collect_files || run->cancelled || run->failed) {
                begin_destroy(run);
                return;
        }
        enter(run, PHASE_COLLECTING, COLLECT_DEADLINE);
        tell_phase(run, "collecting");
        if (run->phase != PHASE_COLLECTING)
                return;
        const struct collect_limits limits = {
            .max_files = COLLECT_FILES_MAX,
            .max_bytes = run->spec->limits.disk_limit,
            .max_depth = 64,
        };
        int r = run->managed.ops->collect(run->managed.container, &limits);
        if (r < 0) {
                struct error err = {};
                (void)error_set(&err, ERROR_OUTPUT, -r, NULL, "the run's files can't be collected");
                complain(run, &err);
                begin_destroy(run);
        }
}

/* ---- The backend's events ---- */

static void on_created(struct run *run, struct container_event *event)
{
        if (run->phase != PHASE_CREATING)
                return;
        _cleanup_(error_clear) struct error err = {};
        const struct execution_request *request = run->request;
        const struct container_ops *ops = run->managed.ops;
        for (size_t i = 0; i < request->file_count; i++) {
                const struct input_file *file = &request->files[i];
                if (ops->put_file(
                        run->managed.container, file->path, file->mode, file->data, file->size, &err) < 0) {
                        fail(run, &err);
                        return;
                }
        }
        run->environment =
            environment_merge(request->environment, (const char *const *)run->spec->environment);
        if (!run->environment) {
                fail_oom(run);
                return;
        }
        const struct exec_spec exec = {
            .argv = request->argv, .environment = run->environment, .stdin_fd = request->stdin_fd};
        if (ops->execute(run->managed.container, &exec, &err) < 0)
                fail(run, &err);
}

static void on_gate(struct run *run, struct container_event *event)
{
        if (run->phase != PHASE_CREATING)
                return;
        _cleanup_(error_clear) struct error err = {};
        run->result->evidence = *event->evidence;
        run->result->has_evidence = true;
        run->gate_at = clock_now();
        run->result->timing.create = nsec_to_sec(run->gate_at - run->created_at);
        if (evidence_check(event->evidence, run->spec, &err) < 0) {
                fail(run, &err);
                return;
        }
        uint64_t left = run->phase_deadline > run->gate_at ? run->phase_deadline - run->gate_at : 0;
        enter(run, PHASE_STARTING, left);
        if (run->managed.ops->release_gate(run->managed.container, &err) < 0)
                fail(run, &err);
}

static void on_started(struct run *run, struct container_event *event)
{
        if (run->phase != PHASE_STARTING)
                return;
        double timeout = fmin(run->spec->limits.timeout, 1e9);
        enter(run, PHASE_RUNNING, (uint64_t)(timeout * 1e9));
        run->started_at = run->phase_since;
        run->result->timing.start = nsec_to_sec(run->started_at - run->gate_at);
        monitor_start(&run->monitor, run->spec, run->started_at);
        tell_phase(run, "running");
}

static void on_exec_failed(struct run *run, struct container_event *event)
{
        if (run->phase > PHASE_STARTING)
                return;
        _cleanup_(error_clear) struct error err = {};
        const char *command = run->request->argv[0];
        char escaped[256];
        (void)error_set(&err, ERROR_NOT_FOUND, event->errnum,
            "give a command of the image, by its path or by a name in PATH",
            "\"%s\" could not be executed in image %s",
            text_escape(command, strlen(command), escaped, sizeof escaped),
            run->spec->image ? run->spec->image : "?");
        run->result->command_error = true;
        fail(run, &err);
}

struct output_target {
        struct run *run;
        enum output_stream stream;
};

static int pass_output(const char *data, size_t size, void *user)
{
        const struct output_target *target = user;
        struct run *run = target->run;
        if (run->request->keep_output &&
            strbuf_append(&run->result->output[target->stream], data, size) < 0) {
                fail_oom(run);
                return 0;
        }
        const struct execution_listener *listener = run->listener;
        if (listener && listener->output &&
            listener->output(
                seconds_since_start(run, clock_now()), target->stream, data, size, listener->user) != 0)
                cancel(run);
        return 0;
}

static void on_output(struct run *run, struct container_event *event)
{
        if (run->phase < PHASE_STARTING || run->phase > PHASE_DRAINING)
                return;
        enum output_stream stream = event->output.stream;
        struct stream_cutter *cutter = &run->streams[stream];
        bool cut_before = cutter->truncated;
        struct output_target target = {.run = run, .stream = stream};
        (void)stream_feed(cutter, event->output.data, event->output.size, pass_output, &target);
        if (!cutter->truncated || cut_before)
                return;
        run->result->output_truncated[stream] = true;
        run->managed.ops->discard_output(run->managed.container, stream);
        struct violation violation = {.kind = VIOLATION_OUTPUT,
            .has_limit = true,
            .limit = (double)cutter->limit,
            .has_observed = true,
            .observed = (double)cutter->total};
        (void)snprintf(
            violation.detail, sizeof violation.detail, "%s", stream == STREAM_STDOUT ? "stdout" : "stderr");
        /* Also when the program has ended meanwhile: which of the two we see first is chance, the verdict is
         * not. */
        violate(run, &violation);
}

static void on_output_end(struct run *run, struct container_event *event)
{
        for (enum output_stream stream = STREAM_STDOUT; stream <= STREAM_STDERR; stream++) {
                struct output_target target = {.run = run, .stream = stream};
                (void)stream_end(&run->streams[stream], pass_output, &target);
        }
        run->drained = true;
        if (run->phase == PHASE_DRAINING)
                after_drain(run);
}

static void on_oom(struct run *run, struct container_event *event)
{
        if (event->count.count == 0)
                return;
        /* The peak is known at the end. The kernel killed: that the program may have ended since changes
         * nothing. */
        violate(run,
            &(struct violation){
                .kind = VIOLATION_MEMORY, .has_limit = true, .limit = (double)run->spec->limits.mem_limit});
}

static void on_pids_refused(struct run *run, struct container_event *event)
{
        note(run, &(struct event_note){.kind = "pids_refused", .count = event->count.count, .so_far = true});
}

static void on_syscall_denied(struct run *run, struct container_event *event)
{
        const char *name = event->count.name ? event->count.name : "unknown";
        note(run, &(struct event_note){.kind = "syscall_denied",
                      .detail_key = "syscall",
                      .detail = name,
                      .detail_size = strlen(name),
                      .count = event->count.count,
                      .so_far = true});
        uint64_t total = events_total(run->result, "syscall_denied");
        if (total < DENIED_CALLS_MAX || run->phase > PHASE_DRAINING)
                return;
        struct violation violation = {.kind = VIOLATION_SYSCALL,
            .has_limit = true,
            .limit = DENIED_CALLS_MAX,
            .has_observed = true,
            .observed = (double)total};
        (void)snprintf(violation.detail, sizeof violation.detail, "%s", name);
        violate(run, &violation);
}

static void on_exited(struct run *run, struct container_event *event)
{
        if (run->exited || run->phase < PHASE_RUNNING || run->phase > PHASE_KILLING)
                return;
        bool by_us = run->phase == PHASE_KILLING;
        run->exited = true;
        run->wait_status = event->exited.wait_status;
        enter(run, PHASE_DRAINING, DRAIN_DEADLINE);
        run->ended_at = run->phase_since;
        /* What it left running goes too, so that nobody holds the pipes or writes while files are collected.
         */
        if (!by_us)
                (void)run->managed.ops->kill(run->managed.container, KILL_MSEC);
        if (!by_us && WIFSIGNALED(run->wait_status) && WTERMSIG(run->wait_status) == SIGSYS &&
            run->spec->seccomp != SECCOMP_UNCONFINED)
                violate(run, &(struct violation){.kind = VIOLATION_SYSCALL});
        if (run->drained)
                after_drain(run);
}

static void on_file(struct run *run, struct container_event *event)
{
        if (run->phase != PHASE_COLLECTING)
                return;
        _cleanup_(error_clear) struct error err = {};
        if (collect_file(run->result, run->request, event, &err) >= 0)
                return;
        if (err.code != ERROR_OUTPUT) {
                fail(run, &err);
                return;
        }
        complain(run, &err);
        note(run, &(struct event_note){.kind = "output_failed",
                      .detail_key = "path",
                      .detail = event->file.path,
                      .detail_size = event->file.path_size,
                      .count = 1});
}

static void on_file_skipped(struct run *run, struct container_event *event)
{
        note(run, &(struct event_note){.kind = "file_skipped",
                      .detail_key = "path",
                      .detail = event->file.path,
                      .detail_size = event->file.path_size,
                      .reason = event->file.reason,
                      .count = 1});
}

static void on_collected(struct run *run, struct container_event *event)
{
        if (run->phase != PHASE_COLLECTING)
                return;
        /* Only the first are named; the rest are one entry. */
        uint64_t named = events_total(run->result, "file_skipped");
        if (event->collected.skipped > named)
                note(run, &(struct event_note){.kind = "file_skipped",
                              .reason = "not_named",
                              .count = event->collected.skipped - named});
        begin_destroy(run);
}

static void on_destroyed(struct run *run, struct container_event *event)
{
        struct result *result = run->result;
        result->cleanup_complete = event->destroyed.complete;
        result->processes_killed = event->destroyed.processes_killed;
        if (event->destroyed.leftover)
                result->leftover = strdup(event->destroyed.leftover);
        run->destroyed = true;
        run->phase = PHASE_GONE;
}

static void on_failure(struct run *run, struct container_event *event)
{
        struct error err = {};
        if (event->error)
                error_move(&err, event->error);
        if (run->phase < PHASE_COLLECTING) {
                fail(run, &err);
                return;
        }
        /* The program's outcome is known: only its files may be missing. */
        if (run->phase == PHASE_COLLECTING)
                complain(run, &err);
        error_clear(&err);
        begin_destroy(run);
}

static void (*const handlers[])(struct run *run, struct container_event *event) = {
    [CONTAINER_CREATED] = on_created,
    [CONTAINER_AT_GATE] = on_gate,
    [CONTAINER_STARTED] = on_started,
    [CONTAINER_EXEC_FAILED] = on_exec_failed,
    [CONTAINER_OUTPUT] = on_output,
    [CONTAINER_OUTPUT_END] = on_output_end,
    [CONTAINER_OOM] = on_oom,
    [CONTAINER_PIDS_REFUSED] = on_pids_refused,
    [CONTAINER_SYSCALL_DENIED] = on_syscall_denied,
    [CONTAINER_EXITED] = on_exited,
    [CONTAINER_FILE] = on_file,
    [CONTAINER_FILE_SKIPPED] = on_file_skipped,
    [CONTAINER_COLLECTED] = on_collected,
    [CONTAINER_DESTROYED] = on_destroyed,
    [CONTAINER_FAILED] = on_failure,
    [CONTAINER_LOST] = on_failure,
};

/* ---- Deadlines ---- */

static void on_setup_late(struct run *run)
{
        struct error err = {};
        (void)error_set(&err, ERROR_BACKEND, ETIMEDOUT, "see `mai-sandbox doctor`",
            "the container was not ready in time");
        fail(run, &err);
}

static void on_timeout(struct run *run)
{
        uint64_t now = clock_now();
        double limit = run->spec->limits.timeout;
        violate(run, &(struct violation){.kind = VIOLATION_TIMEOUT,
                         .has_limit = true,
                         .limit = limit,
                         .has_observed = true,
                         .observed = seconds_since_start(run, now)});
        /* Both clocks may have run out at once, and CPU time goes first. */
        if (look(run))
                check_cpu_time(run);
}

static void on_kill_late(struct run *run)
{
        run->ended_at = clock_now();
        if (run->result->violation.kind == VIOLATION_NONE && !run->cancelled) {
                struct error err = {};
                (void)error_set(&err, ERROR_BACKEND, ETIMEDOUT, NULL,
                    "the backend did not confirm that the program is dead");
                fail(run, &err);
                return;
        }
        begin_destroy(run);
}

static void on_collect_late(struct run *run)
{
        struct error err = {};
        (void)error_set(&err, ERROR_OUTPUT, ETIMEDOUT, NULL, "the run's files were not collected in time");
        complain(run, &err);
        begin_destroy(run);
}

static void on_destroy_late(struct run *run)
{
        run->phase = PHASE_GONE;
}

static void on_drain_late(struct run *run)
{
        on_output_end(run, NULL);
}

static void (*const late_handlers[PHASE_COUNT_])(struct run *run) = {
    [PHASE_CREATING] = on_setup_late,
    [PHASE_STARTING] = on_setup_late,
    [PHASE_RUNNING] = on_timeout,
    [PHASE_KILLING] = on_kill_late,
    [PHASE_DRAINING] = on_drain_late,
    [PHASE_COLLECTING] = on_collect_late,
    [PHASE_DESTROYING] = on_destroy_late,
};

static void check_deadlines(struct run *run)
{
        if (run->phase == PHASE_GONE)
                return;
        uint64_t now = clock_now();
        if (now >= run->phase_deadline)
                late_handlers[run->phase](run);
        else if (run->phase == PHASE_RUNNING && now >= monitor_next(&run->monitor))
                look_while_running(run);
}

/* ---- The loop ---- */

/* Returns whether the backend may have something to tell. `more`: it is known to, so there is no waiting. */
static bool wait_for_something(struct run *run, bool more)
{
        struct pollfd fds[2] = {
            {.fd = run->managed.ops->fd(run->managed.container), .events = POLLIN},
            {.fd = run->cancel_fd, .events = POLLIN},
        };
        uint64_t until = run->phase_deadline;
        if (run->phase == PHASE_RUNNING)
                until = MIN(until, monitor_next(&run->monitor));
        uint64_t now = clock_now();
        uint64_t left = until > now && !more ? until - now : 0;
        struct timespec patience = {
            .tv_sec = (time_t)(left / NSEC_PER_SEC), .tv_nsec = (long)(left % NSEC_PER_SEC)};
        if (ppoll(fds, ARRAY_SIZE(fds), &patience, NULL) <= 0)
                return more; /* time, or a signal handler of the caller's ran */
        if (fds[1].revents != 0) {
                run->cancel_fd = -1;
                cancel(run);
        }
        return more || fds[0].revents != 0;
}

/* Returns whether there may be more. */
static bool take_events(struct run *run)
{
        for (unsigned i = 0; i < EVENTS_PER_LOOK && run->phase != PHASE_GONE; i++) {
                struct container_event event = {};
                _cleanup_(error_clear) struct error err = {};
                int r = run->managed.ops->next(run->managed.container, &event, &err);
                if (r < 0) {
                        if (run->phase == PHASE_DESTROYING)
                                run->phase = PHASE_GONE;
                        else
                                fail(run, &err);
                        return false;
                }
                if (event.type == CONTAINER_NOTHING)
                        return false;
                if ((size_t)event.type < ARRAY_SIZE(handlers) && handlers[event.type])
                        handlers[event.type](run, &event);
                check_deadlines(run);
        }
        return true;
}

static void conclude(struct run *run)
{
        struct result *result = run->result;
        if (result->violation.kind == VIOLATION_MEMORY && result->usage.memory_peak_bytes != NOT_MEASURED) {
                result->violation.has_observed = true;
                result->violation.observed = (double)result->usage.memory_peak_bytes;
        }
        if (run->exited && WIFEXITED(run->wait_status)) {
                result->has_exit_code = true;
                result->exit_code = WEXITSTATUS(run->wait_status);
        } else if (run->exited && WIFSIGNALED(run->wait_status)) {
                result->signal = WTERMSIG(run->wait_status);
        }
        result->timing.run = result->wall;

        if (run->cancelled)
                result->status = RUN_CANCELLED;
        else if (result->violation.kind != VIOLATION_NONE)
                result->status = RUN_LIMIT;
        else if (run->failed || !run->exited)
                result->status = RUN_ERROR;
        else
                result->status = result->has_exit_code && result->exit_code == 0 ? RUN_OK : RUN_FAILED;
        /* One cause, one word: a run that somebody cut short broke no limit. */
        if (run->cancelled) {
                result->ended_by = "client";
                result->violation = (struct violation){};
        }
}

static int check_available(const struct container_spec *spec, struct error *err)
{
        if (spec->network == NETWORK_NONE)
                return 0;
        return error_set(err, ERROR_UNENFORCED, 0, "set network_mode: \"none\"",
            "network_mode: \"dependencies\" is not available: this build has no dependency gateway");
}

static void run_container(struct run *run)
{
        struct result *result = run->result;
        (void)snprintf(
            result->container_id, sizeof result->container_id, "%s", ledger_entry_id(run->managed.entry));
        enter(run, PHASE_CREATING, SETUP_DEADLINE);
        tell_phase(run, "creating");
        bool more = false;
        while (run->phase != PHASE_GONE) {
                if (wait_for_something(run, more))
                        more = take_events(run);
                check_deadlines(run);
        }
        result->timing.destroy = nsec_to_sec(clock_now() - run->phase_since);
        result->has_cleanup = true;
        if (!run->destroyed && !result->leftover)
                result->leftover =
                    strdup("teardown did not end within 1 s; `mai-sandbox prune` finishes it");
        container_manager_release(run->manager, &run->managed, result->cleanup_complete);
}

void executor_run(struct container_manager *manager, struct container_spec *spec,
    const struct execution_request *request, const struct execution_listener *listener,
    struct result *result)
{
        result->spec = *spec;
        *spec = (struct container_spec){};
        result->has_spec = true;
        struct run run = {
            .manager = manager,
            .request = request,
            .listener = listener,
            .result = result,
            .spec = &result->spec,
            .cancel_fd = request->cancel_fd,
        };
        for (size_t i = 0; i < ARRAY_SIZE(run.streams); i++) {
                run.streams[i].limit = result->spec.limits.output_limit;
                result->output[i].max = (size_t)result->spec.limits.output_limit;
        }

        tell_phase(&run, "queued");
        if (!run.cancelled && check_available(&result->spec, &result->error) >= 0) {
                uint64_t asked_at = clock_now();
                double waited = 0;
                int r = container_manager_create(
                    manager, &result->spec, request->cancel_fd, &run.managed, &waited, &result->error);
                run.created_at = asked_at + (uint64_t)(waited * 1e9);
                result->timing.queue = waited;
                if (r >= 0)
                        run_container(&run);
                else
                        run.cancelled = result->error.code == ERROR_CANCELLED;
        }
        conclude(&run);
        run.phase = PHASE_GONE;
        tell_phase(&run, "done");
        free(run.environment);
}
