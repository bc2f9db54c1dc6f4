/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ctrl-C, SIGTERM and SIGHUP cancel the run; then the program reports and exits with 128+n. The only global
 * state of the command line lives here, because a signal handler has no other way to know its sandbox.
 */
#pragma once

#include "util/common.h"

#include "mai/sandbox.h"

/* To be called first of all: signals that writing may bring become errors of the write. */
void signals_prepare(void);

/*
 * From now on the signals cancel what runs in `sandbox` (system calls are interrupted, not restarted).
 * Signals that were ignored stay so (nohup).
 */
void signals_install(mai_sandbox *sandbox);

/* Before the sandbox is closed: the handlers only take note. */
void signals_detach(void);

/* The signal that came, or 0. */
int signals_caught(void);
