/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mai Sandbox: run generated Python code in an isolated container, and learn with evidence what it did.
 *
 *     mai_error *error = NULL;
 *     mai_sandbox *sandbox = NULL;
 *     mai_request *request = mai_request_new();
 *     mai_result *result = NULL;
 *     if (mai_sandbox_open(NULL, &sandbox, &error) == 0 &&
 *         mai_request_set_program(request, "main.py", "print(1)", 8, &error) == 0 &&
 *         mai_run(sandbox, request, NULL, NULL, &result, &error) == 0)
 *             puts(mai_result_json(result));
 *
 * Rules: functions return 0 or a negative errno; on failure `*error` (if asked for) is set to a new object
 * that the caller frees. Output parameters are untouched on failure. Free functions take NULL and return
 * NULL. The library never prints, exits or installs signal handlers. Objects are not shared between threads
 * without the caller's lock, except where a function says so. Times are seconds, sizes bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAI_PUBLIC __attribute__((visibility("default")))

typedef struct mai_sandbox mai_sandbox;
typedef struct mai_request mai_request;
typedef struct mai_result mai_result;
typedef struct mai_error mai_error;

/* ---- Errors ---- */

/* The machine-readable word, as in a result's error.code: "usage", "policy_invalid", "policy_refused", ...
 */
MAI_PUBLIC const char *mai_error_code(const mai_error *error);
/* One line: the setting, what was seen. */
MAI_PUBLIC const char *mai_error_message(const mai_error *error);
/* The fix, or NULL. */
MAI_PUBLIC const char *mai_error_hint(const mai_error *error);
MAI_PUBLIC mai_error *mai_error_free(mai_error *error);

/* "1.2.3" */
MAI_PUBLIC const char *mai_version(void);

/* ---- The sandbox: a policy and the backends it names ---- */

/*
 * Opens a sandbox under the policy file `policy_path`; NULL: the usual search ($MAI_SANDBOX_POLICY, the
 * user's, the system's, the built-in one). Begins to get the native backend ready in the background.
 */
MAI_PUBLIC int mai_sandbox_open(const char *policy_path, mai_sandbox **ret, mai_error **ret_error);
MAI_PUBLIC mai_sandbox *mai_sandbox_close(mai_sandbox *sandbox);

/* ---- A request: what to run, with what, how tight ---- */

MAI_PUBLIC mai_request *mai_request_new(void);
MAI_PUBLIC mai_request *mai_request_free(mai_request *request);

/*
 * An option by name, its value in the syntax of the policy file: "trust_level", "backend", "image",
 * "runtime", "timeout", "mem_limit", "cpu_count", "pids_limit", "cpu_time", "disk_limit", "inode_limit",
 * "output_limit", "open_files", "network_mode", "whitelist" (the name of an entry; may be given several
 * times, then those alone can be reached), "allow_degraded" (may be given several times). Values may only
 * tighten the policy; that is checked by mai_run().
 */
MAI_PUBLIC int mai_request_set(
    mai_request *request, const char *option, const char *value, mai_error **ret_error);

/* The Python program, from memory. `name` is its base name inside; sys.argv[0] and tracebacks show it.
 * Copied. */
MAI_PUBLIC int mai_request_set_program(
    mai_request *request, const char *name, const void *source, size_t size, mai_error **ret_error);

/* The Python program, from a file. Read at once. */
MAI_PUBLIC int mai_request_set_program_file(mai_request *request, const char *path, mai_error **ret_error);

/* A command of the image instead of a Python program: argv[0 … count-1], copied. */
MAI_PUBLIC int mai_request_set_command(
    mai_request *request, const char *const *argv, size_t count, mai_error **ret_error);

/* One more argument of the program. */
MAI_PUBLIC int mai_request_add_argument(mai_request *request, const char *argument, mai_error **ret_error);

/* An environment variable, "NAME=VALUE". */
MAI_PUBLIC int mai_request_add_environment(
    mai_request *request, const char *assignment, mai_error **ret_error);

/* A file of the caller to put into the working directory as `destination` (relative; NULL: its base name).
 * Read at once. */
MAI_PUBLIC int mai_request_add_file(
    mai_request *request, const char *source, const char *destination, mai_error **ret_error);

/* Standard input of the program: a descriptor that the caller keeps open during mai_run(). Default: empty.
 */
MAI_PUBLIC int mai_request_set_stdin(mai_request *request, int fd);

/* Directory to write the files to that the run left in its working directory; made if missing. */
MAI_PUBLIC int mai_request_set_output_dir(mai_request *request, const char *path, mai_error **ret_error);

/* Whether the result lists the files that the run left (default 0, or 1 with an output directory). */
MAI_PUBLIC void mai_request_collect_files(mai_request *request, int on);

/* Whether the result keeps standard output and error (default 1). With 0 they are seen in events only. */
MAI_PUBLIC void mai_request_keep_output(mai_request *request, int on);

/* ---- Events, while it runs ---- */

typedef enum mai_event_kind {
        MAI_EVENT_OUTPUT = 1, /* stream, data, size */
        MAI_EVENT_STATUS, /* phase changed: `name` is "queued", "creating", "running", "collecting", "done"
                           */
        MAI_EVENT_SAMPLE, /* sample */
        MAI_EVENT_NOTICE, /* something of the result's `events`: name is its kind */
} mai_event_kind;

typedef struct mai_sample {
        double t;           /* since the program's start */
        double cpu;         /* cumulative */
        double cpu_percent; /* of one CPU, since the sample before */
        uint64_t memory, pids, disk;
        double timeout; /* the limits, for display */
        uint64_t mem_limit, pids_limit;
        const char *trust_level; /* for display; NULL: not known. Valid during the call only */
} mai_sample;

typedef struct mai_event {
        mai_event_kind kind;
        double t; /* seconds since the program's start; negative before it */
        const char *name;
        int stream;       /* 1 standard output, 2 standard error */
        const char *data; /* valid during the call only */
        size_t size;
        const mai_sample *sample;
        const char *
            json; /* the event as one line of JSON without newline, if mai_request_json_events(request, 1) */
} mai_event;

/* Called from within mai_run(), on its thread. A return other than 0 cancels the run. */
typedef int (*mai_event_handler)(const mai_event *event, void *user);

MAI_PUBLIC void mai_request_json_events(mai_request *request, int on);

/* ---- Running ---- */

/*
 * Runs it and waits for the end. Returns 0 with a result whenever there is one to tell, also when the
 * sandbox refused or failed (status "error": see mai_result_error_code()). A negative return means that
 * there is no result: bad words (code "usage") or no memory. `handler` may be NULL.
 */
MAI_PUBLIC int mai_run(mai_sandbox *sandbox, const mai_request *request, mai_event_handler handler,
    void *user, mai_result **ret, mai_error **ret_error);

/* Cancels the run in progress, if any. May be called from another thread or a signal handler. */
MAI_PUBLIC void mai_cancel(mai_sandbox *sandbox);

/*
 * A result of status "error" for a failure that came before there was a run, e.g. of mai_sandbox_open(), so
 * that every answer has one form. Does not take the error. `request` may be NULL.
 */
MAI_PUBLIC int mai_result_from_error(const mai_error *error, const mai_request *request, mai_result **ret);

/* ---- The result ---- */

MAI_PUBLIC mai_result *mai_result_free(mai_result *result);
/* The whole result as one JSON document (docs/result.schema.json). Owned by the result. NULL if out of
 * memory. */
MAI_PUBLIC const char *mai_result_json(mai_result *result);
MAI_PUBLIC const char *mai_result_status(
    const mai_result *result); /* "ok", "failed", "limit", "cancelled", "error" */
/* What `mai-sandbox run` exits with: the program's own status, 124, 137, 125, 126, 127. */
MAI_PUBLIC int mai_result_exit_status(const mai_result *result);
MAI_PUBLIC const char *mai_result_violation_kind(const mai_result *result);    /* or NULL */
MAI_PUBLIC const char *mai_result_violation_message(const mai_result *result); /* or NULL */
MAI_PUBLIC const char *mai_result_error_code(const mai_result *result);        /* or NULL */
MAI_PUBLIC const char *mai_result_error_message(const mai_result *result);     /* or NULL */
MAI_PUBLIC const char *mai_result_error_hint(const mai_result *result);        /* or NULL */

/* ---- The policy, and housekeeping ---- */

/* Reads and validates a policy file (NULL: the usual search). *ret_path (caller frees) tells which one was
 * read. */
MAI_PUBLIC int mai_policy_check(const char *path, char **ret_path, mai_error **ret_error);
/* What a trust level (NULL: the default one) resolves to, as YAML text. Caller frees. */
MAI_PUBLIC int mai_policy_show(
    const char *path, const char *trust_level, char **ret_text, mai_error **ret_error);
/*
 * What this host can enforce, found out by making a few containers under the default policy of that file
 * (NULL: the usual search) and reading back what holds. Takes a fraction of a second.
 */
typedef struct mai_report mai_report;
MAI_PUBLIC int mai_doctor(const char *policy_path, mai_report **ret, mai_error **ret_error);
/* 1: the default policy is enforced in full by the backend that it names; 0: a run would be refused. */
MAI_PUBLIC int mai_report_enforced(const mai_report *report);
/* For people: lines of text, each thing that is missing with the reason and the fix. Owned by the report. */
MAI_PUBLIC const char *mai_report_text(const mai_report *report);
/* The same as one JSON document. Owned by the report. */
MAI_PUBLIC const char *mai_report_json(const mai_report *report);
MAI_PUBLIC mai_report *mai_report_free(mai_report *report);

/* ---- Images ---- */

/* How far it has come. What is not known yet is 0. */
typedef struct mai_image_progress {
        unsigned parts_done, parts; /* layers */
        uint64_t bytes_done, bytes;
} mai_image_progress;

/* Called from within mai_image_pull(), on its thread. A return other than 0 gives up. */
typedef int (*mai_image_handler)(const mai_image_progress *progress, void *user);

/*
 * Fetches the image `reference` ("debian:12", "registry:5000/team/python@sha256:...") for a backend (NULL:
 * the one that the policy names) and waits for it. `name` is what it is called here (NULL: as the
 * reference). *ret_digest (caller frees) is what results of its runs will say. `handler` may be NULL.
 */
MAI_PUBLIC int mai_image_pull(const char *policy_path, const char *backend, const char *reference,
    const char *name, mai_image_handler handler, void *user, char **ret_digest, mai_error **ret_error);

/*
 * Images of the native engine: unpacked trees below /var/lib/mai-sandbox (root) or
 * ~/.local/share/mai-sandbox. Makes one of a file (a tar of a root file system, an OCI layout in a tar, or
 * what `docker save` writes; compressed or not) or of a directory that holds an OCI layout, in place of one
 * of that name. `max_bytes` of all files together and `max_files` of them bound it; 0: the defaults, 16 GiB
 * and 1,000,000. *ret_json (caller frees) is what mai_images_json() would say of it. `handler` may be NULL.
 */
MAI_PUBLIC int mai_image_import(const char *path, const char *name, uint64_t max_bytes, uint64_t max_files,
    mai_image_handler handler, void *user, char **ret_json, mai_error **ret_error);

typedef struct mai_images mai_images;
typedef struct mai_image {
        const char *name, *digest, *created; /* "sha256:..."; RFC 3339 */
        uint64_t size, files;                /* bytes in files; files, directories and links */
        int in_use;                          /* by a run, at the moment */
} mai_image;
MAI_PUBLIC int mai_images_open(mai_images **ret, mai_error **ret_error);
MAI_PUBLIC size_t mai_images_count(const mai_images *images);
/* Sorted by name. Valid until mai_images_free(). */
MAI_PUBLIC const mai_image *mai_images_at(const mai_images *images, size_t index);
/* All of them as one JSON array. Owned by the list. NULL if out of memory. */
MAI_PUBLIC const char *mai_images_json(const mai_images *images);
MAI_PUBLIC mai_images *mai_images_free(mai_images *images);
/* Refused (code "busy") while a run uses it. */
MAI_PUBLIC int mai_image_remove(const char *name, mai_error **ret_error);

/* Removes what dead supervisors left behind. *ret_removed counts containers. */
MAI_PUBLIC int mai_prune(unsigned *ret_removed, mai_error **ret_error);

#ifdef __cplusplus
}
#endif
