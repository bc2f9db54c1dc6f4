/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mai-sandbox-init: the init as a program of its own, for containers that somebody else builds (an engine
 * such as Docker). It is PID 1 there, runs as the container's user from its first instruction, and speaks
 * the guest protocol over its standard input and output. It trusts nobody's set-up: what it is told to
 * expect it verifies, what it can still give up it gives up, and what holds it reports.
 */
#include "guest/configure.h"
#include "guest/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* Above what the program's descriptors will be. */
#define FIRST_OWN_FD 10

/* Where there is no channel to say it on. */
_Noreturn static void give_up(const char *why)
{
        (void)dprintf(STDERR_FILENO, "mai-sandbox-init: %s\n", why);
        _exit(1);
}

/*
 * Our two streams move out of the way and are closed on exec; 0 and 1 become /dev/null, and whatever the
 * engine left open besides is closed. Standard error stays, for give_up().
 */
static void take_streams(struct queue *queue)
{
        int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
        int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (in < 0 || out < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
            dup2(nothing, STDOUT_FILENO) < 0)
                give_up("keeping the guest channel failed");
        (void)close(nothing);
        (void)fd_close_from(MAX(in, out) + 1);
        for (int fd = STDERR_FILENO + 1; fd < MAX(in, out); fd++)
                if (fd != in && fd != out)
                        (void)close(fd);
        if (queue_open(queue, in, out) < 0)
                give_up("opening the guest channel failed");
}

/* The first frame must be CONFIGURE. */
static void receive_configure(struct queue *queue, struct configuration *configuration)
{
        _cleanup_(freep) char *payload = malloc(GUEST_FRAME_MAX);
        uint16_t type = 0;
        uint32_t size = 0;
        int fds[FD_PASS_MAX];
        size_t n;
        int r = payload ? 0 : -ENOMEM;
        while (r == 0) {
                struct pollfd in = {.fd = queue->link.in, .events = POLLIN};
                if (poll(&in, 1, -1) < 0 && errno != EINTR)
                        r = -errno;
                else if (in.revents)
                        r = queue->link.ops->receive(&queue->link, &type, payload, &size, fds, &n);
        }
        if (r < 0)
                _exit(1); /* whoever wanted us is gone, or does not speak our language */
        struct setup_failure failure;
        if (type != GUEST_CONFIGURE)
                r = failure_set(&failure, EBADMSG, NULL, NULL, "the init's first message is not CONFIGURE");
        else
                r = configure_parse(configuration, payload, size, &failure);
        if (r < 0)
                init_fail(&queue->link, &failure);
}

/* As the program should find them: whatever the engine ignored is not. Of our own there is only the mask. */
static void reset_signals(void)
{
        for (int number = 1; number < NSIG; number++)
                (void)signal(number, SIG_DFL); /* fails for KILL and STOP, harmlessly */
        sigset_t pipes;
        (void)sigemptyset(&pipes);
        (void)sigaddset(&pipes, SIGPIPE);
        (void)sigprocmask(SIG_SETMASK, &pipes, NULL);
}

int main(void)
{
        /* 1. Closed to everything else that runs as this user, before anything does. */
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        (void)umask(022);
        reset_signals();
        if (chdir("/") < 0)
                give_up("there is no root directory");

        static struct queue queue; /* its address is kept by the link */
        take_streams(&queue);

        /* 2. Only PID 1 is given the orphans, and only its end is the end of everything. */
        struct setup_failure failure;
        if (getpid() != 1) {
                (void)failure_set(&failure, EINVAL, NULL,
                    "start it as the container's command, without another init",
                    "the init is process %d of the container, not process 1", (int)getpid());
                (void)dprintf(STDERR_FILENO, "mai-sandbox-init: %s\n", failure.message);
                init_fail(&queue.link, &failure);
        }

        /* 3. What we are to be, and whether we are. */
        static struct configuration configuration;
        static struct relay relay;
        unsigned degraded = 0;
        receive_configure(&queue, &configuration);
        if (configure_verify(&configuration, &degraded, &failure) < 0)
                init_fail(&queue.link, &failure);
        if (relay_init(&relay, &queue, &configuration.head, configuration.writable) < 0)
                give_up("out of memory");

        /* 4. The init, which gives up everything. */
        const struct guest_configure *head = &configuration.head;
        struct init_config config = {
            .link = &queue.link,
            .extension = &relay.extension,
            .lockdown =
                {
                    .uid = head->uid,
                    .gid = head->gid,
                    .open_files = head->open_files,
                    .capabilities = head->capabilities,
                    .seccomp = head->flags & GUEST_CONFIGURE_LOAD_FILTER,
                    .landlock_optional = head->flags & GUEST_CONFIGURE_LANDLOCK_OPTIONAL,
                    .groups_optional = head->flags & GUEST_CONFIGURE_GROUPS_OPTIONAL,
                    .writable = configuration.writable,
                },
            .degraded = degraded,
        };
        init_main(&config);
}
