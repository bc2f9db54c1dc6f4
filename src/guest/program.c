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

/* Points into `data` (which outlives it); checks that every string ends inside. */
static int parse_spec(const struct strbuf *spec, struct exec_strings *ret)
{
        struct guest_spec head;
        if (spec->size < sizeof head)
                return -EBADMSG;
        memcpy(&head, spec->data, sizeof head);
        size_t strings = (size_t)head.argc + head.envc + 1;
        if (head.version != GUEST_PROTOCOL_VERSION || head.argc == 0 || strings > GUEST_SPEC_MAX / 2)
                return -EBADMSG;

        char **pointers = calloc(strings + 2, sizeof *pointers); /* two NULLs; lives until execve */
        if (!pointers)
                return -ENOMEM;
        char **argv = pointers;
        char **envp = pointers + head.argc + 1;
        char *at = spec->data + sizeof head;
        const char *end = spec->data + spec->size;
        bool complete = take_strings(&at, end, argv, head.argc) && take_strings(&at, end, envp, head.envc);
        char *path = complete ? take_string(&at, end) : NULL;
        if (!path) {
                free(pointers);
                return -EBADMSG;
        }
        *ret = (struct exec_strings){argv, envp, path};
        return 0;
}

/* The rest of the program's process's life under our code. */
_Noreturn static void run_program(
    const struct exec_strings *exec, int socket, const int standard[3], int gate, int exec_status)
{
        int failed = 0;
        (void)setsid(); /* so that signals to its process group never reach the init */
        if (chdir(GUEST_WORKDIR) < 0)
                failed = errno;
        for (int i = 0; i < 3; i++)
                if (dup2(standard[i], i) < 0)
                        failed = errno;
        /* No handler was ever installed and nothing is ignored (whoever spawned us saw to that): only the
         * mask is ours. */
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);

        struct guest_at_gate message = {
            .pid = (int32_t)getpid(), .dumpable = (uint32_t)prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)};
        if (frame_send(socket, GUEST_AT_GATE, &message, sizeof message, NULL, 0, NULL, 0) < 0)
                _exit(127);
        char go;
        ssize_t n;
        do {
                n = read(gate, &go, 1);
        } while (n < 0 && errno == EINTR);
        if (n != 1)
                _exit(127);

        if (failed == 0) {
                environ = exec->envp; /* execvpe looks PATH up here */
                (void)execvpe(exec->path, exec->argv, exec->envp);
                failed = errno;
        }
        (void)write(exec_status, &failed, sizeof failed);
        _exit(127);
}

int program_fork(struct program *program, const struct strbuf *spec, int socket, const int standard[3],
    struct setup_failure *failure)
{
        struct exec_strings exec;
        int r = parse_spec(spec, &exec);
        if (r < 0)
                return failure_set(failure, -r, NULL, NULL, "reading what to execute");

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
                run_program(&exec, socket, standard, gate[0], status[1]);
        }
        (void)close(gate[0]);
        (void)close(status[1]);
        free(exec.argv);
        program->pid = pid;
        program->gate = gate[1];
        program->exec_status = status[0];
        return 0;
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
