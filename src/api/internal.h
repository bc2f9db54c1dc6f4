/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind the opaque types of include/mai/sandbox.h. */
#pragma once

#include "mai/sandbox.h"

#include "policy/policy.h"
#include "sandbox/executor.h"

#include <stdatomic.h>

/* The largest program: a source file, not a data set. */
#define PROGRAM_MAX (16U << 20)
/* The largest input file; what a run may hold is bounded by its disk_limit. */
#define INPUT_FILE_MAX (1U << 30)
#define STRINGS_MAX 65536U /* arguments, assignments or files of one request */

struct mai_error {
        struct error error;
};

struct mai_sandbox {
        struct container_manager *manager;
        struct policy *policy;
        int cancel_fd; /* eventfd */
        atomic_bool running;
};

/* Owned strings, always NULL-terminated once there is one. */
struct strings {
        char **items;
        size_t count;
};

struct request_file {
        char *path; /* where it goes, relative */
        char *data;
        size_t size;
        unsigned mode;
};

enum request_option {
        OPTION_TRUST_LEVEL,
        OPTION_BACKEND,
        OPTION_IMAGE,
        OPTION_RUNTIME,
        OPTION_TIMEOUT,
        OPTION_MEM_LIMIT,
        OPTION_CPU_COUNT,
        OPTION_PIDS_LIMIT,
        OPTION_CPU_TIME,
        OPTION_DISK_LIMIT,
        OPTION_INODE_LIMIT,
        OPTION_OUTPUT_LIMIT,
        OPTION_OPEN_FILES,
        OPTION_NETWORK_MODE,
        OPTION_COUNT_,
};

struct mai_request {
        char *options[OPTION_COUNT_];
        struct strings allow_degraded;
        struct strings whitelist;
        struct request_file program; /* path NULL: none */
        struct strings command;
        struct strings arguments;
        struct strings environment;
        struct request_file *files;
        size_t file_count;
        int stdin_fd;
        char *output_dir;
        int collect; /* -1: as the output directory says */
        bool keep_output, json_events;
};

struct mai_result {
        struct result *inner;
        char violation[VIOLATION_MESSAGE_SIZE];
};

/* Hands an error to the caller of the API (dropped if not asked for), and returns `status`. */
int api_fail(int status, struct error *err, mai_error **ret_error);

/* The request's options in the form that the policy takes. Pointers into the request. */
void request_for_policy(const mai_request *request, struct policy_request *ret);

/*
 * Names that mean something to the reader of a result, from
 * a request that did not come so far as to be resolved.
 */
int request_describe(const mai_request *request, struct container_spec *spec);

/* Wraps a result, taking it over; NULL when out of memory. */
mai_result *result_wrap(struct result *inner);
