/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/native/container.h"

#include "protocol/frames.h"
#include "sandbox/exec_spec.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/*
 * Sends a frame. A broken channel is no error here: whoever broke it (the launcher, the init) has said why,
 * or its end shows as an event.
 */
static int tell(struct container *c, enum guest_frame_type type, const void *head, size_t head_size,
    const void *tail, size_t tail_size, const int *fds, size_t n, struct error *err)
{
        int r = frame_send(c->guest.socket, type, head, head_size, tail, tail_size, fds, n);
        if (r == 0 || r == -EPIPE || r == -ECONNRESET)
                return 0;
        return error_set(err, ERROR_BACKEND, -r, NULL, "talking to the container's init");
}

int container_put_file(
    struct container *c, const char *path, unsigned mode, const void *data, size_t size, struct error *err)
{
        struct guest_put_file head = {.size = size, .mode = mode, .path_size = (uint32_t)strlen(path)};
        int r = tell(c, GUEST_PUT_FILE, &head, sizeof head, path, head.path_size, NULL, 0, err);
        for (size_t at = 0; at < size && r == 0; at += GUEST_DATA_CHUNK)
                r = tell(c, GUEST_PUT_DATA, (const char *)data + at,
                    MIN(size - at, (size_t)GUEST_DATA_CHUNK), NULL, 0, NULL, 0, err);
        return r;
}

int container_execute(struct container *c, const struct exec_spec *exec, struct error *err)
{
        _cleanup_(strbuf_clear) struct strbuf spec = STRBUF_INIT(GUEST_SPEC_MAX);
        int r = exec_spec_encode(exec, &spec, err);
        for (size_t at = 0; at < spec.size && r == 0; at += GUEST_DATA_CHUNK)
                r = tell(c, GUEST_SPEC_DATA, spec.data + at, MIN(spec.size - at, (size_t)GUEST_DATA_CHUNK),
                    NULL, 0, NULL, 0, err);
        if (r < 0)
                return r;

        _cleanup_(closep) int empty = -1;
        if (exec->stdin_fd < 0) {
                empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
                if (empty < 0)
                        return error_set(err, ERROR_BACKEND, errno, NULL, "opening /dev/null");
        }
        int gate[2];
        /* A socket rather than a pipe: a byte sent to a process that is gone is an error here, not a signal.
         */
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0)
                return error_set(err, ERROR_BACKEND, errno, NULL, "making the gate");
        _cleanup_(closep) int theirs = gate[0];
        c->gate = gate[1];
        const int fds[GUEST_SPEC_END_FDS] = {
            exec->stdin_fd < 0 ? empty : exec->stdin_fd, c->output_ends[0], c->output_ends[1], theirs};
        r = tell(c, GUEST_SPEC_END, NULL, 0, NULL, 0, fds, GUEST_SPEC_END_FDS, err);
        for (int i = 0; i < 2; i++)
                close_and_forget(&c->output_ends[i]); /* now the program's alone: their end is its end */
        return r;
}

int container_release_gate(struct container *c, struct error *err)
{
        /* The process is there, waiting for it, or else its end is on the way to us as an event. */
        ssize_t n = send(c->gate, "g", 1, MSG_NOSIGNAL);
        int error = errno;
        close_and_forget(&c->gate);
        return n == 1 || error == EPIPE ? 0 : error_set(err, ERROR_BACKEND, error, NULL, "opening the gate");
}

int container_kill(struct container *c, unsigned deadline_msec)
{
        if (c->exited)
                return 0;
        c->killed = true;
        close_and_forget(&c->gate); /* whoever waits there ends, and the init listens again */
        container_set_timer(c, MAX(deadline_msec, 1U));
        return frame_send(c->guest.socket, GUEST_KILL_ALL, NULL, 0, NULL, 0, NULL, 0);
}

int container_collect(struct container *c, const struct collect_limits *limits)
{
        /* Its end was an event before, and will not be one again: whoever waits for the files waits in vain.
         */
        if (c->init_gone)
                return -ESRCH;
        struct guest_collect message = {
            .max_files = limits->max_files, .max_bytes = limits->max_bytes, .max_depth = limits->max_depth};
        return frame_send(c->guest.socket, GUEST_COLLECT, &message, sizeof message, NULL, 0, NULL, 0);
}

void container_dismiss(struct container *c)
{
        c->destroying = true;
        if (c->pidfd >= 0)
                (void)syscall(
                    SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0); /* the launcher does so as well */
}

int container_destroy(struct container *c)
{
        struct launcher_destroy message = {};
        c->destroying = true;
        if (c->meter.disk >= 0)
                close_and_forget(&c->meter.disk); /* it would keep the file system */
        if (c->launcher.pid > 0)
                (void)kill(c->launcher.pid, SIGCONT); /* somebody may have stopped it */
        return launcher_send(&c->launcher, &message, LAUNCHER_DESTROY, sizeof message, NULL, 0, NULL);
}
