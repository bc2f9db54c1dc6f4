/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher: the only part that has privileges on the host. A small static program, started by the
 * library from a sealed copy in memory (nobody can overwrite what runs, CVE-2019-5736) and driven by the
 * fixed messages of protocol/launcher.h. It parses nothing that a user or a program wrote.
 *
 * It prepares a tree before it is asked to (the library reads its policy meanwhile), makes one container at
 * a time, and when its socket ends it removes the container and exits: whatever becomes of the library,
 * nothing stays behind.
 */
#include "launcher/container.h"
#include "launcher/tree.h"
#include "protocol/gateway.h"
#include "util/fd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* By then the program has been started; the shortest of Python's take longer. */
#define FORGET_AFTER_MSEC 10

static void send_message(
    void *message, enum launcher_message_type type, size_t size, const int *fds, size_t n)
{
        struct launcher_header *header = message;
        header->version = LAUNCHER_PROTOCOL_VERSION;
        header->type = type;
        header->size = (uint32_t)size;
        (void)fd_send(LAUNCHER_SOCKET_FD, message, size, fds,
            n); /* a library that is gone shows as the end of the stream */
}

static void send_failure(const struct setup_failure *failure)
{
        struct launcher_failed message = {.failure = *failure};
        send_message(&message, LAUNCHER_FAILED, sizeof message, NULL, 0);
}

/* ---- Before a request ---- */

/*
 * What is ignored stays so over execve(), down to the program. Which signals they are is one line of
 * /proc/self/status, "SigIgn:" and a mask; asking for each would be sixty calls, which is what there is
 * without /proc.
 */
static void heed_all_signals(void)
{
        /* The kernel's own struct, all zero: libc's functions refuse the signals that it keeps for itself.
         */
        static const uint64_t by_default[4];
        char status[4096];
        const char *line = NULL;
        if (fd_read_small(AT_FDCWD, "/proc/self/status", status, sizeof status) > 0)
                line = strstr(status, "\nSigIgn:\t");
        unsigned long long ignored = line ? strtoull(line + 9, NULL, 16) : ~0ULL;
        for (int number = 1; number <= 64; number++)
                if (ignored >> (number - 1) & 1)
                        (void)syscall(SYS_rt_sigaction, number, &by_default, NULL, sizeof(uint64_t));
}

/*
 * The container's limits are the policy's, so none that the caller happens to have may be felt inside: a
 * ulimit of memory, CPU time or file size would end the program with no word of ours, and one of stack or
 * open files be less than what the result says. Whoever may not raise a hard limit goes as far as it.
 */
static void lift_inherited_limits(void)
{
        static const struct {
                int resource;
                rlim_t value;
        } wanted[] = {
            {RLIMIT_AS, RLIM_INFINITY},
            {RLIMIT_DATA, RLIM_INFINITY},
            {RLIMIT_CPU, RLIM_INFINITY},
            {RLIMIT_FSIZE, RLIM_INFINITY},
            {RLIMIT_STACK, RLIM_INFINITY},
            {RLIMIT_NPROC, RLIM_INFINITY},
            {RLIMIT_NOFILE, 1U << 20},
        };
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
                struct rlimit limit = {wanted[i].value, wanted[i].value};
                if (setrlimit(wanted[i].resource, &limit) == 0 || getrlimit(wanted[i].resource, &limit) < 0)
                        continue;
                limit.rlim_cur = limit.rlim_max;
                (void)setrlimit(wanted[i].resource, &limit);
        }
}

/*
 * Nothing inherited: no terminal, no descriptors but the socket, no file mode mask, no directory, no blocked
 * signals, none ignored of those that shells, nohup and language runtimes like to ignore.
 */
static void detach_from_caller(bool image)
{
        sigset_t none;
        (void)sigemptyset(&none);
        heed_all_signals();
        lift_inherited_limits();
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)setsid();
        (void)fd_close_from(image ? LAUNCHER_IMAGE_FD + 1 : LAUNCHER_SOCKET_FD + 1);
        int null = openat(AT_FDCWD, "/dev/null", O_RDWR);
        for (int fd = 0; fd < LAUNCHER_SOCKET_FD && null >= 0; fd++)
                (void)dup2(null, fd);
        if (null > LAUNCHER_SOCKET_FD)
                (void)close(null);
        (void)umask(0);
        (void)chdir("/");
}

/* An empty network namespace with its loopback interface up: all that a container will ever have. */
static int prepare_network(struct setup_failure *failure)
{
        if (unshare(CLONE_NEWNET) < 0)
                return failure_unenforced(failure, errno, "network_mode",
                    "run as root with CAP_SYS_ADMIN, or as an ordinary user who may make user namespaces",
                    "making a network namespace");
        _cleanup_(closep) int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
        if (probe < 0 || ioctl(probe, SIOCSIFFLAGS, &request) < 0)
                return failure_set(
                    failure, errno, "network_mode", NULL, "bringing the loopback interface up");
        return 0;
}

static int prepare(struct host *host, const char *note, struct setup_failure *failure)
{
        int r = ids_become_root(note, host->image ? LAUNCHER_IMAGE_WORD : NULL, &host->ids, failure);
        if (r < 0)
                return r;
        cgroup_find_host(&host->cgroups);
        r = prepare_network(failure);
        if (r == 0)
                r = tree_prepare(host->image, &host->proc, failure);
        return r;
}

/* ---- Requests ---- */

static bool is_terminated(const char *text, size_t size)
{
        return memchr(text, '\0', size) != NULL;
}

static bool good_id(const char id[LAUNCHER_ID_SIZE])
{
        return is_terminated(id, LAUNCHER_ID_SIZE) && id[0] != '\0' &&
               strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz-") == strlen(id);
}

/* The library is trusted, but a mistake there must not become one here. */
static int check_create(const struct launcher_create *create, struct setup_failure *failure)
{
        bool good = good_id(create->id) && is_terminated(create->hostname, sizeof create->hostname) &&
                    create->uid != 0 && create->gid != 0 &&
                    !(create->flags & ~(uint32_t)LAUNCHER_CREATE_FLAGS_ALL_) && create->memory_bytes &&
                    create->pids && create->disk_bytes && create->inodes && create->open_files &&
                    create->cpu_quota_usec && create->cpu_period_usec;
        if (!good)
                return failure_set(failure, EINVAL, NULL, NULL, "the launcher was given a bad request");
        if (create->flags & LAUNCHER_ALLOW_NEW_PRIVS)
                return failure_unenforced(failure, 0, "security_opt",
                    "keep \"no-new-privileges\" in security_opt",
                    "the native engine always sets no_new_privs: its filter and Landlock rules need it");
        return 0;
}

/*
 * Where a program inside meets its gateway, which is outside: a socket belongs to the network namespace that
 * it was made in, whoever holds it. So nothing of ours has to run inside, and nothing but this socket leads
 * out. Its buffers are small, since they are not charged to the container.
 */
static int make_listener(struct setup_failure *failure)
{
        _cleanup_(closep) int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct sockaddr_in address = {.sin_family = AF_INET,
            .sin_port = htons(GATEWAY_PORT),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const int bytes = GATEWAY_SOCKET_BYTES;
        if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) < 0 ||
            setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) < 0 ||
            bind(listener, (const struct sockaddr *)&address, sizeof address) < 0 ||
            listen(listener, GATEWAY_BACKLOG) < 0)
                return failure_set(
                    failure, errno, "network_mode", NULL, "making the socket that leads to the gateway");
        return take_fd(&listener);
}

static void on_create(
    const struct host *host, struct container *container, const struct launcher_create *create, int guest)
{
        struct setup_failure failure;
        int r = check_create(create, &failure);
        if (r == 0 && container->pidfd >= 0)
                r = failure_set(&failure, EBUSY, NULL, NULL, "the launcher has a container already");
        if (r == 0)
                r = container_create(host, create, guest, container, &failure);
        _cleanup_(closep) int listener = -1;
        if (r == 0 && create->flags & LAUNCHER_LISTENER) {
                r = listener = make_listener(&failure);
                if (r < 0) {
                        struct launcher_destroyed ignored = {};
                        container_destroy(host, container, &ignored);
                }
        }
        if (r < 0) {
                send_failure(&failure);
                return;
        }
        struct launcher_created message = {
            .init_pid = container->pid,
            .cgroup_version = container->cgroup.version,
            .controllers = container->cgroup.controllers,
            .degraded = container->degraded,
        };
        int which = host->cgroups.version == 2 ? CONTROLLER_UNIFIED : CONTROLLER_MEMORY;
        const char *parent = host->cgroups.paths[which];
        (void)snprintf(message.cgroup_path, sizeof message.cgroup_path, "%.400s/%s",
            strcmp(parent, "/") == 0 ? "" : parent, container->cgroup.name);

        int out[2 + CONTROLLER_COUNT_] = {container->pidfd};
        size_t n = 1;
        for (int i = 0; i < CONTROLLER_COUNT_; i++)
                if (container->cgroup.directories[i] >= 0)
                        out[n++] = container->cgroup.directories[i];
        if (listener >= 0)
                out[n++] = listener;
        send_message(&message, LAUNCHER_CREATED, sizeof message, out, n);
}

/*
 * Lets go of the prepared tree while the program runs, rather than at our end, which somebody waits for; but
 * not at once: taking mounts apart waits for the kernel's RCU, and the child is doing so too, on its way to
 * the program.
 */
static void forget_when_idle(void)
{
        struct pollfd request = {.fd = LAUNCHER_SOCKET_FD, .events = POLLIN};
        if (poll(&request, 1, FORGET_AFTER_MSEC) == 0)
                tree_forget();
}

static void on_destroy(const struct host *host, struct container *container)
{
        struct launcher_destroyed message = {};
        container_destroy(host, container, &message);
        send_message(&message, LAUNCHER_DESTROYED, sizeof message, NULL, 0);
}

static void on_prune(const struct host *host, const struct launcher_prune *prune)
{
        struct launcher_destroyed message = {.complete = 1};
        struct setup_failure failure;
        if (!good_id(prune->id)) {
                (void)failure_set(&failure, EINVAL, NULL, NULL, "the launcher was given a bad id");
                send_failure(&failure);
                return;
        }
        unsigned killed = 0;
        if (cgroup_prune(&host->cgroups, prune->id, &killed, message.leftover) < 0)
                message.complete = 0;
        message.processes_killed = killed;
        send_message(&message, LAUNCHER_DESTROYED, sizeof message, NULL, 0);
}

/* Serves requests until the container is destroyed, or the library gone. */
static void serve(const struct host *host, struct container *container)
{
        for (;;) {
                union {
                        struct launcher_header header;
                        struct launcher_create create;
                        struct launcher_prune prune;
                } message;
                int fds[FD_PASS_MAX];
                size_t n = 0;
                ssize_t size = fd_receive(LAUNCHER_SOCKET_FD, &message, sizeof message, fds, &n, NULL, 0);
                if (size <= 0)
                        return;
                bool good = (size_t)size >= sizeof message.header && message.header.size == (uint32_t)size &&
                            message.header.version == LAUNCHER_PROTOCOL_VERSION;
                if (good && message.header.type == LAUNCHER_CREATE &&
                    (size_t)size == sizeof message.create && n == 1) {
                        on_create(host, container, &message.create, fds[0]);
                        (void)close(fds[0]);
                        if (container->pidfd >= 0)
                                forget_when_idle();
                        continue;
                }
                for (size_t i = 0; i < n; i++)
                        (void)close(fds[i]);
                if (good && message.header.type == LAUNCHER_PRUNE && (size_t)size == sizeof message.prune)
                        on_prune(host, &message.prune);
                else {
                        if (good && message.header.type == LAUNCHER_DESTROY)
                                on_destroy(host, container);
                        return;
                }
        }
}

/*
 * Answers the first request with why there is nothing to be had. Not before it has come: a socket that is
 * closed with something unread in it takes the answer along.
 */
static void refuse(const struct setup_failure *failure)
{
        struct launcher_create request;
        int fds[FD_PASS_MAX];
        size_t n = 0;
        if (fd_receive(LAUNCHER_SOCKET_FD, &request, sizeof request, fds, &n, NULL, 0) > 0)
                send_failure(failure);
}

/* The first argument is there when the program has started itself again, see ids.h; the other says "image".
 */
int main(int argc, char **argv)
{
        struct host host = {.proc = -1};
        struct container container = CONTAINER_INIT;
        struct setup_failure failure;
        host.image = argc > 1 && strcmp(argv[argc - 1], LAUNCHER_IMAGE_WORD) == 0;
        const char *note = argc > (host.image ? 2 : 1) ? argv[1] : NULL;
        detach_from_caller(host.image);
        if (prepare(&host, note, &failure) < 0) {
                refuse(&failure);
                return 1;
        }
        serve(&host, &container);
        struct launcher_destroyed ignored = {};
        container_destroy(&host, &container, &ignored);
        return 0;
}
