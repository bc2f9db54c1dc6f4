/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"

#include <signal.h>

static volatile sig_atomic_t caught;
static mai_sandbox *volatile target;

static void cancel_run(int signal)
{
        int saved = errno;
        caught = signal;
        if (target)
                mai_cancel(target);
        errno = saved;
}

static void do_nothing(int signal)
{
        (void)signal;
}

void signals_prepare(void)
{
        /*
         * A broken pipe, or a file larger than the caller's ulimit, is an error of that write, with a
         * message. A handler rather than SIG_IGN: execve() puts handlers back to the default, but leaves
         * what is ignored.
         */
        struct sigaction nothing = {.sa_handler = do_nothing};
        (void)sigemptyset(&nothing.sa_mask);
        (void)sigaction(SIGPIPE, &nothing, NULL);
        (void)sigaction(SIGXFSZ, &nothing, NULL);
}

void signals_install(mai_sandbox *sandbox)
{
        static const int cancelling[] = {SIGINT, SIGTERM, SIGHUP};
        target = sandbox;
        for (size_t i = 0; i < ARRAY_SIZE(cancelling); i++) {
                struct sigaction action = {.sa_handler = cancel_run};
                struct sigaction before;
                (void)sigemptyset(&action.sa_mask);
                if (sigaction(cancelling[i], &action, &before) == 0 && before.sa_handler == SIG_IGN)
                        (void)sigaction(cancelling[i], &before, NULL);
        }
}

void signals_detach(void)
{
        target = NULL;
}

int signals_caught(void)
{
        return caught;
}
