/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/native/launcher_client.h"

#include "sandbox/failure.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The launcher's program, embedded at build time (src/launcher/meson.build). */
extern const char embedded_launcher[];
extern const uint64_t embedded_launcher_size;

/* Linux 6.3; needed where vm.memfd_noexec is set, refused by older kernels. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* A copy in memory that nobody can change any more. The descriptor is far above those that the child will
 * use. */
static int sealed_copy(void)
{
        static const char name[] = "mai-sandbox-launcher";
        _cleanup_(closep) int low = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
        if (low < 0 && errno == EINVAL)
                low = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (low < 0)
                return -errno;
        int r = fd_write_all(low, embedded_launcher, embedded_launcher_size);
        if (r < 0)
                return r;
        if (fcntl(low, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                return -errno;
        int fd = fcntl(low, F_DUPFD_CLOEXEC, LAUNCHER_SOCKET_FD + 16);
        return fd < 0 ? -errno : fd;
}

/*
 * Runs it with the socket as descriptor 3, no environment, and all signals blocked until it sets its own
 * mask: a handler of ours must not run in the child while it shares our memory. vfork() rather than
 * posix_spawn(), which asks for every signal's disposition in a call of its own.
 */
static int spawn(int program, int socket, int image, pid_t *ret_pid)
{
        char *const argv[] = {
            (char *)"mai-sandbox-launcher", image < 0 ? NULL : (char *)LAUNCHER_IMAGE_WORD, NULL};
        char *const envp[] = {NULL};
        sigset_t all, before;
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        /* The child makes two system calls and writes to none of the memory that it shares. */
        pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)
        if (pid == 0) {
                // NOLINTNEXTLINE(clang-analyzer-unix.Vfork)
                if (dup2(socket, LAUNCHER_SOCKET_FD) >= 0 &&
                    // NOLINTNEXTLINE(clang-analyzer-unix.Vfork)
                    (image < 0 || dup2(image, LAUNCHER_IMAGE_FD) >= 0))
                        // NOLINTNEXTLINE(clang-analyzer-unix.Vfork)
                        (void)syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
                _exit(127);
        }
        int error = errno;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (pid < 0)
                return -error;
        *ret_pid = pid;
        return 0;
}

/* A run has some thirty descriptors at once, of ours or of the launcher's, which inherits the limit. */
#define OPEN_FILES_MIN 64U

/* Said at the start: where descriptors run out later, the message would be about whatever needed one. */
static int check_open_files(struct error *err)
{
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= OPEN_FILES_MIN)
                return 0;
        return error_set(err, ERROR_BACKEND, EMFILE, NULL,
            "a run needs a limit of %u open files, and it is %u here", OPEN_FILES_MIN,
            (unsigned)limit.rlim_cur);
}

int launcher_start(int image, struct launcher_client *ret, struct error *err)
{
        int r = check_open_files(err);
        if (r < 0)
                return r;
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_set(err, ERROR_BACKEND, errno, NULL, "making the launcher's socket");
        _cleanup_(closep) int ours = pair[0];
        _cleanup_(closep) int low = pair[1];
        /* Out of the way of descriptors 0-3, which the spawned process fills one after another. */
        _cleanup_(closep) int theirs = fcntl(low, F_DUPFD_CLOEXEC, LAUNCHER_SOCKET_FD + 16);
        _cleanup_(closep) int tree = image < 0 ? -1 : fcntl(image, F_DUPFD_CLOEXEC, LAUNCHER_SOCKET_FD + 16);
        _cleanup_(closep) int program = sealed_copy();
        if (theirs < 0 || program < 0 || (image >= 0 && tree < 0))
                return error_set(err, ERROR_BACKEND, program < 0 ? -program : errno,
                    program == -EFBIG ? "raise the limit of file sizes (ulimit -f)" : NULL,
                    "copying the launcher to memory");
        pid_t pid;
        r = spawn(program, theirs, tree, &pid);
        if (r < 0)
                return error_set(err, ERROR_BACKEND, -r, NULL, "starting the launcher");
        *ret = (struct launcher_client){.pid = pid, .socket = take_fd(&ours)};
        return 0;
}

void launcher_stop(struct launcher_client *client)
{
        close_and_forget(&client->socket);
        if (client->pid > 0) {
                /* One that somebody stopped would never see its socket's end, and we never its own. */
                (void)kill(client->pid, SIGCONT);
                while (waitpid(client->pid, NULL, 0) < 0 && errno == EINTR) {
                }
                client->pid = 0;
        }
}

int launcher_send(struct launcher_client *client, void *message, enum launcher_message_type type,
    size_t size, const int *fds, size_t n, struct error *err)
{
        struct launcher_header *header = message;
        *header = (struct launcher_header){
            .version = LAUNCHER_PROTOCOL_VERSION, .type = type, .size = (uint32_t)size};
        int r = fd_send(client->socket, message, size, fds, n);
        if (r == -EPIPE) {
                /* It has ended, and may have said why. */
                union launcher_message last;
                int received[FD_PASS_MAX];
                size_t count = 0;
                r = launcher_receive(client, true, &last, received, &count, err);
                return r < 0 ? r : error_set(err, ERROR_BACKEND, EPIPE, NULL, "the launcher is gone");
        }
        return r < 0 ? error_set(err, ERROR_BACKEND, -r, NULL, "talking to the launcher") : 0;
}

int launcher_receive(struct launcher_client *client, bool wait, union launcher_message *ret,
    int fds[FD_PASS_MAX], size_t *ret_n, struct error *err)
{
        size_t n = 0;
        ssize_t size = fd_receive(client->socket, ret, sizeof *ret, fds, &n, NULL, wait ? 0 : MSG_DONTWAIT);
        if (size == -EAGAIN)
                return 0;
        if (size <= 0)
                return error_set(
                    err, ERROR_BACKEND, size < 0 ? (int)-size : EPIPE, NULL, "the launcher is gone");
        if ((size_t)size < sizeof ret->header || ret->header.size != (uint32_t)size ||
            ret->header.version != LAUNCHER_PROTOCOL_VERSION) {
                for (size_t i = 0; i < n; i++)
                        (void)close(fds[i]);
                return error_set(
                    err, ERROR_INTERNAL, EBADMSG, NULL, "the launcher sent a malformed message");
        }
        if (ret->header.type == LAUNCHER_FAILED)
                return failure_to_error(&ret->failed.failure, err);
        *ret_n = n;
        return 1;
}
