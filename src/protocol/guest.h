/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest protocol: between the supervisor and the init inside a container, the same for every backend. A
 * byte stream of frames: an 8-byte header, then `size` bytes of payload. Integers are little-endian (x86-64
 * and arm64 alike). On the native backend the stream is a Unix socket that passes descriptors too; on others
 * it is whatever carries bytes, on the stand-alone init's standard input and output (guest/standalone.c).
 *
 * Order: [CONFIGURE] -> READY -> PUT* SPEC -> the init forks the program's process, which locks down and
 * announces itself with AT_GATE [EVIDENCE] -> the supervisor reads back what is enforced -> GO -> execve ->
 * STARTED or EXEC_FAILED -> EXITED
 * -> [KILL_ALL] [COLLECT -> FILE* COLLECTED]. KILL_ALL may come at any time after SPEC; it is answered by
 * EXITED. SETUP_FAILED may come at any time before AT_GATE.
 *
 * Only where no descriptors can be passed (the stand-alone init):
 *   - CONFIGURE comes first and is answered by READY or SETUP_FAILED. EVIDENCE follows AT_GATE.
 *   - The program's standard streams travel in frames. OUTPUT comes from SPEC_END on, and OUTPUT_END exactly
 *     once per stream, before or after EXITED (at most GUEST_DRAIN_MSEC after it, if the peer reads). The
 *     init reads the program's pipes only while it has room to queue, so a peer that does not read makes the
 *     program wait, and nothing is dropped. It goes on answering KILL_ALL meanwhile; EXITED then comes
 *     behind what was queued before it, and the rest of what was in the pipes behind EXITED.
 *   - INPUT may be sent from SPEC_END on, at most GUEST_INPUT_WINDOW bytes beyond what INPUT_TAKEN has
 *     acknowledged (more is a protocol error), so that the init can read every frame at once and never has
 *     to make the supervisor wait. INPUT_END closes the program's standard input behind what was sent.
 *   - SAMPLE comes at the asked period from GO on, and once more just before EXITED; COUNTS when a count has
 *     changed. Both are left out while more than half of the init's queue waits to be read, but not the
 *     last ones.
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
#define GUEST_SPEC_END_FDS 4

enum guest_frame_type {
        /* supervisor -> init */
        GUEST_PUT_FILE = 1, /* struct guest_put_file, path; data follows in PUT_DATA frames */
        GUEST_PUT_DATA,     /* bytes of the file begun last */
        GUEST_SPEC_DATA,    /* struct guest_spec, or more of its strings; see there */
        GUEST_SPEC_END,     /* the spec is complete: fork the program's process. On native with
                               GUEST_SPEC_END_FDS descriptors: its 0-2, and the gate's other end */
        GUEST_GO,           /* open the gate; not on native, where a byte written to the gate does */
        GUEST_KILL_ALL,     /* SIGKILL to everything but the init */
        GUEST_COLLECT,      /* struct guest_collect: everything but the init is killed first */
        GUEST_CONFIGURE,    /* struct guest_configure, paths; the first frame, and not on native */
        GUEST_INPUT,        /* bytes for the program's standard input */
        GUEST_INPUT_END,    /* the end of it */
        GUEST_DISCARD, /* struct guest_stream: read and drop this stream from now on; its end is still told
                        */

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
        GUEST_COUNTS,       /* struct guest_counts */
        GUEST_EVIDENCE,     /* struct guest_evidence: what holds for the program's process at the gate */
        GUEST_OUTPUT,       /* struct guest_stream, then 1 to GUEST_OUTPUT_MAX bytes */
        GUEST_OUTPUT_END,   /* struct guest_stream */
        GUEST_INPUT_TAKEN,  /* struct guest_input_taken */
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

/* ---- Where no descriptors can be passed ---- */

#define GUEST_INPUT_WINDOW (256U << 10)
#define GUEST_OUTPUT_MAX (64U << 10)
#define GUEST_DRAIN_MSEC 100U
#define GUEST_NOT_MEASURED UINT64_MAX /* in samples and evidence: not visible from inside */

enum guest_configure_flags {
        GUEST_CONFIGURE_LOAD_FILTER = 1U << 0, /* load our own seccomp filter: nobody else has */
        GUEST_CONFIGURE_LANDLOCK_OPTIONAL = 1U << 1,
        GUEST_CONFIGURE_GROUPS_OPTIONAL = 1U << 2,
        GUEST_CONFIGURE_CPUS_OPTIONAL = 1U << 3, /* a CPU mask that can't be set is waived */
        GUEST_CONFIGURE_FLAGS_ALL_ = (1U << 4) - 1,
};

#define GUEST_CPU_WORDS 16U /* 1,024 CPUs */
#define GUEST_WRITABLE_MAX 16U
#define GUEST_WRITABLE_PATH_MAX 64U

struct guest_configure {
        uint32_t version;  /* GUEST_PROTOCOL_VERSION */
        uint32_t flags;    /* enum guest_configure_flags */
        uint32_t uid, gid; /* that the init must be running as; never 0 */
        uint64_t open_files;
        uint64_t capabilities;          /* kept; 0 unless unsafe */
        uint64_t cpus[GUEST_CPU_WORDS]; /* CPUs to run on; all zero: leave them as they are */
        uint32_t sample_msec;           /* period; 0: no samples but the last */
        uint32_t
            writable_size; /* bytes of what follows: at most GUEST_WRITABLE_MAX absolute paths, each with its
                              NUL, that Landlock leaves writable and EVIDENCE reports; /sandbox first */
};

enum guest_stream_number { GUEST_STDOUT, GUEST_STDERR, GUEST_STREAM_COUNT_ };

struct guest_stream {
        uint32_t stream; /* enum guest_stream_number */
};

struct guest_input_taken {
        uint64_t bytes;  /* in all, handed to the program or dropped */
        uint32_t closed; /* 1: the program has closed its standard input; what still comes is dropped */
        uint32_t reserved;
};

/* Where a figure comes from. */
enum guest_source {
        GUEST_SOURCE_NONE,
        GUEST_SOURCE_CGROUP_V1,
        GUEST_SOURCE_CGROUP_V2,
        GUEST_SOURCE_PROC, /* summed over the processes that are alive, plus what was reaped: a lower bound
                            */
};

/* GUEST_NOT_MEASURED where a figure is not there. Everything includes the init but the counts of processes.
 */
struct guest_sample {
        uint64_t cpu_usec, cpu_user_usec, cpu_system_usec; /* cumulative */
        uint64_t memory_bytes, memory_peak_bytes;
        uint64_t pids, pids_peak;                        /* threads too; without the init */
        uint64_t disk_bytes;                             /* used, of all writable file systems together */
        uint64_t disk_free_bytes, inodes_free;           /* of the one that has least */
        uint32_t cpu_source, memory_source, pids_source; /* enum guest_source */
        uint32_t reserved;
};

struct guest_counts {
        uint64_t oom_kills; /* processes killed for want of memory so far; GUEST_NOT_MEASURED: not visible */
        uint64_t forks_refused; /* for want of pids_limit; likewise */
};

enum guest_namespace {
        GUEST_NAMESPACE_USER,
        GUEST_NAMESPACE_MNT,
        GUEST_NAMESPACE_PID,
        GUEST_NAMESPACE_NET,
        GUEST_NAMESPACE_IPC,
        GUEST_NAMESPACE_UTS,
        GUEST_NAMESPACE_CGROUP,
        GUEST_NAMESPACE_COUNT_,
};

enum guest_mount_flags {
        GUEST_MOUNT_READ_ONLY = 1U << 0,
        GUEST_MOUNT_NOSUID = 1U << 1,
        GUEST_MOUNT_NODEV = 1U << 2,
        GUEST_MOUNT_NOEXEC = 1U << 3,
        GUEST_MOUNT_MISSING = 1U << 4,    /* there is no such path, or it can't be looked at */
        GUEST_MOUNT_UNWRITABLE = 1U << 5, /* the init's user may not write there */
        GUEST_MOUNT_TMPFS = 1U << 6,
};

struct guest_mount {
        char path[GUEST_WRITABLE_PATH_MAX]; /* NUL-terminated */
        uint32_t flags;                     /* enum guest_mount_flags */
        uint32_t uid, gid, mode; /* of the directory; permission bits with setuid, setgid, sticky */
        uint64_t device;         /* equal numbers: one file system */
        uint64_t bytes, inodes;  /* its size */
};

#define GUEST_GROUPS_MAX 32U
#define GUEST_INTERFACES_MAX 8U
#define GUEST_INTERFACE_SIZE 16U
#define GUEST_UNKNOWN UINT32_MAX /* in 32-bit members: the kernel does not say */
#define GUEST_RELEASE_SIZE 64U

/*
 * Read by the init from the kernel while the program's process waits at the gate. The word of the guest:
 * what the supervisor can learn from outside too, it must compare. Where a kernel's files do not say what
 * the program's process has inherited from the init, the init says what it has itself.
 */
struct guest_evidence {
        int32_t pid;                     /* of the program's process, in the container's pid namespace */
        int32_t landlock_abi;            /* 0: not in force */
        uint32_t uid[4], gid[4];         /* real, effective, saved, file system; as seen inside */
        uint32_t uid_map[3], gid_map[3]; /* first line: inside, outside, count */
        uint32_t uid_map_lines, gid_map_lines;
        uint32_t group_count; /* supplementary groups; the first GUEST_GROUPS_MAX are listed */
        uint32_t groups[GUEST_GROUPS_MAX];
        uint64_t cap_inheritable, cap_permitted, cap_effective, cap_bounding, cap_ambient;
        uint32_t no_new_privs, seccomp_mode, seccomp_filters; /* GUEST_UNKNOWN: not said */
        uint32_t dumpable;                                    /* of the init; must be 0 */
        uint64_t namespaces[GUEST_NAMESPACE_COUNT_];          /* inodes, of the init; 0: not readable */
        uint32_t cpus_allowed;
        uint32_t root_flags;             /* enum guest_mount_flags, of / */
        uint64_t open_files, core_limit; /* hard limits of the program's process */
        uint32_t cgroup_version;         /* of the files that are visible inside; 0: none */
        uint32_t cgroup_writable;        /* 1: some visible cgroup directory can be written to */
        uint64_t memory_max,
            memory_swap_max; /* as in struct evidence; GUEST_NOT_MEASURED: none or not visible */
        uint64_t pids_max;
        uint64_t cpu_quota_usec, cpu_period_usec;
        uint32_t interface_count; /* network interfaces; GUEST_UNKNOWN: not readable */
        uint32_t mount_count;
        char interfaces[GUEST_INTERFACES_MAX][GUEST_INTERFACE_SIZE]; /* names of the first ones */
        struct guest_mount mounts[GUEST_WRITABLE_MAX]; /* the configured writable paths, in their order */
        char kernel_release[GUEST_RELEASE_SIZE];       /* of the kernel that the container runs on */
};
