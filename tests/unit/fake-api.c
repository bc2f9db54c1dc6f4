/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for the library behind mai/sandbox.h, so that the command line is tested without a sandbox.
 * What it "runs" is a script, one command a line: out TEXT, err TEXT      an output event (\n in TEXT is a
 * newline) flood N                 N events of 4096 bytes on standard output sample T CPU% MEM PIDS  a
 * sample event (limits: 10 s, 256 MiB, 64) sleep MS, cat           wait; copy standard input to standard
 * output request                 prints what was asked for, one setting a line wait                    until
 * cancelled exit N, limit MESSAGE, error MESSAGE|HINT
 */
#include "mai/sandbox.h"
#include "util/common.h"
#include "util/strbuf.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>

struct mai_error {
        char code[32], message[256], hint[256];
};

struct mai_sandbox {
        volatile int cancelled;
};

struct mai_request {
        struct strbuf asked;
        struct strbuf script;
        int stdin_fd;
        bool json_events;
};

struct mai_result {
        const char *status;
        int exit_status;
        char text[256], hint[256];
        char json[1024];
};

static int fail(mai_error **ret, const char *code, const char *message, const char *hint)
{
        mai_error *error = calloc(1, sizeof *error);
        if (!error)
                return -ENOMEM;
        (void)snprintf(error->code, sizeof error->code, "%s", code);
        (void)snprintf(error->message, sizeof error->message, "%s", message);
        (void)snprintf(error->hint, sizeof error->hint, "%s", hint);
        *ret = error;
        return -EINVAL;
}

const char *mai_error_code(const mai_error *error)
{
        return error->code;
}

const char *mai_error_message(const mai_error *error)
{
        return error->message;
}

const char *mai_error_hint(const mai_error *error)
{
        return error->hint[0] ? error->hint : NULL;
}

mai_error *mai_error_free(mai_error *error)
{
        free(error);
        return NULL;
}

const char *mai_version(void)
{
        return "9.8.7";
}

int mai_sandbox_open(const char *path, mai_sandbox **ret, mai_error **ret_error)
{
        if (path && strstr(path, "bad"))
                return fail(ret_error, "policy_invalid", "bad.yaml:3:1: unknown key 'x\033[31m'",
                    "did you mean 'y'?");
        *ret = calloc(1, sizeof **ret);
        return *ret ? 0 : -ENOMEM;
}

mai_sandbox *mai_sandbox_close(mai_sandbox *sandbox)
{
        free(sandbox);
        return NULL;
}

mai_request *mai_request_new(void)
{
        mai_request *request = calloc(1, sizeof *request);
        if (request) {
                request->asked.max = request->script.max = 1U << 20;
                request->stdin_fd = -1;
        }
        return request;
}

mai_request *mai_request_free(mai_request *request)
{
        if (request) {
                strbuf_clear(&request->asked);
                strbuf_clear(&request->script);
        }
        free(request);
        return NULL;
}

static int asked(mai_request *request, const char *name, const char *value)
{
        return strbuf_appendf(&request->asked, "%s=%s\n", name, value ? value : "-");
}

int mai_request_set(mai_request *request, const char *option, const char *value, mai_error **ret_error)
{
        if (strcmp(value, "nonsense") == 0)
                return fail(ret_error, "usage", "nonsense", "");
        if (strcmp(value, "refused") == 0)
                return fail(ret_error, "policy_refused", "above the ceiling", "ask for less");
        return asked(request, option, value);
}

int mai_request_set_program(
    mai_request *request, const char *name, const void *source, size_t size, mai_error **ret_error)
{
        int r = asked(request, "program", name);
        return r == 0 ? strbuf_append(&request->script, source, size) : r;
}

/* The "path" is the script itself, with ; for newlines. */
int mai_request_set_program_file(mai_request *request, const char *path, mai_error **ret_error)
{
        if (strstr(path, "missing"))
                return fail(ret_error, "input_invalid", "missing.py: No such file or directory", "");
        int r = asked(request, "program_file", path);
        for (; r == 0 && *path; path++)
                r = strbuf_append(&request->script, *path == ';' ? "\n" : path, 1);
        return r;
}

int mai_request_set_command(
    mai_request *request, const char *const *argv, size_t count, mai_error **ret_error)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < count; i++)
                r = asked(request, "command", argv[i]);
        return r == 0 ? strbuf_append_text(&request->script, "request\n") : r;
}

int mai_request_add_argument(mai_request *request, const char *argument, mai_error **ret_error)
{
        return asked(request, "argument", argument);
}

int mai_request_add_environment(mai_request *request, const char *assignment, mai_error **ret_error)
{
        return asked(request, "environment", assignment);
}

int mai_request_add_file(
    mai_request *request, const char *source, const char *destination, mai_error **ret_error)
{
        int r = asked(request, "file", source);
        return r == 0 ? asked(request, "destination", destination) : r;
}

int mai_request_set_stdin(mai_request *request, int fd)
{
        request->stdin_fd = fd;
        return 0;
}

int mai_request_set_output_dir(mai_request *request, const char *path, mai_error **ret_error)
{
        return asked(request, "output_dir", path);
}

void mai_request_collect_files(mai_request *request, int on)
{
}

void mai_request_keep_output(mai_request *request, int on)
{
        (void)asked(request, "keep_output", on ? "1" : "0");
}

void mai_request_json_events(mai_request *request, int on)
{
        request->json_events = on;
}

struct run {
        mai_sandbox *sandbox;
        const mai_request *request;
        mai_event_handler handler;
        void *user;
        mai_result *result;
        bool over, deaf;
};

static void end(struct run *run, const char *status, int exit_status)
{
        run->over = true;
        run->result->status = status;
        run->result->exit_status = exit_status;
}

static void emit(struct run *run, mai_event event)
{
        event.json = run->request->json_events ? "{\"kind\":\"something\"}" : NULL;
        if (run->over)
                return;
        if ((run->handler && run->handler(&event, run->user) != 0) ||
            (run->sandbox->cancelled && !run->deaf))
                end(run, "cancelled", 137);
}

static void output(struct run *run, int stream, const char *data, size_t size)
{
        emit(run, (mai_event){.kind = MAI_EVENT_OUTPUT, .stream = stream, .data = data, .size = size});
}

static void output_text(struct run *run, int stream, const char *text)
{
        char buffer[512];
        size_t n = 0;
        for (; *text && n < sizeof buffer; text++) {
                bool newline = text[0] == '\\' && text[1] == 'n';
                buffer[n++] = newline ? '\n' : *text;
                text += newline;
        }
        output(run, stream, buffer, n);
}

static void nap(unsigned long ms)
{
        struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
        (void)nanosleep(&time, NULL);
}

static void cat(struct run *run)
{
        char buffer[1024];
        ssize_t n;
        int fd = run->request->stdin_fd;
        while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0)
                output(run, 1, buffer, (size_t)n);
        const char *kind = fd < 0 ? "[empty]" : fcntl(fd, F_GETPIPE_SZ) > 0 ? "[pipe]" : "[other]";
        output(run, 1, kind, strlen(kind));
}

static void do_line(struct run *run, char *line)
{
        char *rest = strchr(line, ' ');
        if (rest)
                *rest++ = '\0';
        else
                rest = line + strlen(line);
        mai_sample sample = {
            .timeout = 10, .mem_limit = 256U << 20, .pids_limit = 64, .trust_level = "unknown"};
        if (strcmp(line, "out") == 0 || strcmp(line, "err") == 0) {
                output_text(run, line[0] == 'o' ? 1 : 2, rest);
        } else if (strcmp(line, "flood") == 0) {
                char block[4096];
                memset(block, 'x', sizeof block);
                for (unsigned long n = strtoul(rest, NULL, 10); n > 0 && !run->over; n--)
                        output(run, 1, block, sizeof block);
        } else if (strcmp(line, "sample") == 0) {
                unsigned long long memory;
                unsigned long long pids;
                if (sscanf(rest, "%lf %lf %llu %llu", &sample.t, &sample.cpu_percent, &memory, &pids) == 4) {
                        sample.memory = memory;
                        sample.pids = pids;
                        emit(run, (mai_event){.kind = MAI_EVENT_SAMPLE, .t = sample.t, .sample = &sample});
                }
        } else if (strcmp(line, "sleep") == 0) {
                nap(strtoul(rest, NULL, 10));
        } else if (strcmp(line, "cat") == 0) {
                cat(run);
        } else if (strcmp(line, "request") == 0) {
                output(run, 1, strbuf_text(&run->request->asked), run->request->asked.size);
        } else if (strcmp(line, "wait") == 0) {
                while (!run->over) {
                        nap(20);
                        emit(run, (mai_event){.kind = MAI_EVENT_STATUS, .name = "running"});
                }
        } else if (strcmp(line, "deaf") == 0) {
                run->deaf = true;
        } else if (strcmp(line, "exit") == 0) {
                int status = (int)strtoul(rest, NULL, 10);
                end(run, status ? "failed" : "ok", status);
        } else if (strcmp(line, "limit") == 0) {
                (void)snprintf(run->result->text, sizeof run->result->text, "%s", rest);
                end(run, "limit", 124);
        } else if (strcmp(line, "error") == 0) {
                char *bar = strchr(rest, '|');
                if (bar) {
                        *bar = '\0';
                        (void)snprintf(run->result->hint, sizeof run->result->hint, "%s", bar + 1);
                }
                (void)snprintf(run->result->text, sizeof run->result->text, "%s", rest);
                end(run, "error", 125);
        } else {
                (void)snprintf(run->result->text, sizeof run->result->text, "fake: %s?", line);
                end(run, "error", 125);
        }
}

int mai_run(mai_sandbox *sandbox, const mai_request *request, mai_event_handler handler, void *user,
    mai_result **ret, mai_error **ret_error)
{
        if (strstr(strbuf_text(&request->asked), "timeout=999\n"))
                return fail(ret_error, "usage", "found only when it is run", "");
        mai_result *result = calloc(1, sizeof *result);
        char *script = strdup(strbuf_text(&request->script));
        if (!result || !script) {
                free(result);
                free(script);
                return -ENOMEM;
        }
        struct run run = {
            .sandbox = sandbox, .request = request, .handler = handler, .user = user, .result = result};
        emit(&run, (mai_event){.kind = MAI_EVENT_STATUS, .name = "creating"});
        char *at = script;
        for (char *line; !run.over && (line = strsep(&at, "\n"));)
                if (line[0])
                        do_line(&run, line);
        if (!run.over)
                end(&run, "ok", 0);
        free(script);
        *ret = result;
        return 0;
}

void mai_cancel(mai_sandbox *sandbox)
{
        sandbox->cancelled = 1;
}

int mai_result_from_error(const mai_error *error, const mai_request *request, mai_result **ret)
{
        mai_result *result = calloc(1, sizeof *result);
        if (!result)
                return -ENOMEM;
        result->status = "error";
        result->exit_status = 125;
        memcpy(result->text, error->message, sizeof result->text);
        memcpy(result->hint, error->hint, sizeof result->hint);
        *ret = result;
        return 0;
}

mai_result *mai_result_free(mai_result *result)
{
        free(result);
        return NULL;
}

const char *mai_result_json(mai_result *result)
{
        (void)snprintf(result->json, sizeof result->json, "{\"status\":\"%s\"}", result->status);
        return result->json;
}

const char *mai_result_status(const mai_result *result)
{
        return result->status;
}

int mai_result_exit_status(const mai_result *result)
{
        return result->exit_status;
}

const char *mai_result_violation_kind(const mai_result *result)
{
        return strcmp(result->status, "limit") == 0 ? "timeout" : NULL;
}

const char *mai_result_violation_message(const mai_result *result)
{
        return strcmp(result->status, "limit") == 0 ? result->text : NULL;
}

const char *mai_result_error_code(const mai_result *result)
{
        return strcmp(result->status, "error") == 0 ? "internal" : NULL;
}

const char *mai_result_error_message(const mai_result *result)
{
        return strcmp(result->status, "error") == 0 ? result->text : NULL;
}

const char *mai_result_error_hint(const mai_result *result)
{
        return result->hint[0] ? result->hint : NULL;
}

int mai_policy_check(const char *path, char **ret_path, mai_error **ret_error)
{
        if (path && strstr(path, "bad"))
                return fail(
                    ret_error, "policy_invalid", "bad.yaml:3:1: unknown key 'x'", "did you mean 'y'?");
        char *copy = strdup(path ? path : "built-in");
        if (!copy)
                return -ENOMEM;
        *ret_path = copy;
        return 0;
}

int mai_policy_show(const char *path, const char *trust_level, char **ret_text, mai_error **ret_error)
{
        return asprintf(ret_text, "# %s %s\n", path ? path : "-", trust_level ? trust_level : "-") < 0
                   ? -ENOMEM
                   : 0;
}

/* The text is hostile: it may come from a group's name or an engine's answer. */
struct mai_report {
        int enforced;
};

int mai_doctor(const char *path, mai_report **ret, mai_error **ret_error)
{
        if (path && strstr(path, "bad"))
                return fail(
                    ret_error, "policy_invalid", "bad.yaml:3:1: unknown key 'x'", "did you mean 'y'?");
        mai_report *report = calloc(1, sizeof *report);
        if (!report)
                return -ENOMEM;
        report->enforced = !(path && strstr(path, "weak"));
        *ret = report;
        return 0;
}

mai_report *mai_report_free(mai_report *report)
{
        free(report);
        return NULL;
}

int mai_report_enforced(const mai_report *report)
{
        return report->enforced;
}

const char *mai_report_text(const mai_report *report)
{
        return "host\n  kernel \033[31mred\n";
}

const char *mai_report_json(const mai_report *report)
{
        return "{\"enforced\":true}";
}

int mai_image_pull(const char *policy_path, const char *backend, const char *reference, const char *name,
    mai_image_handler handler, void *user, char **ret_digest, mai_error **ret_error)
{
        if (strstr(reference, "missing"))
                return fail(ret_error, "image", "no such image", "see the name");
        for (unsigned i = 0; i <= 2; i++) {
                const mai_image_progress progress = {i, 2, i << 20, 2U << 20};
                if (handler && handler(&progress, user) != 0)
                        return fail(ret_error, "cancelled", "given up", NULL);
        }
        return asprintf(ret_digest, "sha256:\033%s:%s", backend ? backend : "-",
                   policy_path ? policy_path : "-") < 0
                   ? -ENOMEM
                   : 0;
}

int mai_image_import(const char *path, const char *name, uint64_t max_bytes, uint64_t max_files,
    mai_image_handler handler, void *user, char **ret_json, mai_error **ret_error)
{
        if (strstr(path, "missing"))
                return fail(ret_error, "image_unavailable", "no such file", "see the name");
        return asprintf(ret_json, "{\"name\":\"%s\",\"max\":[%llu,%llu]}", name,
                   (unsigned long long)max_bytes, (unsigned long long)max_files) < 0
                   ? -ENOMEM
                   : 0;
}

int mai_images_open(mai_images **ret, mai_error **ret_error)
{
        *ret = NULL;
        return 0;
}

size_t mai_images_count(const mai_images *images)
{
        return 1;
}

const mai_image *mai_images_at(const mai_images *images, size_t index)
{
        static const mai_image image = {
            "python", "sha256:0123456789abcdef0123", "2026-01-02T03:04:05Z", 5U << 20, 7, 1};
        return &image;
}

const char *mai_images_json(const mai_images *images)
{
        return "[{\"name\":\"python\"}]";
}

mai_images *mai_images_free(mai_images *images)
{
        return NULL;
}

int mai_image_remove(const char *name, mai_error **ret_error)
{
        return strstr(name, "used") ? fail(ret_error, "busy", "it is in use", NULL) : 0;
}

int mai_prune(unsigned *ret_removed, mai_error **ret_error)
{
        *ret_removed = 3;
        return 0;
}
