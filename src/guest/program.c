/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/program.h"

#include "protocol/frames.h"
#include "guest/init.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

struct exec_strings {
        char **argv;
        char **envp;
        char *path; /* of the program to execute; may have no slash */
};

/* The string at *at, which moves on past it; NULL if it does not end before `end`. */
static char *take_string(char **at, const char *end)
{
        char *start = *at;
        char *stop = memchr(start, '\0', (size_t)(end - start));
        if (!stop)
                return NULL;
        *at = stop + 1;
        return start;
}

static bool take_strings(char **at, const char *end, char **ret, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                ret[i] = take_string(at, end);
                if (!ret[i])
                        return false;
        }
        return true;
}

/* Room for the pointers to so many strings is at hand; more of them take the heap, whose first use is dear.
 */
#define FEW_STRINGS 512

static char *few[FEW_STRINGS];

static void free_pointers(char **pointers)
{
        if (pointers != few)
                free(pointers);
}

/* Points into `spec` (which outlives it); checks that every string ends inside. */
static int parse_spec(char *spec, size_t spec_size, struct exec_strings *ret)
{
        struct guest_spec head;
        if (spec_size < sizeof head)
                return -EBADMSG;
        memcpy(&head, spec, sizeof head);
        size_t strings = (size_t)head.argc + head.envc + 1;
        if (head.version != GUEST_PROTOCOL_VERSION || head.argc == 0 || strings > GUEST_SPEC_MAX / 2)
                return -EBADMSG;

        char **pointers =
            strings + 2 <= FEW_STRINGS ? few : calloc(strings + 2, sizeof *pointers); /* two NULLs */
        if (!pointers)
                return -ENOMEM;
        char **argv = pointers;
        char **envp = pointers + head.argc + 1;
        char *at = spec + sizeof head;
        const char *end = spec + spec_size;
        bool complete = take_strings(&at, end, argv, head.argc) && take_strings(&at, end, envp, head.envc);
        char *path = complete ? take_string(&at, end) : NULL;
        if (!path) {
                free_pointers(pointers);
                return -EBADMSG;
        }
        *ret = (struct exec_strings){argv, envp, path};
        return 0;
}

/* What the program's process is to do until it is somebody else's. */
struct start {
        struct exec_strings exec;
        int socket;      /* to be announced on */
        int standard[3]; /* to be its descriptors 0-2 */
        int gate;        /* read end */
        int exec_status; /* write end, for the errno of a failed execve; -1: only `failed` is looked at */
        bool released;   /* the gate was opened */
        int failed;      /* that errno */
};

/* The rest of the program's process's life under our code. */
_Noreturn static void run_program(struct start *start)
{
        int failed = 0;
        (void)setsid(); /* so that signals to its process group never reach the init */
        if (chdir(GUEST_WORKDIR) < 0)
                failed = errno;
        for (int i = 0; i < 3; i++)
                if (dup2(start->standard[i], i) < 0)
                        failed = errno;
        /* No handler was ever installed and nothing is ignored (whoever spawned us saw to that): only the
         * mask is ours. */
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);

        struct guest_at_gate message = {
            .pid = (int32_t)getpid(), .dumpable = (uint32_t)prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)};
        if (frame_send(start->socket, GUEST_AT_GATE, &message, sizeof message, NULL, 0, NULL, 0) < 0)
                _exit(127);
        char go;
        ssize_t n;
        do {
                n = read(start->gate, &go, 1);
        } while (n < 0 && errno == EINTR);
        if (n != 1)
                _exit(127);

        start->released = true;
        if (failed == 0) {
                environ = start->exec.envp; /* execvpe looks PATH up here */
                // parse_spec() has seen to the path. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
                (void)execvpe(start->exec.path, start->exec.argv, start->exec.envp);
                failed = errno;
        }
        start->failed = failed;
        if (start->exec_status >= 0)
                (void)write(start->exec_status, &failed, sizeof failed);
        _exit(127);
}

static int prepare(struct start *start, char *spec, size_t spec_size, int socket, const int standard[3],
    struct setup_failure *failure)
{
        *start = (struct start){.socket = socket,
            .standard = {standard[0], standard[1], standard[2]},
            .gate = -1,
            .exec_status = -1};
        int r = parse_spec(spec, spec_size, &start->exec);
        return r < 0 ? failure_set(failure, -r, NULL, NULL, "reading what to execute") : 0;
}

int program_fork(struct program *program, char *spec, size_t spec_size, int socket, const int standard[3],
    struct setup_failure *failure)
{
        struct start start;
        int r = prepare(&start, spec, spec_size, socket, standard, failure);
        if (r < 0)
                return r;
        int gate[2], status[2];
        if (pipe2(gate, O_CLOEXEC) < 0)
                return failure_set(failure, errno, NULL, NULL, "making the gate");
        if (pipe2(status, O_CLOEXEC) < 0)
                return failure_set(failure, errno, NULL, NULL, "making the status pipe");
        pid_t pid = fork();
        if (pid < 0)
                return failure_set(failure, errno, "pids_limit", NULL, "forking the program's process");
        if (pid == 0) {
                (void)close(gate[1]);
                (void)close(status[0]);
                start.gate = gate[0];
                start.exec_status = status[1];
                run_program(&start);
        }
        (void)close(gate[0]);
        (void)close(status[1]);
        free_pointers(start.exec.argv);
        program->pid = pid;
        program->gate = gate[1];
        program->exec_status = status[0];
        return 0;
}

int program_await(struct program *program, char *spec, size_t spec_size, int socket, const int standard[3],
    int gate, struct link *link, struct setup_failure *failure)
{
        struct start start;
        int r = prepare(&start, spec, spec_size, socket, standard, failure);
        if (r < 0)
                return r;
        start.gate = gate;
        char **own_environment = environ;
        /* The child writes to none of our memory but `start` and what lies below our frame, and never
         * returns. */
        pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)
        if (pid == 0)
                run_program(&start); // NOLINT(clang-analyzer-unix.Vfork)
        int error = errno;
        environ = own_environment;
        free_pointers(start.exec.argv);
        if (pid < 0)
                return failure_set(failure, error, "pids_limit", NULL, "forking the program's process");
        program->pid = pid;
        if (!start.released)
                return 0; /* ended at the gate: its end is all there is to say */
        if (start.failed == 0)
                return link_send(link, GUEST_STARTED, NULL, 0, NULL, 0);
        struct guest_exec_failed message = {.errnum = start.failed};
        return link_send(link, GUEST_EXEC_FAILED, &message, sizeof message, NULL, 0);
}

void program_release(struct program *program)
{
        if (program->gate < 0)
                return;
        (void)write(program->gate, "g", 1);
        close_and_forget(&program->gate);
}

int program_check_started(struct program *program, struct link *link)
{
        if (program->exec_status < 0)
                return 0;
        int failed = 0;
        ssize_t n = read(program->exec_status, &failed, sizeof failed);
        close_and_forget(&program->exec_status);
        if (program->gate >= 0)
                return 0; /* killed at the gate: it never started */
        if (n != (ssize_t)sizeof failed)
                return link_send(link, GUEST_STARTED, NULL, 0, NULL, 0);
        struct guest_exec_failed message = {.errnum = failed};
        return link_send(link, GUEST_EXEC_FAILED, &message, sizeof message, NULL, 0);
}
