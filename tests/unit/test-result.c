/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results and their JSON. The first argument is the folder of the documentation. With "--print" instead, one
 * document of each sort is printed, a line each, for check-schema.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake-backend.h"

#include "sandbox/events.h"
#include "util/fd.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>

static const char *docs;

static void note(struct result *result, const struct event_note *what)
{
        const struct run_event *news;
        if (events_note(result, 0.5, what, &news) < 0)
                abort();
}

static struct result *bare(void)
{
        struct result *result = result_new();
        if (!result)
                abort();
        result->output[0].max = result->output[1].max = 1000;
        return result;
}

static struct result *refused(void)
{
        struct result *result = bare();
        (void)error_set(&result->error, ERROR_REFUSED, 0, "ask for less", "mem_limit: 8g is above 1g");
        return result;
}

static struct result *full(void)
{
        struct result *result = bare();
        result->has_spec = true;
        result->spec = fake_spec();
        memset(result->spec.policy_sha256, 'a', 64);
        (void)snprintf(
            result->container_id, sizeof result->container_id, "0123456789abcdef0123456789abcdef");
        result->status = RUN_OK;
        result->has_exit_code = true;
        (void)strbuf_append(&result->output[0], "a\0b\x1b\n", 5);
        (void)strbuf_append(&result->output[1], "ok\xff\n", 4);
        note(result, &(struct event_note){.kind = "pids_refused", .count = 2});
        note(result, &(struct event_note){.kind = "syscall_denied",
                         .detail_key = "syscall",
                         .detail = "mount",
                         .detail_size = 5,
                         .count = 1});
        note(result, &(struct event_note){.kind = "file_skipped",
                         .detail_key = "path",
                         .detail = "x\n\xff",
                         .detail_size = 3,
                         .reason = "not_regular",
                         .count = 1});
        result->samples = calloc(2, sizeof *result->samples);
        result->samples[0] = (struct run_sample){.t = 0.1, .cpu = 0.05, .memory = 5, .pids = 1, .disk = 0};
        result->samples[1] = (struct run_sample){
            .t = 0.2, .cpu = -1, .memory = NOT_MEASURED, .pids = NOT_MEASURED, .disk = NOT_MEASURED};
        result->sample_count = 2;
        result->files = calloc(2, sizeof *result->files);
        result->files[0] = (struct run_file){.path = strdup("plot.png"), .path_size = 8, .size = 3};
        result->files[1] =
            (struct run_file){.path = strdup("\xff"), .path_size = 1, .size = 1, .content = strdup("x")};
        memset(result->files[0].sha256, 'b', 64);
        memset(result->files[1].sha256, 'c', 64);
        result->file_count = 2;
        result->has_usage = true;
        result->wall = 0.25;
        result->usage.cpu_nsec = 1500000;
        result->usage.memory_peak_bytes = 4096;
        result->has_evidence = true;
        fake_evidence(&result->spec, &result->evidence);
        result->evidence.cap_bounding = UINT64_C(1) << 13 | UINT64_C(1) << 50;
        result->evidence.memory_swap_max = UINT64_MAX;
        result->evidence.degraded = 1U << ENFORCE_SWAP;
        result->has_cleanup = true;
        result->leftover = strdup("/sys/fs/cgroup/\x1b");
        return result;
}

static struct result *limited(void)
{
        struct result *result = full();
        result->status = RUN_LIMIT;
        result->has_exit_code = false;
        result->signal = SIGKILL;
        result->violation = (struct violation){.kind = VIOLATION_OUTPUT,
            .has_limit = true,
            .limit = 1048576,
            .has_observed = true,
            .observed = 1048577,
            .detail = "stdout"};
        return result;
}

static struct result *cancelled(void)
{
        struct result *result = full();
        result->status = RUN_CANCELLED;
        result->ended_by = "client";
        result->has_exit_code = false;
        result->signal = SIGRTMIN + 2;
        return result;
}

static struct result *(*const kinds[])(void) = {bare, refused, full, limited, cancelled};

static int print_all(void)
{
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                struct result *result = kinds[i]();
                const char *json = result_json(result);
                if (!json || puts(json) < 0)
                        return 1;
                (void)result_free(result);
        }
        return 0;
}

static void json_says_what_is_there(void **state)
{
        struct result *result = full();
        json_t *root = json_loads(result_json(result), JSON_ALLOW_NUL, NULL);
        assert_non_null(root);
        json_t *out = json_object_get(root, "stdout");
        assert_int_equal(json_string_length(out), 5);
        assert_memory_equal(json_string_value(out), "a\0b\x1b\n", 5);
        assert_string_equal(json_string_value(json_object_get(root, "stderr")), "b2v/Cg==");
        assert_string_equal(json_string_value(json_object_get(root, "stderr_encoding")), "base64");
        const json_t *usage = json_object_get(root, "usage");
        assert_true(json_real_value(json_object_get(usage, "cpu")) == 0.0015);
        assert_true(json_is_null(json_object_get(usage, "net_rx")));
        const json_t *security = json_object_get(root, "security");
        const json_t *bounding = json_object_get(json_object_get(security, "capabilities"), "bounding");
        assert_string_equal(json_string_value(json_array_get(bounding, 0)), "CAP_NET_RAW");
        assert_string_equal(json_string_value(json_array_get(bounding, 1)), "CAP_50");
        assert_string_equal(
            json_string_value(json_array_get(json_object_get(security, "degraded"), 0)), "swap");
        const json_t *timeout = json_object_get(json_object_get(root, "limits"), "timeout");
        assert_true(json_is_integer(timeout) && json_integer_value(timeout) == 5);
        json_decref(root);
        assert_ptr_equal(result_json(result), result_json(result));
        assert_null(strchr(result_json(result), '\x1b'));
        assert_null(strchr(result_json(result), '\n'));
        (void)result_free(result);
}

static void event_lines(void **state)
{
        struct result *result = full();
        _cleanup_(freep) char *event = result_event_json(&result->events[2]);
        assert_string_equal(event, "{\"seq\":3,\"t\":0.5,\"kind\":\"file_skipped\",\"count\":1,\"path\":"
                                   "\"eAr/\",\"path_encoding\":\"base64\","
                                   "\"reason\":\"not_regular\"}");
        _cleanup_(freep) char *sample = result_sample_json(&result->samples[1]);
        assert_string_equal(sample,
            "{\"t\":0.2,\"cpu\":null,\"memory\":null,\"pids\":null,\"disk\":null,\"kind\":\"sample\"}");
        _cleanup_(freep) char *output = result_output_json(0.25, STREAM_STDERR, "\x1b[1m{}\n", 7);
        assert_string_equal(output, "{\"kind\":\"output\",\"t\":0.25,\"stream\":\"stderr\","
                                    "\"data\":\"\\u001B[1m{}\\n\",\"data_encoding\":\"utf-8\"}");
        _cleanup_(freep) char *status = result_status_json(-1, "queued");
        assert_string_equal(status, "{\"kind\":\"status\",\"t\":null,\"phase\":\"queued\"}");
        (void)result_free(result);
}

static void events_are_bounded(void **state)
{
        struct result *result = bare();
        for (unsigned i = 0; i < 2 * RUN_EVENTS_MAX; i++) {
                char path[400];
                int size = snprintf(path, sizeof path, "%u-%0300u", i, 0);
                note(result, &(struct event_note){.kind = "file_skipped",
                                 .detail_key = "path",
                                 .detail = path,
                                 .detail_size = (size_t)size,
                                 .count = 1});
        }
        assert_int_equal(result->event_count, RUN_EVENTS_MAX);
        const struct run_event *last = &result->events[RUN_EVENTS_MAX - 1];
        assert_string_equal(last->kind, "events_dropped");
        assert_int_equal(last->count, RUN_EVENTS_MAX + 1);
        assert_int_equal(events_total(result, "file_skipped"), RUN_EVENTS_MAX - 1);
        (void)result_free(result);
}

static void listeners_hear_of_doublings(void **state)
{
        struct result *result = bare();
        unsigned told = 0;
        for (unsigned i = 0; i < 1000; i++) {
                const struct run_event *news;
                assert_int_equal(
                    events_note(result, 0, &(struct event_note){.kind = "x", .count = 1}, &news), 0);
                told += news != NULL;
        }
        assert_int_equal(told, 10);
        (void)result_free(result);
}

static void violation_messages(void **state)
{
        static const struct {
                struct violation violation;
                const char *message;
        } cases[] = {
            {{.kind = VIOLATION_TIMEOUT,
                 .has_limit = true,
                 .limit = 0.25,
                 .has_observed = true,
                 .observed = 0.2512},
                "timeout of 0.25 s reached (seen: 0.251 s)"},
            {{.kind = VIOLATION_OUTPUT, .has_limit = true, .limit = 1048576, .detail = "stderr"},
                "output_limit of 1 MiB reached by stderr"},
            {{.kind = VIOLATION_MEMORY, .has_limit = true, .limit = 1048576}, "mem_limit of 1 MiB reached"},
            {{.kind = VIOLATION_SYSCALL}, "killed by the system-call filter"},
            {{.kind = VIOLATION_SYSCALL,
                 .has_limit = true,
                 .limit = 10000,
                 .has_observed = true,
                 .observed = 10001,
                 .detail = "bpf"},
                "stopped after 10001 denied system calls, the last one bpf (at most 10000)"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char buffer[VIOLATION_MESSAGE_SIZE];
                assert_string_equal(violation_message(&cases[i].violation, buffer), cases[i].message);
        }
}

static void exit_statuses(void **state)
{
        struct result *result = bare();
        (void)error_set(&result->error, ERROR_USAGE, 0, NULL, "x");
        assert_int_equal(result_exit_status(result), 2);
        (void)error_set(&result->error, ERROR_POLICY, 0, NULL, "x");
        assert_int_equal(result_exit_status(result), 125);
        result->status = RUN_FAILED;
        result->signal = SIGTERM;
        assert_int_equal(result_exit_status(result), 143);
        (void)result_free(result);
}

/* Every code of error.c has its row, and every row its code. */
static void the_table_of_error_codes(void **state)
{
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/RESULT.md", docs);
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        _cleanup_(freep) char *text = NULL;
        size_t size;
        assert_int_equal(fd_read_whole(fd, 1U << 20, &text, &size), 0);
        char *begin = strstr(text, "### Error codes");
        assert_non_null(begin);
        char *end = strstr(begin, "\n## ");
        assert_non_null(end);
        *end = '\0';
        unsigned rows = 0;
        for (const char *at = strstr(begin, "\n| `"); at; at = strstr(at + 1, "\n| `"))
                rows++;
        /* The heading looks like a row, and "none" has none. */
        assert_int_equal(rows, ERROR_CODE_COUNT_);
        for (int code = ERROR_NONE + 1; code < ERROR_CODE_COUNT_; code++) {
                char row[64];
                (void)snprintf(row, sizeof row, "\n| `%s` | ", error_code_name((enum error_code)code));
                if (!strstr(begin, row))
                        fail_msg("docs/RESULT.md has no row for %s", error_code_name((enum error_code)code));
        }
}

int main(int argc, char **argv)
{
        if (argc == 2 && strcmp(argv[1], "--print") == 0)
                return print_all();
        docs = argc == 2 ? argv[1] : "docs";
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(json_says_what_is_there),
            cmocka_unit_test(event_lines),
            cmocka_unit_test(events_are_bounded),
            cmocka_unit_test(listeners_hear_of_doublings),
            cmocka_unit_test(violation_messages),
            cmocka_unit_test(exit_statuses),
            cmocka_unit_test(the_table_of_error_codes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
