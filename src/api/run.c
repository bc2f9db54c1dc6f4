/* SPDX-License-Identifier: Apache-2.0 */
/* mai_run(): a request and the policy become a container spec, an exec spec and a result. */
#include "api/internal.h"

#include "sandbox/output_dir.h"

/* Of the host it is Debian's own, whatever else is in PATH; an image has it where its PATH says. */
#define HOST_PYTHON "/usr/bin/python3"
#define IMAGE_PYTHON "python3"
#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

/* ---- Events, in the public form ---- */

struct relay {
        mai_event_handler handler;
        void *user;
        bool json;
        const struct result *result;
};

static int relay_event(const struct relay *relay, mai_event *event, char *json)
{
        _cleanup_(freep) char *owned = json;
        event->json = owned;
        return relay->handler(event, relay->user);
}

static int relay_output(double t, enum output_stream stream, const char *data, size_t size, void *user)
{
        const struct relay *relay = user;
        mai_event event = {.kind = MAI_EVENT_OUTPUT,
            .t = t,
            .stream = stream == STREAM_STDOUT ? 1 : 2,
            .data = data,
            .size = size};
        event.name = stream == STREAM_STDOUT ? "stdout" : "stderr";
        return relay_event(relay, &event, relay->json ? result_output_json(t, stream, data, size) : NULL);
}

static int relay_phase(double t, const char *phase, void *user)
{
        const struct relay *relay = user;
        mai_event event = {.kind = MAI_EVENT_STATUS, .t = t, .name = phase};
        return relay_event(relay, &event, relay->json ? result_status_json(t, phase) : NULL);
}

static uint64_t or_zero(uint64_t value)
{
        return value == NOT_MEASURED ? 0 : value;
}

static int relay_sample(const struct run_sample *sample, double cpu_percent, void *user)
{
        const struct relay *relay = user;
        const struct limits *limits = &relay->result->spec.limits;
        const mai_sample shown = {
            .t = sample->t,
            .cpu = sample->cpu < 0 ? 0 : sample->cpu,
            .cpu_percent = cpu_percent,
            .memory = or_zero(sample->memory),
            .pids = or_zero(sample->pids),
            .disk = or_zero(sample->disk),
            .timeout = limits->timeout,
            .mem_limit = limits->mem_limit,
            .pids_limit = limits->pids_limit,
        };
        mai_event event = {.kind = MAI_EVENT_SAMPLE, .t = sample->t, .name = "sample", .sample = &shown};
        return relay_event(relay, &event, relay->json ? result_sample_json(sample) : NULL);
}

static int relay_notice(const struct run_event *notice, void *user)
{
        const struct relay *relay = user;
        mai_event event = {.kind = MAI_EVENT_NOTICE, .t = notice->t, .name = notice->kind};
        return relay_event(relay, &event, relay->json ? result_event_json(notice) : NULL);
}

/* ---- What is executed ---- */

/* NULL-terminated; the strings stay in the request, but for `name`, which the caller keeps. */
static const char **build_argv(const mai_request *request, const char *name, bool host)
{
        bool python = request->program.path != NULL;
        size_t room = request->command.count + request->arguments.count + 3;
        const char **argv = calloc(room, sizeof *argv);
        if (!argv)
                return NULL;
        size_t n = 0;
        if (python) {
                argv[n++] = host ? HOST_PYTHON : IMAGE_PYTHON;
                argv[n++] = name;
        }
        for (size_t i = 0; i < request->command.count; i++)
                argv[n++] = request->command.items[i];
        for (size_t i = 0; i < request->arguments.count; i++)
                argv[n++] = request->arguments.items[i];
        return argv;
}

/* The program and the files, in the executor's form. */
static int build_inputs(const mai_request *request, struct input_file **ret, size_t *ret_count,
    uint64_t *ret_bytes, struct error *err)
{
        bool python = request->program.path != NULL;
        size_t count = request->file_count + (python ? 1 : 0);
        struct input_file *inputs = calloc(MAX(count, (size_t)1), sizeof *inputs);
        if (!inputs)
                return error_oom(err);
        uint64_t bytes = 0;
        for (size_t i = 0; i < count; i++) {
                const struct request_file *file =
                    i < request->file_count ? &request->files[i] : &request->program;
                inputs[i] = (struct input_file){
                    .path = file->path, .mode = file->mode, .data = file->data, .size = file->size};
                bytes += file->size;
        }
        *ret = inputs;
        *ret_count = count;
        *ret_bytes = bytes;
        return 0;
}

static int compare_paths(const void *a, const void *b)
{
        const char *const *left = a, *const *right = b;
        return strcmp(*left, *right);
}

/* No two at one place, the program included: one of them would be lost. */
static int check_destinations(const mai_request *request, struct error *err)
{
        if (request->file_count == 0)
                return 0;
        _cleanup_(freep) const char **paths = calloc(request->file_count + 1, sizeof *paths);
        if (!paths)
                return error_oom(err);
        size_t count = 0;
        for (size_t i = 0; i < request->file_count; i++)
                paths[count++] = request->files[i].path;
        if (request->program.path)
                paths[count++] = request->program.path;
        qsort(paths, count, sizeof *paths, compare_paths);
        for (size_t i = 1; i < count; i++)
                if (strcmp(paths[i - 1], paths[i]) == 0)
                        return error_set(err, ERROR_USAGE, 0,
                            "give one of them another destination: SRC:DEST", "two files go to \"%s\"",
                            paths[i]);
        return 0;
}

static int check_request(const mai_request *request, struct error *err)
{
        if (!request->program.path && request->command.count == 0)
                return error_set(
                    err, ERROR_USAGE, 0, "name a Python file, or - for standard input", "nothing to run");
        return check_destinations(request, err);
}

/* ---- One run ---- */

struct prepared {
        struct container_spec spec;
        const char **argv;
        char *name;        /* of the program, as the interpreter gets it */
        char *search_path; /* of the image; NULL: the usual one */
        struct input_file *inputs;
        size_t input_count;
        int output_dirfd;
};

static void prepared_clear(struct prepared *prepared)
{
        container_spec_clear(&prepared->spec);
        free(prepared->argv);
        free(prepared->name);
        free(prepared->search_path);
        free(prepared->inputs);
        close_and_forget(&prepared->output_dirfd);
}

static int prepare(
    mai_sandbox *sandbox, const mai_request *request, struct prepared *prepared, struct error *err)
{
        struct policy_request asked;
        unsigned cpus;
        uint64_t memory, bytes = 0;
        request_for_policy(request, &asked);
        policy_host_capacity(&cpus, &memory);
        int r = policy_resolve(sandbox->policy, &asked, cpus, memory, &prepared->spec, err);
        if (r >= 0)
                r = build_inputs(request, &prepared->inputs, &prepared->input_count, &bytes, err);
        if (r < 0)
                return r;
        if (bytes > prepared->spec.limits.disk_limit)
                return error_set(err, ERROR_INPUT, 0, "give less, or a trust level with more",
                    "the program and its files are %llu bytes: more than disk_limit, %llu",
                    (unsigned long long)bytes, (unsigned long long)prepared->spec.limits.disk_limit);

        /* The interpreter has no "--", and would take such a name for an option. */
        const char *path = request->program.path ? request->program.path : "";
        if (asprintf(&prepared->name, "%s%s", path[0] == '-' ? "./" : "", path) < 0) {
                prepared->name = NULL;
                return error_oom(err);
        }
        bool host = strcmp(prepared->spec.image, "host") == 0;
        const struct backend_ops *backend = host ? NULL : backend_find(prepared->spec.backend);
        if (backend && backend->search_path) {
                r = backend->search_path(prepared->spec.image, &prepared->search_path, err);
                if (r < 0)
                        return r;
        }
        prepared->argv = build_argv(request, prepared->name, host);
        if (!prepared->argv)
                return error_oom(err);
        return request->output_dir ? output_dir_open(request->output_dir, &prepared->output_dirfd, err) : 0;
}

static void execute(mai_sandbox *sandbox, const mai_request *request, struct prepared *prepared,
    const struct execution_listener *listener, struct result *result)
{
        /* Numeric libraries size their thread pools by the machine unless told. */
        char omp[40], openblas[40], path[sizeof "PATH=" + 2048];
        unsigned threads = whole_cpus(prepared->spec.limits.cpu_count);
        (void)snprintf(omp, sizeof omp, "OMP_NUM_THREADS=%u", MAX(threads, 1U));
        (void)snprintf(openblas, sizeof openblas, "OPENBLAS_NUM_THREADS=%u", MAX(threads, 1U));
        (void)snprintf(
            path, sizeof path, "PATH=%s", prepared->search_path ? prepared->search_path : USUAL_PATH);
        const char *const environment[] = {
            path,
            "HOME=/tmp/home",
            "TMPDIR=/tmp",
            "LANG=C.UTF-8",
            "PYTHONUNBUFFERED=1",        /* what was printed before a limit hit is there */
            "PYTHONDONTWRITEBYTECODE=1", /* no __pycache__ among the files that the run left */
            "MPLCONFIGDIR=/tmp/home/.config/matplotlib",
            "XDG_CACHE_HOME=/tmp/home/.cache",
            "XDG_CONFIG_HOME=/tmp/home/.config",
            "XDG_DATA_HOME=/tmp/home/.local/share",
            "XDG_STATE_HOME=/tmp/home/.local/state",
            omp,
            openblas,
            NULL,
        };
        const struct execution_request execution = {
            .argv = prepared->argv,
            .environment = environment,
            .stdin_fd = request->stdin_fd,
            .files = prepared->inputs,
            .file_count = prepared->input_count,
            .keep_output = request->keep_output,
            .collect_files = request->collect >= 0 ? request->collect > 0 : request->output_dir != NULL,
            .output_dirfd = prepared->output_dirfd,
            .cancel_fd = sandbox->cancel_fd,
        };
        uint64_t stale;
        ssize_t n = read(sandbox->cancel_fd, &stale, sizeof stale);
        (void)n; /* a cancellation that came too late for the run before */
        atomic_store(&sandbox->running, true);
        executor_run(sandbox->manager, &prepared->spec, &execution, listener, result);
        atomic_store(&sandbox->running, false);
}

static int run(mai_sandbox *sandbox, const mai_request *request, mai_event_handler handler, void *user,
    struct result *result, struct error *err)
{
        _cleanup_(prepared_clear) struct prepared prepared = {.output_dirfd = -1};
        int r = check_request(request, err);
        if (r >= 0)
                r = prepare(sandbox, request, &prepared, err);
        if (r < 0) {
                /* Words that can't be parsed get no result; a refusal is an answer. */
                if (err->code == ERROR_USAGE || err->code == ERROR_MEMORY)
                        return r;
                error_move(&result->error, err);
                if (prepared.spec.trust_level) {
                        result->spec = prepared.spec;
                        result->has_spec = true;
                        prepared.spec = (struct container_spec){};
                        return 0;
                }
                return request_describe(request, &result->spec) < 0 ? error_oom(err) : 0;
        }
        struct relay relay = {
            .handler = handler, .user = user, .json = request->json_events, .result = result};
        const struct execution_listener listener = {
            .output = relay_output,
            .phase = relay_phase,
            .sample = relay_sample,
            .notice = relay_notice,
            .user = &relay,
        };
        execute(sandbox, request, &prepared, handler ? &listener : NULL, result);
        return 0;
}

int mai_run(mai_sandbox *sandbox, const mai_request *request, mai_event_handler handler, void *user,
    mai_result **ret, mai_error **ret_error)
{
        struct error err = {};
        struct result *inner = result_new();
        if (!inner)
                return api_fail(error_oom(&err), &err, ret_error);
        int r = run(sandbox, request, handler, user, inner, &err);
        if (r < 0) {
                (void)result_free(inner);
                return api_fail(r, &err, ret_error);
        }
        mai_result *result = result_wrap(inner);
        if (!result)
                return api_fail(error_oom(&err), &err, ret_error);
        *ret = result;
        return 0;
}
