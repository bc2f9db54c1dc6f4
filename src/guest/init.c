/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/init.h"

#include "guest/collect.h"
#include "guest/files.h"
#include "guest/program.h"
#include "util/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* How long the end of the program waits for its killed descendants to be gone before it is reported
 * regardless. */
#define REAP_DEADLINE (50 * NSEC_PER_MSEC)

struct init {
        struct link *link;
        const struct init_extension *extension; /* or NULL */
        int signals;                            /* signalfd for SIGCHLD */
        int workdir;                            /* O_PATH of /sandbox */
        struct put_state put;
        size_t spec_size;
        struct program program;
        uint32_t reaped;
        uint32_t killed; /* found running at the end, and killed */
        bool exited;     /* EXITED was sent */
};

/*
 * Not from the heap, which a run would otherwise have no need of: its first use costs three system calls and
 * as many page faults, pages that are never touched cost nothing.
 */
static char payload[GUEST_FRAME_MAX]; /* of the frame at hand */
static char spec[GUEST_SPEC_MAX];     /* what to execute, as it has come so far */

_Noreturn void init_fail(struct link *link, const struct setup_failure *failure)
{
        if (link_send(link, GUEST_SETUP_FAILED, failure, sizeof *failure, NULL, 0) == 0)
                link->ops->drain(link);
        _exit(1);
}

/* A protocol error or our supervisor's end: the container ends with us. */
_Noreturn static void die(void)
{
        _exit(1);
}

static void send_or_die(struct init *init, enum guest_frame_type type, const void *data, size_t size)
{
        if (link_send(init->link, type, data, size, NULL, 0) < 0)
                die();
}

static void tell_extension(struct init *init, enum init_moment moment)
{
        if (init->extension && init->extension->tell(init->extension->state, moment) < 0)
                die();
}

static void check_started(struct init *init)
{
        if (program_check_started(&init->program, init->link) < 0)
                die();
}

static void send_exited(struct init *init, int wait_status, const struct rusage *usage)
{
        struct guest_exited exited = {
            .wait_status = wait_status,
            .reaped = init->reaped,
            .killed = init->killed,
            .user_usec = (uint64_t)usage->ru_utime.tv_sec * USEC_PER_SEC + (uint64_t)usage->ru_utime.tv_usec,
            .system_usec =
                (uint64_t)usage->ru_stime.tv_sec * USEC_PER_SEC + (uint64_t)usage->ru_stime.tv_usec,
            .max_rss_bytes = (uint64_t)usage->ru_maxrss * 1024,
        };
        send_or_die(init, GUEST_EXITED, &exited, sizeof exited);
        init->exited = true;
}

/*
 * SIGKILL to everything but ourselves, then reap until nobody is left or the deadline passes: a process may
 * be stuck in the kernel for a while, and the answer must not wait for it (the cgroup's end does).
 */
static void kill_everyone(struct init *init)
{
        uint64_t deadline = clock_now() + REAP_DEADLINE;
        while (kill(-1, SIGKILL) == 0) {
                pid_t pid;
                int status;
                struct rusage usage;
                while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
                        init->reaped++;
                        if (pid == init->program.pid && !init->exited) {
                                init->program.ended = true;
                                init->program.wait_status = status;
                                init->program.usage = usage;
                        } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
                                init->killed++;
                        }
                }
                if (pid < 0 || clock_now() > deadline)
                        return;
                (void)usleep(200);
        }
}

/* Takes every child that has ended. The end of the program's own process ends the others too. */
static void reap(struct init *init)
{
        int status;
        struct rusage usage;
        pid_t pid;
        while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
                if (pid != init->program.pid || init->exited) {
                        init->reaped++;
                        continue;
                }
                init->program.ended = true;
                init->program.wait_status = status;
                init->program.usage = usage;
        }
}

static void report_end(struct init *init)
{
        if (!init->program.ended)
                return;
        check_started(init);
        kill_everyone(init);
        tell_extension(init, INIT_ENDED);
        send_exited(init, init->program.wait_status, &init->program.usage);
        tell_extension(init, INIT_EXITED);
}

/* Starts the program's process where its streams travel through us. */
static int start_carried(struct init *init, int standard[3], struct setup_failure *failure)
{
        const struct init_extension *extension = init->extension;
        int announce = init->link->in;
        int r = extension->open_streams(extension->state, standard, &announce);
        if (r < 0)
                return failure_set(failure, -r, NULL, NULL, "making the program's standard streams");
        r = program_fork(&init->program, spec, init->spec_size, announce, standard, failure);
        (void)close(announce);
        return r;
}

/* Starts the program's process. Its standard descriptors must be nobody else's, so that their end can be
 * seen. */
static void on_spec_end(struct init *init, int fds[GUEST_SPEC_END_FDS])
{
        struct setup_failure failure = {};
        if (init->program.pid > 0)
                die();
        int r = init->extension ? start_carried(init, fds, &failure)
                                : program_await(&init->program, spec, init->spec_size, init->link->in, fds,
                                      fds[3], init->link, &failure);
        if (r < 0)
                init_fail(init->link, &failure);
        for (int i = 0; i < GUEST_SPEC_END_FDS; i++)
                close_and_forget(&fds[i]);
        init->spec_size = 0;
}

/* What has been sent SIGKILL can't do anything more, so its end may be told before it is complete. */
static void on_kill_all(struct init *init)
{
        kill_everyone(init);
        reap(init);
        if (!init->program.ended) {
                init->program.ended = true;
                init->program.wait_status = SIGKILL;
        }
        report_end(init);
}

static void on_collect(struct init *init, const struct guest_collect *limits)
{
        kill_everyone(init);
        reap(init);
        if (collect_files(init->link, init->workdir, limits, payload) < 0)
                die();
}

static void handle_frame(struct init *init, uint16_t type, uint32_t size, int *fds, size_t fd_count)
{
        if (fd_count != (type == GUEST_SPEC_END && !init->extension ? GUEST_SPEC_END_FDS : 0U))
                die();
        switch (type) {
        case GUEST_PUT_FILE:
        case GUEST_PUT_DATA: {
                struct setup_failure failure;
                int r = type == GUEST_PUT_FILE
                            ? put_begin(&init->put, init->workdir, payload, size, &failure)
                            : put_data(&init->put, payload, size, &failure);
                if (r < 0)
                        init_fail(init->link, &failure);
                return;
        }
        case GUEST_SPEC_DATA:
                if (size > sizeof spec - init->spec_size)
                        die(); /* the supervisor's own bound is the same */
                memcpy(spec + init->spec_size, payload, size);
                init->spec_size += size;
                return;
        case GUEST_SPEC_END:
                on_spec_end(init, fds);
                return;
        case GUEST_GO:
                if (!init->extension)
                        die();
                program_release(&init->program);
                tell_extension(init, INIT_RELEASED);
                return;
        case GUEST_KILL_ALL:
                on_kill_all(init);
                return;
        case GUEST_COLLECT: {
                struct guest_collect limits;
                if (size != sizeof limits)
                        die();
                memcpy(&limits, payload, sizeof limits);
                on_collect(init, &limits);
                return;
        }
        default:
                if (!init->extension ||
                    init->extension->take_frame(init->extension->state, type, payload, size) <= 0)
                        die();
        }
}

/* HOME and the caches below it: writable, and gone with the container. */
static void make_home(void)
{
        (void)mkdir(GUEST_HOME, 0700);
}

static void send_ready(const struct init_config *config, const struct lockdown_state *state)
{
        struct guest_ready ready = {
            .version = GUEST_PROTOCOL_VERSION,
            .has_listener = state->listener >= 0,
            .landlock_abi = state->landlock_abi,
            .degraded = config->degraded | state->degraded,
        };

        struct link *link = config->link;
        if (config->extension) {
                if (link_send(link, GUEST_READY, &ready, sizeof ready, NULL, 0) < 0)
                        die();
                return;
        }
        _cleanup_(closep) int workdir = openat(AT_FDCWD, GUEST_WORKDIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int fds[2] = {workdir, state->listener};
        if (workdir < 0 || link->ops->send(link, GUEST_READY, &ready, sizeof ready, NULL, 0, fds,
                               ready.has_listener ? 2 : 1) < 0)
                die();
}

/* One round: waits for something and deals with it. */
static void serve(struct init *init)
{
        enum { LINK, SIGNALS, EXEC_STATUS, OWN_COUNT_ };
        struct pollfd watched[OWN_COUNT_ + INIT_EXTENSION_WATCH_MAX] = {
            [LINK] = {.fd = init->link->in, .events = POLLIN},
            [SIGNALS] = {.fd = init->signals, .events = POLLIN},
            [EXEC_STATUS] = {.fd = init->program.exec_status, .events = POLLIN}, /* negative: ignored */
        };
        const struct init_extension *extension = init->extension;
        int timeout = -1;
        size_t n = extension ? extension->watch(extension->state, watched + OWN_COUNT_, &timeout) : 0;
        if (poll(watched, OWN_COUNT_ + n, timeout) < 0 && errno != EINTR)
                die();

        if (watched[EXEC_STATUS].revents)
                check_started(init);
        if (extension && extension->handle(extension->state, watched + OWN_COUNT_, n) < 0)
                die();
        if (watched[SIGNALS].revents) {
                struct signalfd_siginfo info;
                while (read(init->signals, &info, sizeof info) == (ssize_t)sizeof info) {
                }
                reap(init);
                report_end(init);
        }
        if (watched[LINK].revents) {
                uint16_t type;
                uint32_t size;
                int fds[FD_PASS_MAX];
                size_t fd_count;
                int r = init->link->ops->receive(init->link, &type, payload, &size, fds, &fd_count);
                if (r < 0)
                        die();
                if (r > 0)
                        handle_frame(init, type, size, fds, fd_count);
        }
}

_Noreturn void init_main(const struct init_config *config)
{
        struct setup_failure failure;
        struct lockdown_state state;
        if (lockdown(&config->lockdown, &state, &failure) < 0)
                init_fail(config->link, &failure);
        /* Changing ids and dropping capabilities clears it; the launcher's death must be ours. */
        if (config->die_with_parent)
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (config->extension)
                config->extension->locked_down(config->extension->state, &state);
        make_home();
        send_ready(config, &state);
        close_and_forget(&state.listener);

        struct init init = {
            .link = config->link,
            .extension = config->extension,
            .put = {.fd = -1},
            .program = PROGRAM_INIT,
        };
        sigset_t children;
        (void)sigemptyset(&children);
        (void)sigaddset(&children, SIGCHLD);
        sigset_t blocked = children;
        (void)sigaddset(&blocked, SIGPIPE); /* a pipe whose reader is gone says so by an error */
        (void)sigprocmask(SIG_SETMASK, &blocked, NULL);
        init.signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
        init.workdir = openat(AT_FDCWD, GUEST_WORKDIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (init.signals < 0 || init.workdir < 0)
                die();

        for (;;)
                serve(&init);
}
