/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/result.h"

#include "util/clock.h"
#include "util/parse.h"

#include <sys/random.h>

static const char *const status_names[] = {
    [RUN_OK] = "ok",
    [RUN_FAILED] = "failed",
    [RUN_LIMIT] = "limit",
    [RUN_CANCELLED] = "cancelled",
    [RUN_ERROR] = "error",
};

/* A violation's word, the unit of its limit, and what `mai-sandbox run` exits with. */
static const struct {
        const char *name, *subject;
        bool seconds;
        int exit_status;
} kinds[] = {
    [VIOLATION_NONE] = {NULL, NULL, false, 0},
    [VIOLATION_SYSCALL] = {"syscall", "the system-call filter", false, 137},
    [VIOLATION_MEMORY] = {"memory", "mem_limit", false, 137},
    [VIOLATION_CPU_TIME] = {"cpu_time", "cpu_time", true, 137},
    [VIOLATION_OUTPUT] = {"output", "output_limit", false, 137},
    [VIOLATION_TIMEOUT] = {"timeout", "timeout", true, 124},
};

#define EXIT_SANDBOX 125
#define EXIT_CANNOT_EXECUTE 126
#define EXIT_COMMAND_NOT_FOUND 127
#define EXIT_KILLED 137
#define EXIT_USAGE 2

const char *run_status_name(enum run_status status)
{
        return (size_t)status < ARRAY_SIZE(status_names) ? status_names[status] : "error";
}

const char *violation_kind_name(enum violation_kind kind)
{
        return (size_t)kind < ARRAY_SIZE(kinds) ? kinds[kind].name : NULL;
}

static void quantity(bool seconds, double value, char *buffer, size_t size)
{
        char text[FORMAT_SIZE_MAX];
        if (seconds)
                (void)snprintf(buffer, size, "%.10g s", (double)(int64_t)(value * 1000 + 0.5) / 1000);
        else
                (void)snprintf(buffer, size, "%s", format_size((uint64_t)value, text));
}

const char *violation_message(const struct violation *violation, char buffer[VIOLATION_MESSAGE_SIZE])
{
        if (violation->kind == VIOLATION_SYSCALL) {
                const char *which = violation->detail[0] ? ", the last one " : "";
                if (violation->has_limit)
                        (void)snprintf(buffer, VIOLATION_MESSAGE_SIZE,
                            "stopped after %.0f denied system calls%s%s (at most %.0f)", violation->observed,
                            which, violation->detail, violation->limit);
                else
                        (void)snprintf(buffer, VIOLATION_MESSAGE_SIZE, "killed by the system-call filter");
                return buffer;
        }
        char limit[48] = "?", observed[48] = "";
        bool seconds = kinds[violation->kind].seconds;
        if (violation->has_limit)
                quantity(seconds, violation->limit, limit, sizeof limit);
        if (violation->has_observed)
                quantity(seconds, violation->observed, observed, sizeof observed);
        (void)snprintf(buffer, VIOLATION_MESSAGE_SIZE, "%s of %s reached%s%s%s%s%s",
            kinds[violation->kind].subject, limit, observed[0] ? " (seen: " : "", observed,
            observed[0] ? ")" : "", violation->detail[0] ? " by " : "", violation->detail);
        return buffer;
}

struct result *result_new(void)
{
        struct result *result = calloc(1, sizeof *result);
        if (!result)
                return NULL;
        static const char digits[] = "0123456789abcdef";
        uint8_t random[16];
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
                free(result);
                return NULL;
        }
        for (size_t i = 0; i < sizeof random; i++) {
                result->id[2 * i] = digits[random[i] >> 4];
                result->id[2 * i + 1] = digits[random[i] & 15];
        }
        clock_wall_rfc3339(result->started_at);
        result->status = RUN_ERROR;
        memset(&result->usage, 0xff, sizeof result->usage); /* NOT_MEASURED everywhere */
        return result;
}

struct result *result_free(struct result *result)
{
        if (!result)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(result->output); i++)
                strbuf_clear(&result->output[i]);
        for (size_t i = 0; i < result->file_count; i++) {
                free(result->files[i].path);
                free(result->files[i].content);
        }
        free(result->files);
        free(result->events);
        free(result->samples);
        free(result->leftover);
        free(result->json);
        container_spec_clear(&result->spec);
        error_clear(&result->error);
        free(result);
        return NULL;
}

int result_exit_status(const struct result *result)
{
        switch (result->status) {
        case RUN_LIMIT:
                return kinds[result->violation.kind].exit_status;
        case RUN_CANCELLED:
                return EXIT_KILLED;
        case RUN_ERROR:
                if (result->command_error)
                        return result->error.errnum == ENOENT ? EXIT_COMMAND_NOT_FOUND : EXIT_CANNOT_EXECUTE;
                return result->error.code == ERROR_USAGE ? EXIT_USAGE : EXIT_SANDBOX;
        case RUN_OK:
        case RUN_FAILED:
                break;
        }
        int status = result->signal > 0 ? 128 + result->signal : result->exit_code;
        /* The program was content, but what it made could not be handed over. */
        if (status == 0 && result->error.code != ERROR_NONE)
                return EXIT_SANDBOX;
        return status;
}
