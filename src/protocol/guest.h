/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest protocol: between the supervisor and the init inside a container, the same for every backend. A
 * byte stream of frames: an 8-byte header, then `size` bytes of payload. Integers are little-endian (x86-64
 * and arm64 alike). On the native backend the stream is a Unix socket, on others whatever carries bytes.
 *
 * Order: PUT* SPEC -> the init forks the program's process, which locks down and announces itself with
 * AT_GATE -> the supervisor reads back what is enforced -> GO -> execve -> STARTED or EXEC_FAILED -> EXITED
 * -> [KILL_ALL] [COLLECT -> FILE* COLLECTED]. KILL_ALL may come at any time after SPEC; it is answered by
 * EXITED. SETUP_FAILED may come at any time before AT_GATE.
 *
 * Neither side trusts the other: sizes are bounded here, and the supervisor checks everything it receives,
 * since the program runs as the same user as the init.
 */
#pragma once

#include "protocol/failure.h"
#include "util/common.h"

#define GUEST_PROTOCOL_VERSION 1U
#define GUEST_FRAME_MAX (1U << 20)    /* payload bytes of one frame; larger is a protocol error */
#define GUEST_DATA_CHUNK (256U << 10) /* file data per frame */
#define GUEST_PATH_MAX 4096U

enum guest_frame_type {
        /* supervisor -> init */
        GUEST_PUT_FILE = 1, /* struct guest_put_file, path; data follows in PUT_DATA frames */
        GUEST_PUT_DATA,     /* bytes of the file begun last */
        GUEST_SPEC_DATA,    /* struct guest_spec, or more of its strings; see there */
        GUEST_SPEC_END,     /* the spec is complete: fork the program's process. On native with three
                               descriptors, to be its 0-2 */
        GUEST_GO,           /* open the gate */
        GUEST_KILL_ALL,     /* SIGKILL to everything but the init */
        GUEST_COLLECT,      /* struct guest_collect: everything but the init is killed first */

        /* init -> supervisor */
        GUEST_READY =
            64, /* struct guest_ready: the init is locked down. On native, with descriptors: see there */
        GUEST_AT_GATE, /* struct guest_at_gate; sent by the program's own process, so that SCM_CREDENTIALS
                          names it */
        GUEST_STARTED, /* the execve happened (the gate's CLOEXEC descriptor closed) */
        GUEST_EXEC_FAILED, /* struct guest_exec_failed */
        GUEST_EXITED,      /* struct guest_exited: the program's first process has ended */
        GUEST_FILE, /* struct guest_file, path; data follows in FILE_DATA frames, `size` bytes in all */
        GUEST_FILE_DATA,
        GUEST_FILE_SKIPPED, /* struct guest_file_skipped, path */
        GUEST_COLLECTED,    /* struct guest_collected */
        GUEST_SETUP_FAILED, /* struct setup_failure (protocol/failure.h) */
        GUEST_SAMPLE,       /* struct guest_sample, where the host can't sample (not on native) */
};

struct guest_header {
        uint32_t size; /* payload bytes that follow */
        uint16_t type;
        uint16_t reserved;
};

struct guest_put_file {
        uint64_t size;
        uint32_t mode;      /* permission bits */
        uint32_t path_size; /* bytes of path that follow (no NUL); relative to /sandbox, checked again by the
                               init */
};

/*
 * The exec spec is sent as the concatenated payload of SPEC_DATA frames: this struct, then argc
 * NUL-terminated arguments, then envc NUL-terminated "K=V", then the NUL-terminated path of the program to
 * execute (looked up in PATH by the init when it has no slash). At most GUEST_SPEC_MAX bytes in all.
 */
#define GUEST_SPEC_MAX (8U << 20)
struct guest_spec {
        uint32_t version; /* GUEST_PROTOCOL_VERSION */
        uint32_t argc;
        uint32_t envc;
        uint32_t flags; /* 0 */
};

/* On native the READY frame carries descriptors: [0] an O_PATH one of the writable tmpfs, for fstatfs; [1]
 * the seccomp listener, if has_listener. */
struct guest_ready {
        uint32_t version;
        uint32_t has_listener;
        uint32_t seccomp_filters; /* what prctl says of itself */
        int32_t landlock_abi;     /* 0: not in force */
        uint32_t degraded;        /* bits of enum enforcement that the init had to waive */
        uint64_t step_nsec[8];    /* mounts, pivot, wait for limits, lock-down, rest; for bench/cold */
};

struct guest_at_gate {
        int32_t pid; /* in the container's own pid namespace */
        uint32_t dumpable;
};

struct guest_exec_failed {
        int32_t errnum;
};

struct guest_exited {
        int32_t wait_status; /* as wait(2) gives it */
        uint32_t reaped;     /* orphans reaped so far */
        uint32_t killed;     /* processes that it left running, and that were killed for it */
        uint32_t reserved;
        uint64_t user_usec, system_usec; /* of the program's process and the children it waited for */
        uint64_t max_rss_bytes;
};

struct guest_collect {
        uint64_t max_files;
        uint64_t max_bytes;
        uint32_t max_depth;
        uint32_t reserved;
};

struct guest_file {
        uint64_t size;
        int64_t mtime_nsec;
        uint32_t mode;
        uint32_t path_size; /* path relative to /sandbox, no NUL */
};

enum guest_skip_reason {
        GUEST_SKIP_NOT_REGULAR = 1, /* symlink, FIFO, socket, device */
        GUEST_SKIP_TOO_LARGE,
        GUEST_SKIP_TOO_MANY,
        GUEST_SKIP_TOO_DEEP,
        GUEST_SKIP_UNREADABLE,
        GUEST_SKIP_HARD_LINK, /* the same inode was sent under another name: not sent twice */
};

struct guest_file_skipped {
        uint32_t reason; /* enum guest_skip_reason */
        uint32_t path_size;
};

struct guest_collected {
        uint64_t files, bytes,
            skipped; /* skipped counts all, though only the first GUEST_SKIPS_MAX are named */
};
#define GUEST_SKIPS_MAX 64U

struct guest_sample {
        uint64_t cpu_usec, memory_bytes, pids;
};
