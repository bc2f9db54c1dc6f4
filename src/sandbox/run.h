/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one run, and the steps that its events and deadlines have in common: ending it for one reason
 * or another, looking at its usage, telling the listener. Internal to the executor.
 *
 * A run goes through these phases; each has a deadline of ours, so that a backend that hangs costs a bounded
 * time.
 *
 *   WAITING -> CREATING -> STARTING -> RUNNING -> [KILLING] -> DRAINING -> [COLLECTING] -> DESTROYING ->
 * GONE
 *
 * Any step may end the run: callers look at the phase again before they go on.
 */
#pragma once

#include "sandbox/events.h"
#include "sandbox/executor.h"
#include "sandbox/monitor.h"
#include "sandbox/run_network.h"
#include "sandbox/stream.h"

#define KILL_MSEC 50U

enum phase {
        PHASE_WAITING, /* for admission: there is no container yet */
        PHASE_CREATING,
        PHASE_STARTING, /* at the gate, or past it: nothing of the user's is known to run */
        PHASE_RUNNING,
        PHASE_KILLING,  /* EXITED is awaited */
        PHASE_DRAINING, /* OUTPUT_END is awaited */
        PHASE_COLLECTING,
        PHASE_DESTROYING,
        PHASE_GONE,
        PHASE_COUNT_,
};

struct run {
        struct container_manager *manager;
        const struct execution_request *request;
        const struct execution_listener *listener;
        struct result *result;
        const struct container_spec *spec; /* the result's */
        struct managed_container managed;
        const char **environment;

        enum phase phase;
        uint64_t phase_since, phase_deadline;
        uint64_t created_at;           /* creation began */
        uint64_t gate_at;              /* the program's process was there */
        uint64_t released_at;          /* the gate was opened, from when the program's time counts */
        uint64_t started_at, ended_at; /* of the program; 0: not yet */
        bool cancelled, failed, exited, drained, looked_at_end;
        bool destroyed; /* the backend said so */
        unsigned failed_looks;
        int cancel_fd; /* forgotten once it has fired */
        int wait_status;
        struct monitor monitor;
        struct run_network network;
        struct stream_cutter streams[2];
};

/* Seconds since the program's start; -1 before it. */
double run_seconds(const struct run *run, uint64_t now);

/* Goes to a phase that may last `patience` nanoseconds. */
void run_enter(struct run *run, enum phase phase, uint64_t patience);

void run_tell_phase(struct run *run, const char *name);
void run_note(struct run *run, const struct event_note *what);

/* Somebody wants it to end. Nothing happens to a program that is over already. */
void run_cancel(struct run *run);

/* Records what ended the run, unless something of higher precedence did, and kills the program. */
void run_violate(struct run *run, const struct violation *violation);

/* The sandbox itself failed: takes the error (the first one stands), and gives up. */
void run_fail(struct run *run, struct error *err);
void run_fail_oom(struct run *run);

/* Takes an error that leaves the program's own outcome as it is. */
void run_complain(struct run *run, struct error *err);

/* Reads the usage into the result. 0 or -errno as container_ops.sample() says. */
int run_look(struct run *run);
void run_check_cpu_time(struct run *run);
/* The look that the monitor asked for. */
void run_look_in_between(struct run *run);

/* The program is dead and its output read: collects its files if they are wanted, and goes on to the end. */
void run_after_drain(struct run *run);
void run_begin_destroy(struct run *run);

/* Everything is as it should be: the program may start. */
void run_release_gate(struct run *run);
