/* SPDX-License-Identifier: Apache-2.0 */
/* The executor over a scripted backend: every way for a run to end, and what is told of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake-backend.h"

#include "util/clock.h"

#include <signal.h>
#include <sys/eventfd.h>

#define EXITED(status)                                                                                      \
        {                                                                                                   \
                .type = CONTAINER_EXITED, .exited = {.wait_status = (status) }                              \
        }
#define OUTPUT(which, text)                                                                                 \
        {                                                                                                   \
                .type = CONTAINER_OUTPUT, .output = {                                                       \
                        .stream = (which),                                                                  \
                        .data = (text),                                                                     \
                        .size = sizeof(text) - 1                                                            \
                }                                                                                           \
        }
#define CREATED                                                                                             \
        {                                                                                                   \
                .event = {.type = CONTAINER_CREATED }                                                       \
        }
#define GATE                                                                                                \
        {                                                                                                   \
                .cue = CUE_EXECUTE, .event = {.type = CONTAINER_AT_GATE }                                   \
        }
#define STARTED                                                                                             \
        {                                                                                                   \
                .cue = CUE_RELEASE, .event = {.type = CONTAINER_STARTED }                                   \
        }
#define BEGIN CREATED, GATE, STARTED
#define OUTPUT_END                                                                                          \
        {                                                                                                   \
                .event = {.type = CONTAINER_OUTPUT_END }                                                    \
        }
#define EXIT(status) {.event = EXITED(status)}, OUTPUT_END
#define WHEN_KILLED {.cue = CUE_KILL, .event = EXITED(SIGKILL)}, OUTPUT_END
#define SCRIPT(...)                                                                                         \
        {                                                                                                   \
                .steps = (const struct step[]){__VA_ARGS__},                                                \
                .count = sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step),                  \
                .usage = {.memory_bytes = 1000,                                                             \
                    .memory_peak_bytes = 70000,                                                             \
                    .pids = 1,                                                                              \
                    .pids_peak = 2,                                                                         \
                    .disk_bytes = 10,                                                                       \
                    .disk_free_bytes = 1U << 20,                                                            \
                    .inodes_free = 100},                                                                    \
        }

static const char *const argv_default[] = {"/usr/bin/python3", "main.py", NULL};

struct heard {
        char phases[128];
        unsigned outputs, samples, notices;
        double max_percent;
        const char *cancel_at; /* phase */
        bool cancel_on_output;
};

static int hear_output(double t, enum output_stream stream, const char *data, size_t size, void *user)
{
        struct heard *heard = user;
        heard->outputs++;
        return heard->cancel_on_output;
}

static int hear_phase(double t, const char *phase, void *user)
{
        struct heard *heard = user;
        size_t used = strlen(heard->phases);
        (void)snprintf(heard->phases + used, sizeof heard->phases - used, "%s ", phase);
        return heard->cancel_at && strcmp(heard->cancel_at, phase) == 0;
}

static int hear_sample(const struct run_sample *sample, double cpu_percent, void *user)
{
        struct heard *heard = user;
        heard->samples++;
        heard->max_percent = MAX(heard->max_percent, cpu_percent);
        return 0;
}

static int hear_notice(const struct run_event *event, void *user)
{
        struct heard *heard = user;
        heard->notices++;
        return 0;
}

static struct result *play_all(
    struct script *script, struct container_spec spec, struct execution_request request, struct heard *heard)
{
        struct container_manager manager = {.script = script};
        const struct execution_listener listener = {.output = hear_output,
            .phase = hear_phase,
            .sample = hear_sample,
            .notice = hear_notice,
            .user = heard};
        struct result *result = result_new();
        assert_non_null(result);
        request.argv = request.argv ? request.argv : argv_default;
        executor_run(&manager, &spec, &request, heard ? &listener : NULL, result);
        assert_null(spec.trust_level);
        return result;
}

static const struct execution_request plain = {
    .stdin_fd = -1, .keep_output = true, .output_dirfd = -1, .cancel_fd = -1};

static struct result *play(struct script *script)
{
        return play_all(script, fake_spec(), plain, NULL);
}

static void assert_ends(
    struct result *result, enum run_status status, enum violation_kind kind, int exit_status)
{
        if (result->status != status || result->violation.kind != kind)
                print_error("status %s, violation %s, error %s\n", run_status_name(result->status),
                    violation_kind_name(result->violation.kind), result->error.message);
        assert_int_equal(result->status, status);
        assert_int_equal(result->violation.kind, kind);
        assert_int_equal(result_exit_status(result), exit_status);
        assert_non_null(result_json(result));
}

static void an_ordinary_run(void **state)
{
        struct script script = SCRIPT(BEGIN, {.event = OUTPUT(STREAM_STDOUT, "out")},
            {.event = OUTPUT(STREAM_STDERR, "err")}, EXIT(0));
        script.cpus = 0.5;
        struct heard heard = {};
        struct execution_request request = plain;
        request.environment = (const char *const[]){"A=1", "B=2", NULL};
        struct container_spec spec = fake_spec();
        spec.environment = calloc(2, sizeof *spec.environment);
        spec.environment[0] = strdup("A=policy");
        struct result *result = play_all(&script, spec, request, &heard);
        assert_ends(result, RUN_OK, VIOLATION_NONE, 0);
        assert_string_equal(strbuf_text(&result->output[STREAM_STDOUT]), "out");
        assert_string_equal(strbuf_text(&result->output[STREAM_STDERR]), "err");
        assert_string_equal(heard.phases, "queued creating running done ");
        assert_string_equal(script.environment, "A=policy\nB=2\n");
        assert_int_equal(script.samples, 1); /* a short run is looked at once, at its end */
        assert_int_equal(script.kills, 1);   /* whatever it left behind */
        assert_int_equal(script.destroys, 1);
        assert_int_equal(script.frees, 1);
        assert_int_equal(script.collects, 0);
        assert_true(script.released_complete && result->cleanup_complete && result->has_evidence);
        assert_true(result->has_exit_code && result->timing.queue == 0.25 && result->wall > 0);
        result_free(result);
}

static void programs_that_fail(void **state)
{
        struct script exits = SCRIPT(BEGIN, EXIT(3 << 8));
        struct result *result = play(&exits);
        assert_ends(result, RUN_FAILED, VIOLATION_NONE, 3);
        result_free(result);

        struct script crashes = SCRIPT(BEGIN, EXIT(SIGSEGV));
        result = play(&crashes);
        assert_ends(result, RUN_FAILED, VIOLATION_NONE, 128 + SIGSEGV);
        assert_false(result->has_exit_code);
        assert_non_null(strstr(result_json(result), "\"exit_code\":null,\"signal\":\"SIGSEGV\""));
        result_free(result);
}

static void time_runs_out(void **state)
{
        struct script script = SCRIPT(BEGIN, {.event = OUTPUT(STREAM_STDOUT, "a")},
            {.delay_msec = 60000, .event = EXITED(0)}, WHEN_KILLED);
        struct container_spec spec = fake_spec();
        spec.limits.timeout = 0.25;
        struct heard heard = {};
        uint64_t begin = clock_now();
        struct result *result = play_all(&script, spec, plain, &heard);
        uint64_t took = clock_now() - begin;
        assert_ends(result, RUN_LIMIT, VIOLATION_TIMEOUT, 124);
        assert_true(took >= 250 * NSEC_PER_MSEC && took < 550 * NSEC_PER_MSEC);
        assert_true(result->violation.limit == 0.25 && result->violation.observed >= 0.25);
        assert_string_equal(strbuf_text(&result->output[STREAM_STDOUT]), "a");
        assert_int_equal(result->signal, SIGKILL);
        assert_in_range(result->sample_count, 1, 2);
        assert_in_range(heard.samples, 1, 2);
        assert_int_equal(script.kills, 1);
        result_free(result);
}

static void a_flood_does_not_hold_up_the_clock(void **state)
{
        struct script script =
            SCRIPT(BEGIN, {.repeat = UINT32_MAX, .event = OUTPUT(STREAM_STDERR, "")}, WHEN_KILLED);
        struct container_spec spec = fake_spec();
        spec.limits.timeout = 0.1;
        uint64_t begin = clock_now();
        struct result *result = play_all(&script, spec, plain, NULL);
        assert_true(clock_now() - begin < 500 * NSEC_PER_MSEC);
        assert_ends(result, RUN_LIMIT, VIOLATION_TIMEOUT, 124);
        result_free(result);
}

static void cpu_time_runs_out(void **state)
{
        struct script script = SCRIPT(BEGIN, {.delay_msec = 60000, .event = EXITED(0)}, WHEN_KILLED);
        script.cpus = 2;
        struct container_spec spec = fake_spec();
        spec.limits.cpu_time = 0.2;
        spec.monitoring_interval = 10; /* caught between samples */
        uint64_t begin = clock_now();
        struct result *result = play_all(&script, spec, plain, NULL);
        assert_true(clock_now() - begin < 500 * NSEC_PER_MSEC);
        assert_ends(result, RUN_LIMIT, VIOLATION_CPU_TIME, 137);
        assert_true(result->violation.observed >= 0.2 && result->violation.observed < 0.6);
        assert_int_equal(result->sample_count, 0);
        assert_true(script.samples < 12);
        result_free(result);
}

static void cpu_time_goes_before_wall_time(void **state)
{
        struct script script = SCRIPT(BEGIN, {.delay_msec = 60000, .event = EXITED(0)}, WHEN_KILLED);
        script.cpus = 0.0;
        script.usage.cpu_nsec = 0;
        struct container_spec spec = fake_spec();
        spec.limits.timeout = 0.1;
        spec.limits.cpu_time = 0.1;
        spec.monitoring_interval = 10;
        script.cpus = 1.05; /* the first look is at 50 ms, the next would be just after the timeout */
        struct result *result = play_all(&script, spec, plain, NULL);
        assert_ends(result, RUN_LIMIT, VIOLATION_CPU_TIME, 137);
        result_free(result);
}

static void unreadable_cpu_time_ends_the_run(void **state)
{
        struct script script = SCRIPT(BEGIN, {.delay_msec = 60000, .event = EXITED(0)}, WHEN_KILLED);
        script.sample_status = -EIO;
        struct container_spec spec = fake_spec();
        spec.monitoring_interval = 0.02;
        struct result *result = play_all(&script, spec, plain, NULL);
        assert_ends(result, RUN_ERROR, VIOLATION_NONE, 125);
        assert_int_equal(result->error.code, ERROR_UNENFORCED);
        result_free(result);
}

static void output_is_cut_between_characters(void **state)
{
        struct script script = SCRIPT(BEGIN, {.event = OUTPUT(STREAM_STDERR, "kept")},
            {.repeat = 20, .event = OUTPUT(STREAM_STDOUT, "1234567\xc3")},
            {.repeat = UINT32_MAX, .event = OUTPUT(STREAM_STDOUT, "\xe2\x82\xac")}, WHEN_KILLED);
        struct result *result = play(&script);
        assert_ends(result, RUN_LIMIT, VIOLATION_OUTPUT, 137);
        assert_string_equal(result->violation.detail, "stdout");
        assert_true(result->output_truncated[STREAM_STDOUT] && !result->output_truncated[STREAM_STDERR]);
        assert_int_equal(result->violation.limit, 100);
        assert_true(result->violation.observed > 100);
        assert_int_equal(script.discards[STREAM_STDOUT], 1);
        assert_string_equal(strbuf_text(&result->output[STREAM_STDERR]), "kept");
        result_free(result);

        struct script euros =
            SCRIPT(BEGIN, {.repeat = 1000, .event = OUTPUT(STREAM_STDOUT, "\xe2\x82\xac")}, WHEN_KILLED);
        result = play(&euros);
        assert_int_equal(result->output[STREAM_STDOUT].size, 99);
        assert_non_null(
            strstr(result_json(result), "\"stdout_encoding\":\"utf-8\",\"stdout_truncated\":true"));
        result_free(result);

        /* Exactly the limit is no violation. */
        struct script exact =
            SCRIPT(BEGIN, {.repeat = 9, .event = OUTPUT(STREAM_STDOUT, "0123456789")}, EXIT(0));
        result = play(&exact);
        assert_ends(result, RUN_OK, VIOLATION_NONE, 0);
        assert_int_equal(result->output[STREAM_STDOUT].size, 100);
        result_free(result);

        /* The verdict does not depend on which is seen first, the end or the surplus. */
        struct script late = SCRIPT(BEGIN, {.event = EXITED(0)},
            {.repeat = 10, .event = OUTPUT(STREAM_STDOUT, "0123456789")}, OUTPUT_END);
        result = play(&late);
        assert_ends(result, RUN_LIMIT, VIOLATION_OUTPUT, 137);
        assert_true(result->has_exit_code);
        result_free(result);
}

static void out_of_memory(void **state)
{
        struct script script = SCRIPT(BEGIN, {.event = {.type = CONTAINER_OOM, .count = {.count = 1}}},
            {.delay_msec = 60000, .event = EXITED(0)}, WHEN_KILLED);
        struct result *result = play(&script);
        assert_ends(result, RUN_LIMIT, VIOLATION_MEMORY, 137);
        assert_int_equal(result->violation.limit, 64U << 20);
        assert_int_equal(result->violation.observed, 70000);
        result_free(result);

        /* A child was killed, and the program ended well before we heard of it. */
        struct script late = SCRIPT(BEGIN, {.event = EXITED(0)},
            {.event = {.type = CONTAINER_OOM, .count = {.count = 1}}}, OUTPUT_END);
        result = play(&late);
        assert_ends(result, RUN_LIMIT, VIOLATION_MEMORY, 137);
        result_free(result);
}

static void precedence(void **state)
{
        /* Time runs out; while the program dies the kernel reports what else happened. */
        struct script script = SCRIPT(BEGIN, {.delay_msec = 60000, .event = EXITED(0)},
            {.cue = CUE_KILL,
                .event = OUTPUT(STREAM_STDERR, "012345678901234567890123456789012345678901234567890123456789"
                                               "0123456789012345678901234567890123456789+")},
            {.event = {.type = CONTAINER_OOM, .count = {.count = 1}}}, {.event = EXITED(SIGKILL)},
            OUTPUT_END);
        struct container_spec spec = fake_spec();
        spec.limits.timeout = 0.05;
        struct result *result = play_all(&script, spec, plain, NULL);
        assert_ends(result, RUN_LIMIT, VIOLATION_MEMORY, 137);
        result_free(result);
}

static void refusals_are_events(void **state)
{
        struct script script =
            SCRIPT(BEGIN, {.event = {.type = CONTAINER_PIDS_REFUSED, .count = {.count = 3}}},
                {.event = {.type = CONTAINER_SYSCALL_DENIED, .count = {.name = "mount", .count = 1}}},
                {.event = {.type = CONTAINER_SYSCALL_DENIED, .count = {.name = "bpf", .count = 1}}},
                {.event = {.type = CONTAINER_SYSCALL_DENIED, .count = {.name = "mount", .count = 5}}},
                {.event = {.type = CONTAINER_PIDS_REFUSED, .count = {.count = 7}}}, EXIT(0));
        script.usage.disk_free_bytes = 0;
        struct heard heard = {};
        struct result *result = play_all(&script, fake_spec(), plain, &heard);
        assert_ends(result, RUN_OK, VIOLATION_NONE, 0);
        assert_int_equal(result->event_count, 4);
        assert_string_equal(result->events[0].kind, "pids_refused");
        assert_int_equal(result->events[0].count, 7);
        assert_string_equal(result->events[1].detail, "mount");
        assert_int_equal(result->events[1].count, 5);
        assert_int_equal(result->events[1].seq, 2);
        assert_string_equal(result->events[3].kind, "disk_full");
        assert_string_equal(result->events[3].detail, "bytes");
        assert_int_equal(heard.notices, 6);
        result_free(result);
}

static void system_calls(void **state)
{
        struct script flood = SCRIPT(BEGIN,
            {.event = {.type = CONTAINER_SYSCALL_DENIED, .count = {.name = "bpf", .count = 6000}}},
            {.event = {.type = CONTAINER_SYSCALL_DENIED, .count = {.name = "mount", .count = 4000}}},
            {.delay_msec = 60000, .event = EXITED(0)}, WHEN_KILLED);
        struct result *result = play(&flood);
        assert_ends(result, RUN_LIMIT, VIOLATION_SYSCALL, 137);
        assert_string_equal(result->violation.detail, "mount");
        result_free(result);

        struct script killed = SCRIPT(BEGIN, EXIT(SIGSYS));
        result = play(&killed);
        assert_ends(result, RUN_LIMIT, VIOLATION_SYSCALL, 137);
        assert_false(result->violation.has_limit);
        assert_int_equal(result->signal, SIGSYS);
        result_free(result);
}

static void a_mismatch_stops_the_run(void **state)
{
        struct evidence bad;
        struct container_spec spec = fake_spec();
        fake_evidence(&spec, &bad);
        bad.no_new_privs = false;
        struct script script = SCRIPT(CREATED,
            {.cue = CUE_EXECUTE, .event = {.type = CONTAINER_AT_GATE, .evidence = &bad}}, STARTED, EXIT(0));
        struct result *result = play_all(&script, spec, plain, NULL);
        assert_ends(result, RUN_ERROR, VIOLATION_NONE, 125);
        assert_int_equal(result->error.code, ERROR_MISMATCH);
        assert_int_equal(script.releases, 0);
        assert_int_equal(script.destroys, 1);
        assert_false(result->has_usage);
        result_free(result);
}

static void what_cannot_be_executed(void **state)
{
        static const struct {
                int errnum, exit_status;
        } cases[] = {{ENOENT, 127}, {EACCES, 126}, {ENOEXEC, 126}};
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct script script = SCRIPT(CREATED, GATE,
                    {.cue = CUE_RELEASE,
                        .event = {.type = CONTAINER_EXEC_FAILED, .errnum = cases[i].errnum}});
                struct execution_request request = plain;
                request.argv = (const char *const[]){"no\x1bsuch", NULL};
                struct result *result = play_all(&script, fake_spec(), request, NULL);
                assert_ends(result, RUN_ERROR, VIOLATION_NONE, cases[i].exit_status);
                assert_int_equal(result->error.code, ERROR_NOT_FOUND);
                assert_non_null(strstr(result->error.message, "no\\x1bsuch"));
                result_free(result);
        }
}

static void backends_that_fail(void **state)
{
        struct script early = SCRIPT({.event = {.type = CONTAINER_FAILED}});
        struct result *result = play(&early);
        assert_ends(result, RUN_ERROR, VIOLATION_NONE, 125);
        assert_string_equal(result->error.message, "the fake failed");
        assert_int_equal(early.destroys, 1);
        result_free(result);

        struct script lost = SCRIPT(BEGIN, {.event = {.type = CONTAINER_LOST}});
        result = play(&lost);
        assert_ends(result, RUN_ERROR, VIOLATION_NONE, 125);
        assert_true(result->has_usage); /* it did run */
        result_free(result);

        /* After the end of the program nothing changes its outcome. */
        struct script late = SCRIPT(BEGIN, EXIT(0), {.cue = CUE_DESTROY, .event = {.type = CONTAINER_LOST}});
        result = play(&late);
        assert_ends(result, RUN_OK, VIOLATION_NONE, 0);
        result_free(result);

        struct script full = {.create_status = -EBUSY};
        result = play(&full);
        assert_ends(result, RUN_ERROR, VIOLATION_NONE, 125);
        assert_int_equal(result->error.code, ERROR_BUSY);
        assert_int_equal(full.frees, 0);
        result_free(result);
}

static void a_kill_without_an_end(void **state)
{
        struct script script = SCRIPT(BEGIN, {.delay_msec = 60000, .event = EXITED(0)});
        struct container_spec spec = fake_spec();
        spec.limits.timeout = 0.05;
        struct result *result = play_all(&script, spec, plain, NULL);
        assert_ends(result, RUN_LIMIT, VIOLATION_TIMEOUT, 124);
        assert_false(result->has_exit_code);
        assert_int_equal(result->signal, 0);
        result_free(result);
}

static void a_teardown_without_an_end(void **state)
{
        struct script script = SCRIPT(BEGIN, EXIT(0));
        script.never_destroyed = true;
        uint64_t begin = clock_now();
        struct result *result = play(&script);
        assert_true(clock_now() - begin < 2000 * NSEC_PER_MSEC);
        assert_ends(result, RUN_OK, VIOLATION_NONE, 0);
        assert_false(result->cleanup_complete || script.released_complete);
        assert_non_null(strstr(result_json(result), "\"cleanup\":{\"complete\":false"));
        result_free(result);
}

static void a_child_that_holds_the_pipe(void **state)
{
        struct script script = SCRIPT(
            BEGIN, {.event = EXITED(0)}, {.delay_msec = 60000, .event = OUTPUT(STREAM_STDOUT, "late")});
        uint64_t begin = clock_now();
        struct result *result = play(&script);
        assert_true(clock_now() - begin < 1500 * NSEC_PER_MSEC);
        assert_ends(result, RUN_OK, VIOLATION_NONE, 0);
        assert_int_equal(script.kills, 1);
        result_free(result);
}

static void cancelling(void **state)
{
        static const struct {
                const char *at;
                bool started;
        } cases[] = {{"queued", false}, {"creating", false}, {"running", true}, {"collecting", true}};
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct script script = SCRIPT(BEGIN, {.delay_msec = 50, .event = EXITED(0)}, OUTPUT_END,
                    {.cue = CUE_KILL, .event = EXITED(SIGKILL)}, OUTPUT_END);
                if (strcmp(cases[i].at, "collecting") == 0)
                        script.count -= 2; /* there kill() follows the end */
                struct heard heard = {.cancel_at = cases[i].at};
                struct execution_request request = plain;
                request.collect_files = true;
                struct result *result = play_all(&script, fake_spec(), request, &heard);
                assert_ends(result, RUN_CANCELLED, VIOLATION_NONE, 137);
                assert_string_equal(result->ended_by, "client");
                assert_int_equal(result->error.code, cases[i].started ? ERROR_NONE : ERROR_CANCELLED);
                result_free(result);
        }

        int fd = eventfd(1, EFD_CLOEXEC);
        struct script script = SCRIPT(BEGIN, {.delay_msec = 60000, .event = EXITED(0)}, WHEN_KILLED);
        struct execution_request request = plain;
        request.cancel_fd = fd;
        struct result *result = play_all(&script, fake_spec(), request, NULL);
        assert_ends(result, RUN_CANCELLED, VIOLATION_NONE, 137);
        result_free(result);
        (void)close(fd);

        struct script talks = SCRIPT(BEGIN, {.event = OUTPUT(STREAM_STDOUT, "x")},
            {.delay_msec = 60000, .event = EXITED(0)}, WHEN_KILLED);
        struct heard heard = {.cancel_on_output = true};
        result = play_all(&talks, fake_spec(), plain, &heard);
        assert_ends(result, RUN_CANCELLED, VIOLATION_NONE, 137);
        result_free(result);

        struct script queued = {.create_cancelled = true};
        result = play(&queued);
        assert_ends(result, RUN_CANCELLED, VIOLATION_NONE, 137);
        result_free(result);
}

static void files(void **state)
{
#define A_FILE(name, bytes)                                                                                 \
        {                                                                                                   \
                .event = {                                                                                  \
                        .type = CONTAINER_FILE,                                                             \
                        .file = {.path = (name),                                                            \
                            .path_size = sizeof(name) - 1,                                                  \
                            .data = (bytes),                                                                \
                            .size = sizeof(bytes) - 1,                                                      \
                            .mode = 0644}                                                                   \
                }                                                                                           \
        }
        struct script script = SCRIPT(BEGIN, EXIT(0),
            {.cue = CUE_COLLECT,
                .event = {.type = CONTAINER_FILE_SKIPPED,
                    .file = {.path = "link", .path_size = 4, .reason = "not_regular"}}},
            A_FILE("same.py", "print(1)"), A_FILE("changed.py", "print(2)"), A_FILE("new\n\xff.png", ""),
            {.event = {.type = CONTAINER_COLLECTED, .collected = {.files = 3, .bytes = 16, .skipped = 4}}});
        static const struct input_file inputs[] = {{.path = "same.py", .data = "print(1)", .size = 8},
            {.path = "changed.py", .data = "print(1)", .size = 8}};
        struct execution_request request = plain;
        request.files = inputs;
        request.file_count = ARRAY_SIZE(inputs);
        request.collect_files = true;
        struct heard heard = {};
        struct result *result = play_all(&script, fake_spec(), request, &heard);
        assert_ends(result, RUN_OK, VIOLATION_NONE, 0);
        assert_int_equal(script.puts, 2);
        assert_int_equal(result->file_count, 2);
        assert_string_equal(result->files[0].path, "changed.py");
        assert_string_equal(
            result->files[1].sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        const char *json = result_json(result);
        assert_non_null(strstr(json, "\"path\":\"bmV3Cv8ucG5n\",\"path_encoding\":\"base64\",\"size\":0"));
        assert_non_null(strstr(json, "\"media_type\":\"image/png\""));
        assert_int_equal(result->event_count, 2);
        assert_string_equal(result->events[0].reason, "not_regular");
        assert_int_equal(result->events[1].count, 3);
        assert_string_equal(heard.phases, "queued creating running collecting done ");
        result_free(result);
}

static void files_that_cannot_be_written(void **state)
{
        struct script script = SCRIPT(BEGIN, EXIT(0),
            {.cue = CUE_COLLECT,
                .event = {.type = CONTAINER_FILE,
                    .file = {.path = "../up", .path_size = 5, .data = "", .size = 0}}},
            {.event = {.type = CONTAINER_COLLECTED}});
        struct execution_request request = plain;
        request.collect_files = true;
        request.output_dirfd = 0;
        struct result *result = play_all(&script, fake_spec(), request, NULL);
        assert_ends(result, RUN_OK, VIOLATION_NONE, 125);
        assert_int_equal(result->error.code, ERROR_OUTPUT);
        assert_string_equal(result->events[0].kind, "output_failed");
        result_free(result);

        struct script refused = SCRIPT(BEGIN, EXIT(7 << 8));
        refused.collect_status = -EIO;
        result = play_all(&refused, fake_spec(), request, NULL);
        assert_ends(result, RUN_FAILED, VIOLATION_NONE, 7);
        assert_int_equal(result->error.code, ERROR_OUTPUT);
        result_free(result);
}

static void a_network_is_refused(void **state)
{
        struct script script = SCRIPT(BEGIN, EXIT(0));
        struct container_spec spec = fake_spec();
        spec.network = NETWORK_DEPENDENCIES;
        struct result *result = play_all(&script, spec, plain, NULL);
        assert_ends(result, RUN_ERROR, VIOLATION_NONE, 125);
        assert_int_equal(result->error.code, ERROR_UNENFORCED);
        assert_non_null(strstr(result->error.message, "network_mode"));
        assert_int_equal(script.frees, 0); /* nothing was made */
        result_free(result);
}

static void samples_are_bounded(void **state)
{
        struct script script = SCRIPT(BEGIN, {.delay_msec = 400, .event = EXITED(0)}, OUTPUT_END);
        script.cpus = 1;
        struct container_spec spec = fake_spec();
        spec.monitoring_interval = 0.005;
        spec.monitoring_samples = 10;
        struct heard heard = {};
        struct result *result = play_all(&script, spec, plain, &heard);
        assert_ends(result, RUN_OK, VIOLATION_NONE, 0);
        assert_in_range(result->sample_count, 5, 10);
        assert_true(heard.samples > 10);
        assert_true(heard.max_percent > 50 && heard.max_percent < 300);
        assert_true(result->samples[result->sample_count - 1].t > 0.2);
        result_free(result);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(an_ordinary_run),
            cmocka_unit_test(programs_that_fail),
            cmocka_unit_test(time_runs_out),
            cmocka_unit_test(a_flood_does_not_hold_up_the_clock),
            cmocka_unit_test(cpu_time_runs_out),
            cmocka_unit_test(cpu_time_goes_before_wall_time),
            cmocka_unit_test(unreadable_cpu_time_ends_the_run),
            cmocka_unit_test(output_is_cut_between_characters),
            cmocka_unit_test(out_of_memory),
            cmocka_unit_test(precedence),
            cmocka_unit_test(refusals_are_events),
            cmocka_unit_test(system_calls),
            cmocka_unit_test(a_mismatch_stops_the_run),
            cmocka_unit_test(what_cannot_be_executed),
            cmocka_unit_test(backends_that_fail),
            cmocka_unit_test(a_kill_without_an_end),
            cmocka_unit_test(a_teardown_without_an_end),
            cmocka_unit_test(a_child_that_holds_the_pipe),
            cmocka_unit_test(cancelling),
            cmocka_unit_test(files),
            cmocka_unit_test(files_that_cannot_be_written),
            cmocka_unit_test(a_network_is_refused),
            cmocka_unit_test(samples_are_bounded),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
