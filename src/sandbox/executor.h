/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one program in one container: drives the backend's events, enforces time, CPU and output limits,
 * samples usage (sandbox/monitor.h), and fills a result. One thread; blocks until the container is gone.
 */
#pragma once

#include "sandbox/container_manager.h"
#include "sandbox/result.h"

struct input_file {
        const char *path; /* relative to the working directory */
        unsigned mode;
        const void *data;
        size_t size;
};

struct execution_request {
        const char *const *argv;
        const char *const
            *environment; /* of the request and policy are in the spec; this is what remains: ours */
        int stdin_fd;     /* -1: empty */
        const struct input_file *files;
        size_t file_count;
        bool keep_output;
        bool collect_files;
        int output_dirfd; /* where collected files are written; -1: nowhere */
        int cancel_fd;    /* readable: cancel; -1 */
};

struct execution_listener {
        int (*output)(double t, enum output_stream stream, const char *data, size_t size, void *user);
        int (*phase)(double t, const char *phase, void *user);
        int (*sample)(const struct run_sample *sample, double cpu_percent, void *user);
        int (*notice)(const struct run_event *event, void *user);
        void *user;
};

/* Always fills `result` (status error and the error when it failed). Takes over the spec, also on failure.
 */
void executor_run(struct container_manager *manager, struct container_spec *spec,
    const struct execution_request *request, const struct execution_listener *listener,
    struct result *result);
