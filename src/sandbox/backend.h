/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the executor and what isolates: one table of functions per backend, and two objects.
 *
 *   container   one isolated instance, from create to destroy
 *   execution   one program in it: started with an exec spec, watched, killed, collected (today one per
 * container)
 *
 * Everything is asynchronous: calls start something and return at once; what happened comes as events from
 * container_ops.next(), which never blocks. The container's descriptor is readable when next() has
 * something. One thread at a time per container. A backend gets a container spec and never reads the policy.
 *
 * Life of a container, by its events:
 *   create() -> CREATED -> [put_file()*, execute()] -> AT_GATE (evidence read back) -> release_gate() ->
 * STARTED
 *   -> OUTPUT*, OOM, ... -> EXITED -> OUTPUT_END (both streams drained or cut) -> [collect() -> FILE*
 * COLLECTED]
 *   -> destroy() -> DESTROYED. FAILED may come instead of any event before STARTED; LOST after it.
 */
#pragma once

#include "policy/spec.h"
#include "sandbox/evidence.h"
#include "util/error.h"

struct backend;
struct container;

enum output_stream { STREAM_STDOUT, STREAM_STDERR };

struct exec_spec {
        const char *const *argv;        /* argv[0] is looked up in the image's PATH if it has no slash */
        const char *const *environment; /* complete: nothing is added */
        int stdin_fd;                   /* the caller keeps it; -1: empty standard input */
};

enum container_event_type {
        CONTAINER_NOTHING, /* next(): nothing now; wait for the descriptor */
        CONTAINER_CREATED,
        CONTAINER_AT_GATE,
        CONTAINER_STARTED,
        CONTAINER_EXEC_FAILED, /* errnum: the command could not be executed (ENOENT, EACCES, ENOEXEC…) */
        CONTAINER_OUTPUT,
        CONTAINER_OUTPUT_END,
        CONTAINER_OOM,            /* count: processes killed for want of memory, so far */
        CONTAINER_PIDS_REFUSED,   /* count: forks refused so far */
        CONTAINER_SYSCALL_DENIED, /* name, count: how often so far */
        CONTAINER_SOCKET,         /* where the gateway meets the guest: see below; only with network_mode
                                     "dependencies" */
        CONTAINER_EXITED,
        CONTAINER_FILE,         /* one file that the run left; path, data valid until next() */
        CONTAINER_FILE_SKIPPED, /* path, reason */
        CONTAINER_COLLECTED,
        CONTAINER_DESTROYED,
        CONTAINER_FAILED, /* error: nothing of the user's ran */
        CONTAINER_LOST,   /* error: the container vanished under us */
};

struct container_event {
        enum container_event_type type;
        union {
                struct evidence *evidence; /* AT_GATE; owned by the container */
                int errnum;                /* EXEC_FAILED */
                int socket; /* SOCKET: a listening stream socket inside, once before AT_GATE, or one
                               connection of the program's; the receiver's to close */
                struct {
                        enum output_stream stream;
                        const char *data; /* valid until next() */
                        size_t size;
                } output;
                struct {
                        const char *name; /* static */
                        uint64_t count;
                } count; /* OOM, PIDS_REFUSED, SYSCALL_DENIED */
                struct {
                        int wait_status;
                        unsigned reaped;
                        unsigned killed; /* descendants that were still running, and killed */
                } exited;
                struct {
                        const char
                            *path; /* relative to the working directory; path_size bytes, any byte but NUL */
                        size_t path_size;
                        const char *data; /* FILE */
                        size_t size;
                        unsigned mode;
                        const char *reason; /* FILE_SKIPPED: "not_regular", "too_large", ... */
                } file;
                struct {
                        uint64_t files, bytes, skipped;
                } collected;
                struct {
                        bool complete;
                        unsigned processes_killed;
                        const char *leftover; /* or NULL */
                } destroyed;
                struct error *error; /* FAILED, LOST; owned by the container: move it out */
        };
};

/* One reading of what the container uses now. UINT64_MAX: not measured. */
#define NOT_MEASURED UINT64_MAX
struct usage {
        uint64_t cpu_nsec, cpu_user_nsec, cpu_system_nsec; /* cumulative */
        uint64_t memory_bytes, memory_peak_bytes;
        uint64_t pids, pids_peak; /* without our init */
        uint64_t disk_bytes, disk_free_bytes;
        uint64_t inodes_free;
        uint64_t io_read_bytes, io_write_bytes; /* block devices */
        uint64_t net_rx_bytes, net_tx_bytes;
};

struct collect_limits {
        uint64_t max_files, max_bytes;
        unsigned max_depth;
};

struct container_ops {
        unsigned destroy_msec; /* how long DESTROYED may take before it counts as not complete */

        /*
         * Starts to make a container. `id` names it (32 hexadecimal digits), `slot` is unique among live
         * containers of this host. Both are copied; the spec must outlive the container.
         */
        int (*create)(struct backend *backend, const struct container_spec *spec, const char *id,
            unsigned slot, struct container **ret, struct error *err);

        /* Is it made, so that nothing more happens before execute()? NULL: as soon as CREATED was told. */
        bool (*waits)(const struct container *container);

        int (*fd)(const struct container *container); /* poll for reading */
        int (*next)(struct container *container, struct container_event *ret_event, struct error *err);

        /* Puts a file into the working directory. Before execute(). Data is copied or sent before it
         * returns. */
        int (*put_file)(struct container *container, const char *path, unsigned mode, const void *data,
            size_t size, struct error *err);

        int (*execute)(struct container *container, const struct exec_spec *spec, struct error *err);
        int (*release_gate)(struct container *container, struct error *err);

        /* Fills every member. 0; -EAGAIN: there is no reading yet, and it is too early to worry; -errno. */
        int (*sample)(struct container *container, struct usage *ret);

        /* Kills every process of the program at once; EXITED follows within `deadline_msec`, by force if
         * need be. */
        int (*kill)(struct container *container, unsigned deadline_msec);

        /* Stops delivering this stream: what is in it is read and dropped from now on. */
        void (*discard_output)(struct container *container, enum output_stream stream);

        int (*collect)(struct container *container, const struct collect_limits *limits);

        /*
         * Begins the end of everything that runs in it, while its usage can still be read: nothing but
         * sample() and destroy() may follow. NULL: there is nothing to be gained. Allowed in any state.
         */
        void (*dismiss)(struct container *container);

        /* Ends and removes everything. Allowed in any state; DESTROYED follows. */
        int (*destroy)(struct container *container);

        struct container *(*free)(
            struct container *container); /* after DESTROYED; also kills if it was not */
};

/* ---- Images ---- */

#define IMAGE_DIGEST_SIZE 80

/* How far a pull has come. What is not known yet is 0. */
struct image_progress {
        unsigned parts_done, parts; /* layers */
        uint64_t bytes_done, bytes;
};

struct image_pull {
        const char *engine;    /* where the engine is, as docker_host of a spec; NULL: its usual place */
        const char *reference; /* "debian:12", "registry:5000/team/python@sha256:..." */
        const char *name;      /* what it is to be called here; NULL: as the reference */
        int (*progress)(const struct image_progress *progress, void *user); /* or NULL; not 0: give up */
        void *user;
};

struct backend_ops {
        const char *name; /* "native" */
        /* Begins to make the backend ready, without waiting: cheap, and called before the policy is read. */
        int (*open)(struct backend **ret, struct error *err);
        struct backend *(*close)(struct backend *backend);
        /* Removes what a dead supervisor's container left. 0 when nothing of it is left. */
        int (*prune)(struct backend *backend, const char *id, unsigned slot, struct error *err);
        /*
         * PATH of programs in an image, as its own configuration gives it; the caller frees *ret. NULL: it
         * gives none, and neither does a backend without this.
         */
        int (*search_path)(const char *image, char **ret, struct error *err);
        /*
         * Fetches an image, and waits for it. *ret_digest is what results of its runs call it. NULL: this
         * backend can't.
         */
        int (*pull)(struct backend *backend, const struct image_pull *pull,
            char ret_digest[IMAGE_DIGEST_SIZE], struct error *err);
        const struct container_ops *container;
};

extern const struct backend_ops native_backend;

/* The backend of that name, or NULL. */
const struct backend_ops *backend_find(const char *name);
