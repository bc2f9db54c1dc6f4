/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public library over a scripted backend and a policy
 * that says yes: requests, what is executed, answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fake-backend.h"

#include "mai/sandbox.h"
#include "policy/policy.h"
#include "util/fd.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#define FAKE __attribute__((weak))

struct policy {
        int unused;
};

static struct script script;
static bool resolved_environment;

FAKE int container_manager_open(struct container_manager **ret, struct error *err)
{
        *ret = calloc(1, sizeof **ret);
        (*ret)->script = &script;
        return 0;
}

FAKE struct container_manager *container_manager_close(struct container_manager *manager)
{
        free(manager);
        return NULL;
}

FAKE int container_manager_prune(struct container_manager *manager, unsigned *ret_removed, struct error *err)
{
        *ret_removed = 3;
        return 0;
}

FAKE int policy_load(const char *path, struct policy **ret, struct error *err)
{
        if (path && strcmp(path, "bad.yaml") == 0)
                return error_set(err, ERROR_POLICY, 0, "mend it", "bad.yaml:1:1: not a policy");
        *ret = calloc(1, sizeof **ret);
        return 0;
}

FAKE struct policy *policy_free(struct policy *policy)
{
        free(policy);
        return NULL;
}

FAKE const char *policy_path(const struct policy *policy)
{
        return "built-in";
}

FAKE void policy_host_capacity(unsigned *ret_cpus, uint64_t *ret_memory)
{
        *ret_cpus = 2;
        *ret_memory = 1U << 30;
}

FAKE int policy_show(
    const struct policy *policy, const char *trust_level, char **ret_text, struct error *err)
{
        *ret_text = strdup("timeout: 5\n");
        return 0;
}

FAKE int policy_resolve(const struct policy *policy, const struct policy_request *request,
    unsigned host_cpus, uint64_t host_memory, struct container_spec *ret_spec, struct error *err)
{
        if (request->timeout && strcmp(request->timeout, "x") == 0)
                return error_set(err, ERROR_USAGE, 0, NULL, "timeout: x");
        if (request->mem_limit)
                return error_set(err, ERROR_REFUSED, 0, "ask for less", "mem_limit: above 1g");
        resolved_environment = request->environment && strcmp(request->environment[0], "A=1") == 0 &&
                               request->allow_degraded && strcmp(request->allow_degraded[0], "swap") == 0;
        *ret_spec = fake_spec();
        return 0;
}

#define STEPS(...)                                                                                          \
        do {                                                                                                \
                static const struct step steps_[] = {__VA_ARGS__};                                          \
                script = (struct script){.steps = steps_, .count = ARRAY_SIZE(steps_)};                     \
                memset(&script.usage, 0xff, sizeof script.usage);                                           \
                script.usage.cpu_nsec = 0;                                                                  \
        } while (0)
#define BEGIN                                                                                               \
        {.event = {.type = CONTAINER_CREATED}}, {.cue = CUE_EXECUTE, .event = {.type = CONTAINER_AT_GATE}}, \
        {                                                                                                   \
                .cue = CUE_RELEASE, .event = {.type = CONTAINER_STARTED }                                   \
        }
#define OUT                                                                                                 \
        {                                                                                                   \
                .event = {.type = CONTAINER_OUTPUT, .output = {.data = "hi\n", .size = 3} }                 \
        }
#define END                                                                                                 \
        {.event = {.type = CONTAINER_EXITED}},                                                              \
        {                                                                                                   \
                .event = {.type = CONTAINER_OUTPUT_END }                                                    \
        }

static mai_sandbox *open_one(void)
{
        mai_sandbox *sandbox = NULL;
        assert_int_equal(mai_sandbox_open(NULL, &sandbox, NULL), 0);
        return sandbox;
}

static void assert_error(int r, mai_error *error, const char *code)
{
        assert_true(r < 0);
        assert_non_null(error);
        assert_string_equal(mai_error_code(error), code);
        (void)mai_error_free(error);
}

/* The call comes first, then what it left in `error`. */
#define assert_refused(call, error, code)                                                                   \
        do {                                                                                                \
                int r_ = (call);                                                                            \
                assert_error(r_, error, code);                                                              \
                (error) = NULL;                                                                             \
        } while (0)

static void write_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
        (void)close(fd);
}

struct heard {
        unsigned outputs, phases, with_json;
        char last[512];
};

static int hear(const mai_event *event, void *user)
{
        struct heard *heard = user;
        heard->outputs += event->kind == MAI_EVENT_OUTPUT && event->stream == 1 && event->size == 3;
        heard->phases += event->kind == MAI_EVENT_STATUS;
        if (event->json) {
                heard->with_json++;
                (void)snprintf(heard->last, sizeof heard->last, "%s", event->json);
        }
        return 0;
}

static void a_program(void **state)
{
        STEPS(BEGIN, OUT, END);
        mai_sandbox *sandbox = open_one();
        mai_request *request = mai_request_new();
        struct heard heard = {};
        assert_int_equal(mai_request_set_program(request, "main.py", "print(1)", 8, NULL), 0);
        assert_int_equal(mai_request_add_argument(request, "-x", NULL), 0);
        assert_int_equal(mai_request_add_argument(request, "two words", NULL), 0);
        assert_int_equal(mai_request_add_environment(request, "A=1", NULL), 0);
        assert_int_equal(mai_request_set(request, "allow_degraded", "swap", NULL), 0);
        mai_request_json_events(request, 1);
        mai_result *result = NULL;
        assert_int_equal(mai_run(sandbox, request, hear, &heard, &result, NULL), 0);
        assert_string_equal(mai_result_status(result), "ok");
        assert_int_equal(mai_result_exit_status(result), 0);
        assert_null(mai_result_error_code(result));
        assert_null(mai_result_violation_kind(result));
        assert_null(mai_result_violation_message(result));
        assert_non_null(strstr(mai_result_json(result), "\"stdout\":\"hi\\n\""));
        assert_string_equal(script.argv, "/usr/bin/python3\nmain.py\n-x\ntwo words\n");
        assert_string_equal(script.put_paths, "main.py\n");
        static const char *const set[] = {
            "HOME=/tmp/home\n", "PYTHONUNBUFFERED=1\n", "OMP_NUM_THREADS=2\n", "TMPDIR=/tmp\n"};
        for (size_t i = 0; i < ARRAY_SIZE(set); i++)
                assert_non_null(strstr(script.environment, set[i]));
        assert_true(resolved_environment);
        assert_int_equal(heard.outputs, 1);
        assert_int_equal(heard.phases, 4);
        assert_int_equal(heard.with_json, 5);
        assert_non_null(strstr(heard.last, "\"phase\":\"done\""));
        (void)mai_result_free(result);
        (void)mai_request_free(request);
        (void)mai_sandbox_close(sandbox);
}

static void what_is_executed(void **state)
{
        mai_sandbox *sandbox = open_one();
        mai_result *result = NULL;

        STEPS(BEGIN, END);
        mai_request *request = mai_request_new();
        assert_int_equal(mai_request_set_program(request, "-c.py", "", 0, NULL), 0);
        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
        assert_string_equal(script.argv, "/usr/bin/python3\n./-c.py\n");
        assert_string_equal(script.put_paths, "-c.py\n");
        result = mai_result_free(result);
        (void)mai_request_free(request);

        STEPS(BEGIN, END);
        request = mai_request_new();
        static const char *const command[] = {"ls", "-l"};
        assert_int_equal(mai_request_set_command(request, command, 2, NULL), 0);
        assert_int_equal(mai_request_add_argument(request, "/", NULL), 0);
        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
        assert_string_equal(script.argv, "ls\n-l\n/\n");
        (void)mai_result_free(result);
        (void)mai_request_free(request);
        (void)mai_sandbox_close(sandbox);
}

static void programs_from_files(void **state)
{
        char dir[] = "/tmp/mai-api-XXXXXX", path[128];
        assert_non_null(mkdtemp(dir));
        mai_request *request = mai_request_new();
        mai_error *error = NULL;
        (void)snprintf(path, sizeof path, "%s/prog.py", dir);
        assert_refused(mai_request_set_program_file(request, path, &error), error, "input_invalid");
        assert_refused(mai_request_set_program_file(request, dir, &error), error, "input_invalid");
        assert_refused(mai_request_set_program_file(request, "/dev/zero", &error), error, "input_invalid");
        write_file(path, "");
        assert_int_equal(mai_request_set_program_file(request, path, &error), 0);
        assert_refused(mai_request_set_program_file(request, path, &error), error, "usage");
        static const char *const command[] = {"ls"};
        assert_refused(mai_request_set_command(request, command, 1, &error), error, "usage");

        STEPS(BEGIN, END);
        mai_sandbox *sandbox = open_one();
        mai_result *result = NULL;
        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
        assert_string_equal(script.argv, "/usr/bin/python3\nprog.py\n");
        (void)mai_result_free(result);
        (void)mai_sandbox_close(sandbox);
        (void)mai_request_free(request);
        (void)unlink(path);
        (void)rmdir(dir);
}

static void destinations(void **state)
{
        static const struct {
                const char *destination, *path; /* path NULL: refused */
        } cases[] = {
            {NULL, "passwd"},
            {"x", "x"},
            {"a/b", "a/b"},
            {"./a//./b", "a/b"},
            {"a/", "a/passwd"},
            {".", "passwd"},
            {"", "passwd"},
            {"/x", NULL},
            {"..", NULL},
            {"a/../b", NULL},
            {"../x", NULL},
            {"..x", "..x"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                mai_sandbox *sandbox = open_one();
                mai_request *request = mai_request_new();
                mai_error *error = NULL;
                mai_result *result = NULL;
                STEPS(BEGIN, END);
                assert_int_equal(mai_request_set_program(request, "main.py", "", 0, NULL), 0);
                int r = mai_request_add_file(request, "/etc/passwd", cases[i].destination, &error);
                if (!cases[i].path) {
                        assert_refused(r, error, "usage");
                } else {
                        char expected[128];
                        assert_int_equal(r, 0);
                        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
                        (void)snprintf(expected, sizeof expected, "%s\nmain.py\n", cases[i].path);
                        assert_string_equal(script.put_paths, expected);
                }
                (void)mai_result_free(result);
                (void)mai_request_free(request);
                (void)mai_sandbox_close(sandbox);
        }
}

static void bad_requests(void **state)
{
        mai_sandbox *sandbox = open_one();
        mai_request *request = mai_request_new();
        mai_error *error = NULL;
        mai_result *result = NULL;
        STEPS(BEGIN, END);
        assert_refused(mai_request_set(request, "memory", "1g", &error), error, "usage");
        assert_refused(mai_request_add_environment(request, "NAME", &error), error, "usage");
        assert_refused(mai_request_add_environment(request, "=x", &error), error, "usage");
        assert_refused(mai_request_set_command(request, NULL, 0, &error), error, "usage");
        assert_refused(mai_request_add_file(request, "/etc", NULL, &error), error, "input_invalid");
        assert_int_equal(mai_request_set_stdin(request, 9999), -EBADF);
        static const char *const names[] = {"", ".", "..", "a/b"};
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                assert_refused(mai_request_set_program(request, names[i], "", 0, &error), error, "usage");
        assert_refused(
            mai_run(sandbox, request, NULL, NULL, &result, &error), error, "usage"); /* nothing to run */

        assert_int_equal(mai_request_set_program(request, "passwd", "", 0, NULL), 0);
        assert_int_equal(mai_request_set(request, "timeout", "x", NULL), 0);
        assert_refused(mai_run(sandbox, request, NULL, NULL, &result, &error), error, "usage");
        assert_int_equal(mai_request_set(request, "timeout", "1", NULL), 0);
        assert_int_equal(mai_request_add_file(request, "/etc/passwd", NULL, NULL), 0);
        assert_refused(
            mai_run(sandbox, request, NULL, NULL, &result, &error), error, "usage"); /* two at one place */
        assert_int_equal(script.executes, 0);
        assert_null(result);
        (void)mai_request_free(request);
        (void)mai_sandbox_close(sandbox);
}

static void refusals_are_answers(void **state)
{
        mai_sandbox *sandbox = open_one();
        mai_request *request = mai_request_new();
        mai_result *result = NULL;
        STEPS(BEGIN, END);
        assert_int_equal(mai_request_set_program(request, "main.py", "", 0, NULL), 0);
        assert_int_equal(mai_request_set(request, "trust_level", "trusted", NULL), 0);
        assert_int_equal(mai_request_set(request, "mem_limit", "8g", NULL), 0);
        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
        assert_string_equal(mai_result_status(result), "error");
        assert_string_equal(mai_result_error_code(result), "policy_refused");
        assert_string_equal(mai_result_error_message(result), "mem_limit: above 1g");
        assert_string_equal(mai_result_error_hint(result), "ask for less");
        assert_int_equal(mai_result_exit_status(result), 125);
        assert_non_null(strstr(mai_result_json(result), "\"trust_level\":\"trusted\",\"backend\":null"));
        result = mai_result_free(result);
        (void)mai_request_free(request);

        /* More input than may be held. */
        request = mai_request_new();
        char *big = calloc(1, 2U << 20);
        assert_int_equal(mai_request_set_program(request, "main.py", big, 2U << 20, NULL), 0);
        free(big);
        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
        assert_string_equal(mai_result_error_code(result), "input_invalid");
        assert_non_null(strstr(mai_result_json(result), "\"backend\":\"native\""));
        result = mai_result_free(result);
        (void)mai_request_free(request);

        request = mai_request_new();
        assert_int_equal(mai_request_set_program(request, "main.py", "", 0, NULL), 0);
        assert_int_equal(mai_request_set_output_dir(request, "/etc/passwd", NULL), 0);
        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
        assert_string_equal(mai_result_error_code(result), "output_failed");
        assert_int_equal(script.executes, 0);
        (void)mai_result_free(result);
        (void)mai_request_free(request);
        (void)mai_sandbox_close(sandbox);
}

static void files_come_out(void **state)
{
        char dir[] = "/tmp/mai-api-XXXXXX", path[128], text[16];
        assert_non_null(mkdtemp(dir));
        STEPS(BEGIN, END,
            {.cue = CUE_COLLECT,
                .event = {.type = CONTAINER_FILE,
                    .file = {.path = "d/f", .path_size = 3, .data = "abc", .size = 3, .mode = 0600}}},
            {.event = {.type = CONTAINER_FILE,
                 .file = {.path = "main.py", .path_size = 7, .data = "x", .size = 1}}},
            {.event = {.type = CONTAINER_COLLECTED}});
        mai_sandbox *sandbox = open_one();
        mai_request *request = mai_request_new();
        mai_result *result = NULL;
        assert_int_equal(mai_request_set_program(request, "main.py", "x", 1, NULL), 0);
        (void)snprintf(path, sizeof path, "%s/out", dir);
        assert_int_equal(mai_request_set_output_dir(request, path, NULL), 0);
        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
        assert_string_equal(mai_result_status(result), "ok");
        assert_non_null(strstr(mai_result_json(result), "\"files\":[{\"path\":\"d/f\""));
        assert_null(strstr(mai_result_json(result), "main.py"));
        (void)snprintf(path, sizeof path, "%s/out/d/f", dir);
        assert_int_equal(fd_read_small(AT_FDCWD, path, text, sizeof text), 3);
        (void)mai_result_free(result);
        (void)mai_request_free(request);
        (void)mai_sandbox_close(sandbox);
        (void)unlink(path);
        static const char *const folders[] = {"out/d", "out", "."};
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                (void)snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
                (void)rmdir(i < 2 ? path : dir);
        }
}

static void *cancel_soon(void *user)
{
        (void)usleep(50000);
        mai_cancel(user);
        return NULL;
}

static void cancelling(void **state)
{
        STEPS(BEGIN, {.delay_msec = 60000, .event = {.type = CONTAINER_EXITED}},
            {.cue = CUE_KILL, .event = {.type = CONTAINER_EXITED, .exited = {.wait_status = SIGKILL}}},
            {.event = {.type = CONTAINER_OUTPUT_END}});
        mai_sandbox *sandbox = open_one();
        mai_cancel(sandbox); /* no run in progress: nothing happens */
        mai_request *request = mai_request_new();
        mai_result *result = NULL;
        assert_int_equal(mai_request_set_program(request, "main.py", "", 0, NULL), 0);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, sandbox), 0);
        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
        (void)pthread_join(thread, NULL);
        assert_string_equal(mai_result_status(result), "cancelled");
        result = mai_result_free(result);

        STEPS(BEGIN, END); /* and the next run is not touched */
        assert_int_equal(mai_run(sandbox, request, NULL, NULL, &result, NULL), 0);
        assert_string_equal(mai_result_status(result), "ok");
        (void)mai_result_free(result);
        (void)mai_request_free(request);
        (void)mai_sandbox_close(sandbox);
}

static void failures_before_a_run(void **state)
{
        mai_sandbox *sandbox = NULL;
        mai_error *error = NULL;
        mai_result *result = NULL;
        assert_true(mai_sandbox_open("bad.yaml", &sandbox, &error) < 0);
        assert_null(sandbox);
        assert_int_equal(mai_result_from_error(error, NULL, &result), 0);
        assert_string_equal(mai_result_error_code(result), "policy_invalid");
        assert_int_equal(mai_result_exit_status(result), 125);
        assert_non_null(mai_result_json(result));
        assert_string_equal(mai_error_message(error), "bad.yaml:1:1: not a policy");
        assert_string_equal(mai_error_hint(error), "mend it");
        (void)mai_result_free(result);
        (void)mai_error_free(error);
        assert_true(mai_sandbox_open("bad.yaml", &sandbox, NULL) < 0);
}

static void housekeeping(void **state)
{
        char *text = NULL;
        unsigned removed = 0;
        assert_int_equal(mai_policy_check(NULL, &text, NULL), 0);
        assert_string_equal(text, "built-in");
        free(text);
        assert_int_equal(mai_policy_check(NULL, NULL, NULL), 0);
        assert_int_equal(mai_policy_show(NULL, NULL, &text, NULL), 0);
        free(text);
        mai_error *error = NULL;
        assert_refused(mai_policy_check("bad.yaml", NULL, &error), error, "policy_invalid");
        assert_int_equal(mai_prune(&removed, NULL), 0);
        assert_int_equal(removed, 3);
        assert_string_equal(mai_version(), MAI_VERSION);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_program),
            cmocka_unit_test(what_is_executed),
            cmocka_unit_test(programs_from_files),
            cmocka_unit_test(destinations),
            cmocka_unit_test(bad_requests),
            cmocka_unit_test(refusals_are_answers),
            cmocka_unit_test(files_come_out),
            cmocka_unit_test(cancelling),
            cmocka_unit_test(failures_before_a_run),
            cmocka_unit_test(housekeeping),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
