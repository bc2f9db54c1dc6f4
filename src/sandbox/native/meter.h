/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what a container uses and which of its limits struck, from its cgroup directories (v1 and v2) and
 * its file system. Files are opened once; a reading is a handful of preads.
 */
#pragma once

#include "protocol/launcher.h"
#include "sandbox/backend.h"

#include <sys/types.h>

enum meter_file {
        METER_CPU,      /* v1 cpuacct.usage; v2 cpu.stat */
        METER_CPU_USER, /* v1 only */
        METER_CPU_SYSTEM,
        METER_MEMORY,
        METER_MEMORY_PEAK,
        METER_MEMORY_EVENTS, /* v1 memory.oom_control; v2 memory.events */
        METER_PIDS,
        METER_PIDS_PEAK,
        METER_PIDS_EVENTS,
        METER_FILE_COUNT_,
};

struct meter {
        int version;                        /* of the cgroups; 0: nothing to read */
        int directories[CONTROLLER_COUNT_]; /* -1: none */
        int files[METER_FILE_COUNT_];       /* -1: not there */
        int oom_event;                      /* v1: eventfd told of an out-of-memory situation; -1 */
        int disk;                           /* O_PATH of the writable file system; -1 */

        /* Without cgroups (version 0): the highest of what was seen, and whether it was too much. */
        pid_t init;
        uint64_t memory_max;
        uint64_t cpu_user_nsec, cpu_system_nsec, memory_peak_bytes, pids_peak;
        bool over_memory;
};
#define METER_INIT                                                                                          \
        {                                                                                                   \
                .directories = {-1, -1, -1, -1, -1}, .files = {-1, -1, -1, -1, -1, -1, -1, -1, -1},         \
                .oom_event = -1, .disk = -1                                                                 \
        }

/* Takes over the directories (by controller) that came with CREATED. 0 or -errno. */
int meter_open(struct meter *meter, int version, uint32_t controllers, const int *fds);

/*
 * For a container without cgroups, whose processes descend from `init`: they are added up at each reading,
 * and more than `memory_max` bytes count as one kill for want of memory, which the oom_event tells. 0 or
 * -errno.
 */
int meter_open_processes(struct meter *meter, pid_t init, uint64_t memory_max);
void meter_close(struct meter *meter);

/*
 * Without cgroups a program may be over before anybody looked; the kernel's account of its largest process
 * (in bytes) is known then. Changes nothing where a cgroup counts.
 */
void meter_note_peak(struct meter *meter, uint64_t bytes);

/* Fills every member. */
void meter_read(struct meter *meter, struct usage *ret);

/* Processes killed for want of memory, forks refused, so far. 0 where it can't be known. */
uint64_t meter_oom_kills(const struct meter *meter);
uint64_t meter_forks_refused(const struct meter *meter);
