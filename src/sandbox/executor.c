/* SPDX-License-Identifier: Apache-2.0 */
/* What each event of the backend and each deadline means for a run, and the loop that waits for them. */
#include "sandbox/run.h"

#include "sandbox/collect.h"
#include "sandbox/environment.h"
#include "sandbox/text.h"
#include "util/clock.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define SETUP_DEADLINE (60 * NSEC_PER_SEC)
#define DRAIN_DEADLINE (500 * NSEC_PER_MSEC)

/* Deadlines and cancellation are looked at between as many events at least. */
#define EVENTS_PER_LOOK 32

/* Denied calls that only fail are events; so many are an attack on whoever counts them. */
#define DENIED_CALLS_MAX 10000U

/* ---- The backend's events ---- */

/* Ours; over it what leads to the gateway; over it the policy's and the request's. */
static const char **merge_environment(const struct run *run)
{
        _cleanup_(freep) const char **ours =
            environment_merge(run->request->environment, (const char *const *)run->network.environment);
        return ours ? environment_merge(ours, (const char *const *)run->spec->environment) : NULL;
}

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
                        run_fail(run, &err);
                        return;
                }
        }
        run->environment = merge_environment(run);
        if (!run->environment) {
                run_fail_oom(run);
                return;
        }
        const struct exec_spec exec = {
            .argv = request->argv, .environment = run->environment, .stdin_fd = request->stdin_fd};
        if (ops->execute(run->managed.container, &exec, &err) < 0)
                run_fail(run, &err);
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
                run_fail(run, &err);
                return;
        }
        uint64_t left = run->phase_deadline > run->gate_at ? run->phase_deadline - run->gate_at : 0;
        run_enter(run, PHASE_STARTING, left);
        if (run_network_delays_gate(run))
                return;
        run_release_gate(run);
}

static void on_started(struct run *run, struct container_event *event)
{
        if (run->phase != PHASE_STARTING)
                return;
        double timeout = MIN(run->spec->limits.timeout, 1e9);
        run_enter(run, PHASE_RUNNING, 0);
        /* The word of it may be late, since the program and the init share a CPU; the opening of the gate
         * was not. */
        run->started_at = run->released_at;
        run->phase_deadline = run->started_at + (uint64_t)(timeout * 1e9);
        run->result->timing.start = nsec_to_sec(run->started_at - run->gate_at);
        monitor_start(&run->monitor, run->spec, run->started_at);
        run_tell_phase(run, "running");
}

static void on_exec_failed(struct run *run, struct container_event *event)
{
        if (run->phase > PHASE_STARTING)
                return;
        _cleanup_(error_clear) struct error err = {};
        const char *command = run->request->argv[0];
        char escaped[256];
        (void)error_set(&err, ERROR_NOT_FOUND, event->errnum,
            strcmp(command, "python3") == 0
                ? "use an image with Python, or `mai-sandbox exec` for another command"
                : "give a command of the image, by its path or by a name in PATH",
            "\"%s\" could not be executed in image %s",
            text_escape(command, strlen(command), escaped, sizeof escaped),
            run->spec->image ? run->spec->image : "?");
        run->result->command_error = true;
        run_fail(run, &err);
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
                run_fail_oom(run);
                return 0;
        }
        const struct execution_listener *listener = run->listener;
        if (listener && listener->output &&
            listener->output(run_seconds(run, clock_now()), target->stream, data, size, listener->user) != 0)
                run_cancel(run);
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
        run_violate(run, &violation);
}

static void on_output_end(struct run *run, struct container_event *event)
{
        for (enum output_stream stream = STREAM_STDOUT; stream <= STREAM_STDERR; stream++) {
                struct output_target target = {.run = run, .stream = stream};
                (void)stream_end(&run->streams[stream], pass_output, &target);
        }
        run->drained = true;
        if (run->phase == PHASE_DRAINING)
                run_after_drain(run);
}

static void on_oom(struct run *run, struct container_event *event)
{
        if (event->count.count == 0)
                return;
        /* The peak is known at the end. The kernel killed: that the program may have ended since changes
         * nothing. */
        run_violate(run,
            &(struct violation){
                .kind = VIOLATION_MEMORY, .has_limit = true, .limit = (double)run->spec->limits.mem_limit});
}

static void on_pids_refused(struct run *run, struct container_event *event)
{
        run_note(
            run, &(struct event_note){.kind = "pids_refused", .count = event->count.count, .so_far = true});
}

static void on_syscall_denied(struct run *run, struct container_event *event)
{
        const char *name = event->count.name ? event->count.name : "unknown";
        run_note(run, &(struct event_note){.kind = "syscall_denied",
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
        run_violate(run, &violation);
}

static void on_exited(struct run *run, struct container_event *event)
{
        if (run->exited || run->phase < PHASE_RUNNING || run->phase > PHASE_KILLING)
                return;
        bool by_us = run->phase == PHASE_KILLING;
        run->exited = true;
        run->wait_status = event->exited.wait_status;
        run->result->processes_killed = event->exited.killed;
        run_enter(run, PHASE_DRAINING, DRAIN_DEADLINE);
        run->ended_at = run->phase_since;
        /* What it left running goes too, so that nobody holds the pipes or writes while files are collected.
         */
        if (!by_us)
                (void)run->managed.ops->kill(run->managed.container, KILL_MSEC);
        if (!by_us && WIFSIGNALED(run->wait_status) && WTERMSIG(run->wait_status) == SIGSYS &&
            run->spec->seccomp != SECCOMP_UNCONFINED)
                run_violate(run, &(struct violation){.kind = VIOLATION_SYSCALL});
        if (run->drained)
                run_after_drain(run);
}

static void on_file(struct run *run, struct container_event *event)
{
        if (run->phase != PHASE_COLLECTING)
                return;
        _cleanup_(error_clear) struct error err = {};
        if (collect_file(run->result, run->request, event, &err) >= 0)
                return;
        if (err.code != ERROR_OUTPUT) {
                run_fail(run, &err);
                return;
        }
        run_complain(run, &err);
        run_note(run, &(struct event_note){.kind = "output_failed",
                          .detail_key = "path",
                          .detail = event->file.path,
                          .detail_size = event->file.path_size,
                          .count = 1});
}

static void on_file_skipped(struct run *run, struct container_event *event)
{
        run_note(run, &(struct event_note){.kind = "file_skipped",
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
                run_note(run, &(struct event_note){.kind = "file_skipped",
                                  .reason = "not_named",
                                  .count = event->collected.skipped - named});
        run_begin_destroy(run);
}

static void on_destroyed(struct run *run, struct container_event *event)
{
        struct result *result = run->result;
        result->cleanup_complete = event->destroyed.complete;
        result->processes_killed += event->destroyed.processes_killed;
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
                run_fail(run, &err);
                return;
        }
        /* The program's outcome is known: only its files may be missing. */
        if (run->phase == PHASE_COLLECTING)
                run_complain(run, &err);
        error_clear(&err);
        run_begin_destroy(run);
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
    [CONTAINER_SOCKET] = run_network_on_socket,
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
        run_fail(run, &err);
}

static void on_timeout(struct run *run)
{
        uint64_t now = clock_now();
        double limit = run->spec->limits.timeout;
        run_violate(run, &(struct violation){.kind = VIOLATION_TIMEOUT,
                             .has_limit = true,
                             .limit = limit,
                             .has_observed = true,
                             .observed = run_seconds(run, now)});
        /* Both clocks may have run out at once, and CPU time goes first. */
        if (run_look(run) >= 0)
                run_check_cpu_time(run);
}

static void on_kill_late(struct run *run)
{
        run->ended_at = clock_now();
        if (run->result->violation.kind == VIOLATION_NONE && !run->cancelled) {
                struct error err = {};
                (void)error_set(&err, ERROR_BACKEND, ETIMEDOUT, NULL,
                    "the backend did not confirm that the program is dead");
                run_fail(run, &err);
                return;
        }
        run_begin_destroy(run);
}

static void on_collect_late(struct run *run)
{
        struct error err = {};
        (void)error_set(&err, ERROR_OUTPUT, ETIMEDOUT, NULL, "the run's files were not collected in time");
        run_complain(run, &err);
        run_begin_destroy(run);
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
                run_look_in_between(run);
}

/* ---- The loop ---- */

/* Returns whether the backend may have something to tell. `more`: it is known to, so there is no waiting. */
static bool wait_for_something(struct run *run, bool more)
{
        struct pollfd fds[3] = {
            {.fd = run->managed.ops->fd(run->managed.container), .events = POLLIN},
            {.fd = run->cancel_fd, .events = POLLIN},
            {.fd = run_network_fd(run), .events = POLLIN},
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
                run_cancel(run);
        }
        if (fds[2].revents != 0)
                run_network_take_events(run);
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
                                run_fail(run, &err);
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

/* What can be seen to be missing before anything is made. */
static int check_available(const struct container_spec *spec, struct error *err)
{
        return spec->network == NETWORK_NONE ? 0 : gateway_check(err);
}

static void run_container(struct run *run)
{
        struct result *result = run->result;
        (void)snprintf(
            result->container_id, sizeof result->container_id, "%s", ledger_entry_id(run->managed.entry));
        run_enter(run, PHASE_CREATING, SETUP_DEADLINE);
        run_tell_phase(run, "creating");
        run_network_start(run);
        if (run->managed.was_ready)
                on_created(run, NULL);
        bool more = run->managed.was_ready;
        while (run->phase != PHASE_GONE) {
                if (wait_for_something(run, more))
                        more = take_events(run);
                check_deadlines(run);
        }
        result->timing.destroy = nsec_to_sec(clock_now() - run->phase_since);
        result->has_cleanup = true;
        if (!run->destroyed && !result->leftover)
                result->leftover = strdup("teardown did not end in time; `mai-sandbox prune` finishes it");
        container_manager_release(run->manager, &run->managed, result->cleanup_complete);
        run_network_finish(run);
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

        run_tell_phase(&run, "queued");
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
        run_tell_phase(&run, "done");
        free(run.environment);
}
