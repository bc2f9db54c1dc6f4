/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the library and the launcher, over one SEQPACKET socket. Each message is one fixed struct
 * in host byte order (both ends are one build: the launcher is embedded in the library), with descriptors
 * beside it.
 *
 *   launcher -> library   FAILED     at any time, if it can't go on (in place of what was expected)
 *   library -> launcher   CREATE     + descriptors
 *   launcher -> library   CREATED    + descriptors, or FAILED
 *   library -> launcher   DESTROY    end the container and remove everything of it
 *   launcher -> library   DESTROYED
 *   library -> launcher   PRUNE      remove what a dead supervisor's container left; answered by DESTROYED
 *
 * A launcher makes one container; once that is destroyed it exits. The end of the stream means that the
 * library's process is gone: it destroys the container then, too.
 */
#pragma once

#include "protocol/failure.h"
#include "util/common.h"

#define LAUNCHER_PROTOCOL_VERSION 1U
/* The launcher finds its socket here. */
#define LAUNCHER_SOCKET_FD 3
/*
 * And here, if the word LAUNCHER_IMAGE_WORD is the last of its arguments, the directory of an image, whose
 * tree its container gets instead of a view of the host. Its lock is held for as long as this is open.
 */
#define LAUNCHER_IMAGE_FD 4
#define LAUNCHER_IMAGE_WORD "image"
/* The name of the tree in that directory. */
#define LAUNCHER_IMAGE_ROOT "root"
#define LAUNCHER_ID_SIZE 40
#define LAUNCHER_CPU_WORDS 16 /* 1,024 CPUs */
#define LAUNCHER_PATH_SIZE 512

enum launcher_message_type {
        LAUNCHER_CREATE = 1,
        LAUNCHER_CREATED,
        LAUNCHER_DESTROY,
        LAUNCHER_DESTROYED,
        LAUNCHER_PRUNE,
        LAUNCHER_FAILED,
};

struct launcher_header {
        uint32_t version; /* LAUNCHER_PROTOCOL_VERSION */
        uint32_t type;    /* enum launcher_message_type */
        uint32_t size;    /* of the whole message */
        uint32_t reserved;
};

/* Controllers, as indexes of descriptors and as bits of masks. On v2 all of them share one directory. */
enum launcher_controller {
        CONTROLLER_MEMORY,
        CONTROLLER_PIDS,
        CONTROLLER_CPU,
        CONTROLLER_CPUACCT, /* v1 only; v2 has it in cpu */
        CONTROLLER_UNIFIED, /* a v2 hierarchy: the only one, or beside v1 for cgroup.kill */
        CONTROLLER_COUNT_,
};

enum launcher_create_flags {
        LAUNCHER_READ_WRITE_ROOT = 1U << 0,    /* unsafe: the root is a writable tmpfs overlay */
        LAUNCHER_SECCOMP_UNCONFINED = 1U << 1, /* unsafe */
        LAUNCHER_ALLOW_NEW_PRIVS = 1U << 2,    /* unsafe */
        LAUNCHER_LISTENER = 1U << 3,           /* a socket on which the gateway meets the guest */
        LAUNCHER_CREATE_FLAGS_ALL_ = (1U << 4) - 1,
};

struct launcher_create {
        struct launcher_header header;
        char id[LAUNCHER_ID_SIZE];   /* [a-z0-9-], NUL-terminated; names the cgroups: mai-sandbox-ID */
        uint32_t flags;              /* enum launcher_create_flags */
        uint32_t degraded_allowed;   /* bits of enum enforcement */
        uint32_t uid, gid;           /* inside; never 0 */
        uint32_t host_uid, host_gid; /* outside; never 0; only real root can give just these */
        uint32_t slot; /* unique among live containers of this user: everybody else's range of ids
                          is counted by it */
        uint32_t reserved;
        uint64_t memory_bytes;
        uint64_t pids; /* as the kernel is to count them: the program's plus one for the init */
        uint64_t disk_bytes;
        uint64_t inodes;
        uint64_t open_files;
        uint64_t cpu_quota_usec; /* per cpu_period_usec */
        uint64_t cpu_period_usec;
        uint64_t cpu_seconds;              /* CPU time of one process; only where there is no cgroup */
        uint64_t capabilities;             /* 0 unless unsafe */
        uint64_t cpus[LAUNCHER_CPU_WORDS]; /* bit mask of the CPUs it may run on; never empty */
        char hostname[64];
};

/* One descriptor goes with CREATE: the init's end of the guest channel, a stream socket. */
/*
 * Descriptors that go with CREATED: the init's pidfd, then one directory per bit of `controllers`, in order;
 * then, if it was asked for, a TCP socket that listens in the container's network namespace
 * (protocol/gateway.h).
 */
struct launcher_created {
        struct launcher_header header;
        int32_t init_pid; /* in the library's pid namespace */
        int32_t cgroup_version;
        uint32_t controllers;
        uint32_t degraded;                    /* bits of enum enforcement */
        char cgroup_path[LAUNCHER_PATH_SIZE]; /* relative to the hierarchy's root, of the memory controller
                                                 (v1) or the cgroup (v2) */
};

struct launcher_destroy {
        struct launcher_header header;
};

struct launcher_prune {
        struct launcher_header header;
        char id[LAUNCHER_ID_SIZE]; /* of the dead container */
};

struct launcher_destroyed {
        struct launcher_header header;
        uint32_t processes_killed;         /* found alive beside the init at the end */
        uint32_t complete;                 /* 1: no process and no cgroup is left */
        char leftover[LAUNCHER_PATH_SIZE]; /* what is, when not complete */
};

struct launcher_failed {
        struct launcher_header header;
        struct setup_failure failure;
};
