/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to one run, and its JSON. Field names, words and units are the project's contract
 * (docs/result.schema.json). Filled in by the executor, immutable afterwards. Owner: whoever asked for the
 * run; result_free().
 */
#pragma once

#include "policy/spec.h"
#include "sandbox/backend.h"
#include "util/error.h"
#include "util/strbuf.h"

enum run_status { RUN_OK, RUN_FAILED, RUN_LIMIT, RUN_CANCELLED, RUN_ERROR };

/* In order of precedence when several fire together. */
enum violation_kind {
        VIOLATION_NONE,
        VIOLATION_SYSCALL,
        VIOLATION_MEMORY,
        VIOLATION_CPU_TIME,
        VIOLATION_OUTPUT,
        VIOLATION_TIMEOUT,
};

const char *run_status_name(enum run_status status);
const char *violation_kind_name(enum violation_kind kind); /* NULL for NONE */

struct violation {
        enum violation_kind kind;
        bool has_limit, has_observed;
        double limit, observed; /* in the unit of the limit: seconds or bytes */
        char detail[64];        /* "stdout"/"stderr" for output, the call's name for syscall; "" otherwise */
};

/* Something refused or noticed that did not end the run. Equal kinds (and details) are counted in one entry.
 */
struct run_event {
        uint64_t seq;     /* 1, 2, ... in the order of their first occurrence */
        double t;         /* of the first occurrence; negative: before the program's start */
        const char *kind; /* static: "pids_refused", "disk_full", "syscall_denied", "file_skipped", ... */
        uint64_t count;
        uint64_t told;          /* the count that a listener heard of last */
        char detail[256];       /* the call, the path…; escaped when printed */
        const char *detail_key; /* static: the JSON member that holds detail: "syscall", "path" … or NULL */
        char reason[32];        /* why, e.g. "too_large"; "": none */
        bool has_bytes;         /* `bytes` counts something */
        uint64_t bytes;
};
#define RUN_EVENTS_MAX 256

struct run_sample {
        double t, cpu;               /* cpu negative: not measured */
        uint64_t memory, pids, disk; /* NOT_MEASURED */
};

struct run_file {
        char *path;
        size_t path_size;
        uint64_t size;
        char sha256[65];
        char *content; /* `size` bytes, or NULL: not kept */
};

struct result {
        char id[33], container_id[33];
        char started_at[32];
        enum run_status status;
        const char *ended_by; /* static: "kill", "client", … or NULL */
        bool has_exit_code;
        int exit_code;
        int signal;              /* 0: none */
        struct strbuf output[2]; /* by enum output_stream */
        bool output_truncated[2];
        struct violation violation;
        struct run_event *events;
        size_t event_count;
        struct run_sample *samples;
        size_t sample_count;
        bool has_spec;
        struct container_spec spec; /* trust level, limits, backend, image, policy hash */
        struct usage usage;
        double wall;
        bool has_usage;
        struct run_file *files;
        size_t file_count;
        bool has_evidence;
        struct evidence evidence;
        struct {
                double queue, create, start, run, collect, destroy;
        } timing;
        bool has_cleanup;
        bool cleanup_complete;
        unsigned processes_killed;
        char *leftover; /* or NULL */
        struct error error;
        bool command_error; /* `exec`'s or the interpreter's execve failed: errnum in error */
        char *json;         /* cache of result_json() */
};

struct result *result_new(void);
struct result *result_free(struct result *result);

/* The whole document. Cached in the result; NULL when out of memory. */
const char *result_json(struct result *result);

/* The exit status of the command line for this result. */
int result_exit_status(const struct result *result);

/* "wall time limit of 2 s reached": one line for people. Valid in `buffer`. */
#define VIOLATION_MESSAGE_SIZE 256
const char *violation_message(const struct violation *violation, char buffer[VIOLATION_MESSAGE_SIZE]);

/* One event as a JSON line (no newline), for `--events`. Caller frees; NULL when out of memory. */
char *result_event_json(const struct run_event *event);
char *result_sample_json(const struct run_sample *sample);
char *result_output_json(double t, enum output_stream stream, const char *data, size_t size);
char *result_status_json(double t, const char *phase);
