/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/run.h"

#include "sandbox/collect.h"
#include "util/clock.h"

#define KILL_DEADLINE (500 * NSEC_PER_MSEC)
#define COLLECT_DEADLINE (30 * NSEC_PER_SEC)

/* Readings of the usage that may fail in a row before the run is ended: cpu_time would not be enforced. */
#define FAILED_LOOKS_MAX 3U

/* ---- Time, and telling the listener ---- */

double run_seconds(const struct run *run, uint64_t now)
{
        return run->started_at > 0 ? nsec_to_sec(now - run->started_at) : -1;
}

void run_enter(struct run *run, enum phase phase, uint64_t patience)
{
        uint64_t now = clock_now();
        run->phase = phase;
        run->phase_since = now;
        run->phase_deadline = patience < UINT64_MAX - now ? now + patience : UINT64_MAX;
}

void run_tell_phase(struct run *run, const char *name)
{
        const struct execution_listener *listener = run->listener;
        if (listener && listener->phase &&
            listener->phase(run_seconds(run, clock_now()), name, listener->user) != 0)
                run_cancel(run);
}

void run_fail_oom(struct run *run)
{
        struct error err = {};
        (void)error_oom(&err);
        run_fail(run, &err);
}

void run_note(struct run *run, const struct event_note *what)
{
        const struct run_event *news;
        if (events_note(run->result, run_seconds(run, clock_now()), what, &news) < 0) {
                run_fail_oom(run);
                return;
        }
        const struct execution_listener *listener = run->listener;
        if (news && listener && listener->notice && listener->notice(news, listener->user) != 0)
                run_cancel(run);
}

/* ---- Ending a run ---- */

static void kill_program(struct run *run)
{
        if (run->phase != PHASE_RUNNING)
                return;
        (void)run->managed.ops->kill(run->managed.container, KILL_MSEC);
        run_enter(run, PHASE_KILLING, KILL_DEADLINE);
}

/* Records what ended the run, unless something of higher precedence did, and ends it. */
void run_violate(struct run *run, const struct violation *violation)
{
        struct violation *known = &run->result->violation;
        if (known->kind == VIOLATION_NONE || violation->kind < known->kind)
                *known = *violation;
        kill_program(run);
}

void run_cancel(struct run *run)
{
        switch (run->phase) {
        case PHASE_WAITING:
        case PHASE_CREATING:
        case PHASE_STARTING:
                run->cancelled = true;
                (void)error_set(
                    &run->result->error, ERROR_CANCELLED, 0, NULL, "cancelled before the program started");
                run_begin_destroy(run);
                break;
        case PHASE_RUNNING:
                run->cancelled = true;
                kill_program(run);
                break;
        case PHASE_COLLECTING:
                run->cancelled = true;
                run_begin_destroy(run);
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
void run_fail(struct run *run, struct error *err)
{
        if (err->code == ERROR_NONE)
                (void)error_set(err, ERROR_INTERNAL, 0, NULL, "the backend failed without saying why");
        if (run->result->error.code == ERROR_NONE)
                error_move(&run->result->error, err);
        else
                error_clear(err);
        run->failed = true;
        run_begin_destroy(run);
}

/* Something failed that leaves the program's own outcome as it is. */
void run_complain(struct run *run, struct error *err)
{
        if (run->result->error.code == ERROR_NONE)
                error_move(&run->result->error, err);
        else
                error_clear(err);
}

void run_release_gate(struct run *run)
{
        struct error err = {};
        if (run->managed.ops->release_gate(run->managed.container, &err) < 0)
                run_fail(run, &err);
        run->released_at = clock_now();
}

/* ---- Usage ---- */

static void note_full_disk(struct run *run, const struct usage *usage)
{
        /* Less than a block: nothing more fits. */
        if (usage->disk_free_bytes < 4096)
                run_note(run, &(struct event_note){.kind = "disk_full",
                                  .detail_key = "resource",
                                  .detail = "bytes",
                                  .detail_size = 5,
                                  .count = 1,
                                  .so_far = true});
        if (usage->inodes_free == 0)
                run_note(run, &(struct event_note){.kind = "disk_full",
                                  .detail_key = "resource",
                                  .detail = "inodes",
                                  .detail_size = 6,
                                  .count = 1,
                                  .so_far = true});
}

int run_look(struct run *run)
{
        struct usage usage;
        memset(&usage, 0xff, sizeof usage);
        int r = run->managed.ops->sample(run->managed.container, &usage);
        if (r < 0)
                return r;
        run->result->usage = usage;
        run->result->has_usage = true;
        note_full_disk(run, &usage);
        return 0;
}

void run_check_cpu_time(struct run *run)
{
        const struct usage *usage = &run->result->usage;
        double limit = run->spec->limits.cpu_time;
        if (usage->cpu_nsec != NOT_MEASURED && nsec_to_sec(usage->cpu_nsec) >= limit)
                run_violate(run, &(struct violation){.kind = VIOLATION_CPU_TIME,
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
                run_fail(run, &err);
        }
}

void run_look_in_between(struct run *run)
{
        int looked = run_look(run);
        bool read = looked >= 0;
        uint64_t now = clock_now();
        struct usage unknown;
        memset(&unknown, 0xff, sizeof unknown);
        const struct usage *usage = read ? &run->result->usage : &unknown;

        struct run_sample sample;
        double cpu_percent;
        int r = monitor_look(&run->monitor, usage, now, run->result, &sample, &cpu_percent);
        if (r < 0) {
                run_fail_oom(run);
                return;
        }
        const struct execution_listener *listener = run->listener;
        if (r > 0 && read && listener && listener->sample &&
            listener->sample(&sample, cpu_percent, listener->user) != 0)
                run_cancel(run);
        if (read)
                run_check_cpu_time(run);
        if (run->phase == PHASE_RUNNING && looked != -EAGAIN)
                check_watched(run, read && usage->cpu_nsec != NOT_MEASURED);
}

/* The final figures, before anything of the container goes. */
static void look_at_end(struct run *run)
{
        if (run->looked_at_end || run->started_at == 0)
                return;
        run->looked_at_end = true;
        (void)run_look(run);
        run->result->wall = nsec_to_sec((run->ended_at > 0 ? run->ended_at : clock_now()) - run->started_at);
        run->result->has_usage = true;
}

/* ---- From phase to phase ---- */

void run_begin_destroy(struct run *run)
{
        if (run->phase == PHASE_WAITING || run->phase >= PHASE_DESTROYING)
                return;
        if (run->phase == PHASE_COLLECTING)
                run->result->timing.collect = nsec_to_sec(clock_now() - run->phase_since);
        uint64_t patience = run->managed.ops->destroy_msec * NSEC_PER_MSEC;
        run_enter(run, PHASE_DESTROYING, patience); /* first: what follows may come back here */
        if (run->managed.ops->dismiss)
                run->managed.ops->dismiss(run->managed.container);
        look_at_end(run);
        run->phase_since = clock_now();
        run->phase_deadline = run->phase_since + patience;
        if (run->managed.ops->destroy(run->managed.container) < 0)
                run->phase = PHASE_GONE;
}

void run_after_drain(struct run *run)
{
        look_at_end(run);
        if (run->phase != PHASE_DRAINING)
                return;
        if (!run->request->collect_files || run->cancelled || run->failed) {
                run_begin_destroy(run);
                return;
        }
        run_enter(run, PHASE_COLLECTING, COLLECT_DEADLINE);
        run_tell_phase(run, "collecting");
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
                (void)error_set(&err, ERROR_OUTPUT, r == -ESRCH ? 0 : -r, NULL,
                    r == -ESRCH ? "the run's files are lost: the container had to be killed as a whole"
                                : "the run's files can't be collected");
                run_complain(run, &err);
                run_begin_destroy(run);
        }
}
