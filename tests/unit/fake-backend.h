/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend without isolation, for tests of the executor: plays a script of events, each due a while after
 * the one before or after a call of the executor. Stands in for the container manager too.
 */
#pragma once

#include "sandbox/executor.h"

enum cue {
        CUE_NONE, /* after the event before */
        CUE_EXECUTE,
        CUE_RELEASE,
        CUE_KILL, /* everything between here and the last event told is skipped when kill() comes */
        CUE_COLLECT,
        CUE_DESTROY, /* skipped to in the same way; without one, DESTROYED (complete) comes by itself */
};

struct step {
        enum cue cue;
        unsigned delay_msec;
        unsigned repeat; /* times more, without delay */
        struct container_event event;
};

struct script {
        const struct step *steps;
        size_t count;

        /* What sample() says: the CPU time grows by `cpus` per second since STARTED. */
        double cpus;
        struct usage usage;
        int sample_status, collect_status, create_status;
        bool create_cancelled;
        bool never_destroyed;

        /* What the executor did. */
        unsigned samples, kills, puts, executes, releases, collects, destroys, frees, discards[2];
        char argv[4096], environment[4096]; /* of execute(), one line each */
        char put_paths[4096];               /* of put_file() */
        bool released_complete;
};

/* The container manager that executor_run() is given plays this script. */
struct container_manager {
        struct script *script;
};

/* Good evidence for a spec. */
void fake_evidence(const struct container_spec *spec, struct evidence *ret);
/* A spec with modest limits. Owned by the caller, as ever. */
struct container_spec fake_spec(void);
