/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native backend: containers that our own launcher builds. A container is a launcher process, the channel to
 * the init inside, the program's output pipes, and what the kernel tells through descriptors: all of them in one
 * epoll set, which is what the executor polls.
 */
#include "sandbox/backend.h"

#include "protocol/frames.h"
#include "sandbox/native/denied.h"
#include "sandbox/native/guest_channel.h"
#include "sandbox/native/launcher_client.h"
#include "sandbox/native/meter.h"
#include "sandbox/native/readback.h"
#include "util/clock.h"
#include "util/strbuf.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#define READ_SIZE 65536
/* CPU bandwidth is given per this many microseconds, the kernel's own default. */
#define CPU_PERIOD_USEC 100000U
/* The least quota that the kernel takes. */
#define CPU_QUOTA_MIN_USEC 1000U
/* After the end of the program and the death of its descendants, the pipes' end is at hand; this is for a process stuck in the kernel. */
#define DRAIN_DEADLINE_MSEC 100
/* How long destroy waits before the launcher counts as stuck is the executor's affair; prune has its own. */

/* Sources in the epoll set. */
enum source { SOURCE_LAUNCHER, SOURCE_GUEST, SOURCE_STDOUT, SOURCE_STDERR, SOURCE_OOM, SOURCE_PIDS, SOURCE_DENIED, SOURCE_TIMER };

struct backend {
        struct launcher_client launcher; /* started ahead; taken by the next container */
};

struct container {
        struct launcher_client launcher;
        struct guest_channel guest;
        struct meter meter;
        struct denied denied;
        struct evidence evidence;
        struct error error;
        char cgroup_path[LAUNCHER_PATH_SIZE];
        char leftover[LAUNCHER_PATH_SIZE];
        const struct container_spec *spec;
        int epoll;
        int pidfd;       /* of the init */
        int timer;       /* the deadline of a kill, or of draining */
        int output[2];   /* read ends by enum output_stream; -1: ended */
        int output_ends[2]; /* write ends, until the init has them */
        bool discarded[2];
        bool told_created;    /* the executor knows that files and the spec may be sent */
        bool made;            /* the launcher said so */
        pid_t gate_pid;       /* the program's process, waiting; 0 before */
        bool told_gate, started, exited, output_ended, lost, destroying, destroyed, killed;
        uint64_t oom_kills, forks_refused; /* as told so far */
        char *buffer;    /* output on its way */
        char *file;      /* content of the file being received, with its path in front */
        size_t file_size, file_have, file_path_size;
        unsigned file_mode;
        char id[LAUNCHER_ID_SIZE];
};

/* ---- The backend ---- */

static int native_open(struct backend **ret, struct error *err)
{
        struct backend *backend = calloc(1, sizeof *backend);
        if (!backend)
                return error_oom(err);
        backend->launcher = (struct launcher_client)LAUNCHER_CLIENT_INIT;
        int r = launcher_start(&backend->launcher, err);
        if (r < 0) {
                free(backend);
                return r;
        }
        *ret = backend;
        return 0;
}

static struct backend *native_close(struct backend *backend)
{
        if (backend) {
                launcher_stop(&backend->launcher);
                free(backend);
        }
        return NULL;
}

/* The launcher that was started ahead, or a new one. */
static int take_launcher(struct backend *backend, struct launcher_client *ret, struct error *err)
{
        if (backend->launcher.socket < 0)
                return launcher_start(ret, err);
        *ret = backend->launcher;
        backend->launcher = (struct launcher_client)LAUNCHER_CLIENT_INIT;
        return 0;
}

static int native_prune(struct backend *backend, const char *id, unsigned slot, struct error *err)
{
        struct launcher_client *launcher = &backend->launcher;
        struct launcher_prune message = {};
        (void)snprintf(message.id, sizeof message.id, "%s", id);
        int r = launcher->socket < 0 ? launcher_start(launcher, err) : 0;
        if (r == 0)
                r = launcher_send(launcher, &message, LAUNCHER_PRUNE, sizeof message, NULL, 0, err);
        while (r == 0) {
                union launcher_message answer;
                int fds[FD_PASS_MAX];
                size_t n = 0;
                r = launcher_receive(launcher, true, &answer, fds, &n, err);
                if (r < 0)
                        break;
                r = 0;
                if (answer.header.type != LAUNCHER_DESTROYED)
                        continue; /* HELLO comes first */
                if (answer.destroyed.complete)
                        return 0;
                return error_set(err, ERROR_BACKEND, EBUSY, "find the process that keeps it and try again", "%.*s is still there",
                    (int)sizeof answer.destroyed.leftover - 1, answer.destroyed.leftover);
        }
        launcher_stop(launcher);
        return r;
}

/* ---- Making a container ---- */

static int watch(struct container *c, int fd, enum source source, uint32_t events)
{
        struct epoll_event event = {.events = events, .data.u32 = source};
        return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void set_timer(struct container *c, unsigned msec)
{
        struct itimerspec spec = {.it_value = {.tv_sec = msec / 1000, .tv_nsec = (long)(msec % 1000) * 1000000L}};
        (void)timerfd_settime(c->timer, 0, &spec, NULL);
}

static struct container *native_free(struct container *c)
{
        if (!c)
                return NULL;
        close_and_forget(&c->guest.socket);
        launcher_stop(&c->launcher); /* whatever is left of the container ends here */
        guest_channel_close(&c->guest);
        meter_close(&c->meter);
        close_and_forget(&c->denied.listener);
        close_and_forget(&c->pidfd);
        close_and_forget(&c->timer);
        close_and_forget(&c->epoll);
        for (int i = 0; i < 2; i++)
                close_and_forget(&c->output[i]);
        for (int i = 0; i < 2; i++)
                close_and_forget(&c->output_ends[i]);
        error_clear(&c->error);
        free(c->buffer);
        free(c->file);
        free(c);
        return NULL;
}

/* Opens what we watch. *ret_guest is the init's end of the guest channel. */
static int open_descriptors(struct container *c, int *ret_guest, struct error *err)
{
        c->buffer = malloc(READ_SIZE);
        c->epoll = epoll_create1(EPOLL_CLOEXEC);
        c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        bool good = c->buffer && c->epoll >= 0 && c->timer >= 0 && guest_channel_open(&c->guest, ret_guest) == 0;
        for (int i = 0; i < 2 && good; i++) {
                int ends[2];
                good = pipe2(ends, O_CLOEXEC) == 0;
                if (good) {
                        c->output[i] = ends[0];
                        c->output_ends[i] = ends[1];
                        good = fd_set_nonblocking(ends[0], true) == 0;
                }
        }
        good = good && watch(c, c->launcher.socket, SOURCE_LAUNCHER, EPOLLIN) == 0 &&
               watch(c, c->guest.socket, SOURCE_GUEST, EPOLLIN) == 0 &&
               watch(c, c->output[0], SOURCE_STDOUT, EPOLLIN) == 0 && watch(c, c->output[1], SOURCE_STDERR, EPOLLIN) == 0 &&
               watch(c, c->timer, SOURCE_TIMER, EPOLLIN) == 0;
        return good ? 0 : error_set(err, ERROR_BACKEND, errno, "raise the open files limit (ulimit -n)", "opening descriptors");
}

/* Which CPUs: the fewest that cpu_count asks for, of those that we may use ourselves, spread over containers by slot. */
static void choose_cpus(double cpu_count, unsigned slot, uint64_t cpus[LAUNCHER_CPU_WORDS])
{
        cpu_set_t ours;
        unsigned wanted = (unsigned)ceil(cpu_count);
        if (sched_getaffinity(0, sizeof ours, &ours) < 0)
                return;
        unsigned have = (unsigned)CPU_COUNT(&ours);
        if (wanted >= have)
                return; /* all of them: nothing to restrict */
        unsigned first = (slot * wanted) % have;
        unsigned index = 0;
        for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpu < LAUNCHER_CPU_WORDS * 64; cpu++) {
                if (!CPU_ISSET(cpu, &ours))
                        continue;
                if ((index + have - first) % have < wanted)
                        cpus[cpu / 64] |= UINT64_C(1) << (cpu % 64);
                index++;
        }
}

static void describe(const struct container_spec *spec, const char *id, unsigned slot, struct launcher_create *create)
{
        *create = (struct launcher_create){
            .flags = (spec->read_only ? 0U : (unsigned)LAUNCHER_READ_WRITE_ROOT) |
                     (spec->seccomp == SECCOMP_UNCONFINED ? (unsigned)LAUNCHER_SECCOMP_UNCONFINED : 0U) |
                     (spec->no_new_privileges ? 0U : (unsigned)LAUNCHER_ALLOW_NEW_PRIVS),
            .degraded_allowed = spec->degraded_allowed,
            .uid = spec->uid,
            .gid = spec->gid,
            .host_uid = spec->host_uid_base + slot,
            .host_gid = spec->host_uid_base + slot,
            .memory_bytes = spec->limits.mem_limit,
            .pids = spec->limits.pids_limit + 1, /* the init */
            .disk_bytes = spec->limits.disk_limit,
            .inodes = spec->limits.inode_limit,
            .open_files = spec->limits.open_files,
            .cpu_quota_usec = MAX((uint64_t)llround(spec->limits.cpu_count * CPU_PERIOD_USEC), (uint64_t)CPU_QUOTA_MIN_USEC),
            .cpu_period_usec = CPU_PERIOD_USEC,
            .capabilities = spec->capabilities,
        };
        (void)snprintf(create->id, sizeof create->id, "%s", id);
        (void)snprintf(create->hostname, sizeof create->hostname, "%.12s", id);
        choose_cpus(spec->limits.cpu_count, slot, create->cpus);
}

static int native_create(struct backend *backend, const struct container_spec *spec, const char *id, unsigned slot,
    struct container **ret, struct error *err)
{
        if (strcmp(spec->image, "host") != 0)
                return error_set(err, ERROR_IMAGE, 0, "use image: \"host\", the machine's own /usr",
                    "image: there is no image \"%s\" for the native engine", spec->image);
        struct container *c = calloc(1, sizeof *c);
        if (!c)
                return error_oom(err);
        *c = (struct container){
            .launcher = LAUNCHER_CLIENT_INIT,
            .guest = GUEST_CHANNEL_INIT,
            .meter = METER_INIT,
            .denied = DENIED_INIT,
            .spec = spec,
            .epoll = -1,
            .pidfd = -1,
            .timer = -1,
            .output = {-1, -1},
            .output_ends = {-1, -1},
        };
        (void)snprintf(c->id, sizeof c->id, "%s", id);
        struct launcher_create create;
        _cleanup_(closep) int guest = -1;
        describe(spec, id, slot, &create);
        int r = take_launcher(backend, &c->launcher, err);
        if (r == 0)
                r = open_descriptors(c, &guest, err);
        if (r == 0)
                r = launcher_send(&c->launcher, &create, LAUNCHER_CREATE, sizeof create, &guest, 1, err);
        if (r < 0) {
                native_free(c);
                return r;
        }
        *ret = c;
        return 0;
}

/* ---- Telling the init ---- */

/*
 * Sends a frame. A broken channel is no error here: whoever broke it (the launcher, the init) has said why, or its end
 * shows as an event.
 */
static int tell(struct container *c, enum guest_frame_type type, const void *head, size_t head_size, const void *tail,
    size_t tail_size, const int *fds, size_t n, struct error *err)
{
        int r = frame_send(c->guest.socket, type, head, head_size, tail, tail_size, fds, n);
        if (r == 0 || r == -EPIPE || r == -ECONNRESET)
                return 0;
        return error_set(err, ERROR_BACKEND, -r, NULL, "talking to the container's init");
}

static int native_put_file(
    struct container *c, const char *path, unsigned mode, const void *data, size_t size, struct error *err)
{
        struct guest_put_file head = {.size = size, .mode = mode, .path_size = (uint32_t)strlen(path)};
        int r = tell(c, GUEST_PUT_FILE, &head, sizeof head, path, head.path_size, NULL, 0, err);
        for (size_t at = 0; at < size && r == 0; at += GUEST_DATA_CHUNK)
                r = tell(c, GUEST_PUT_DATA, (const char *)data + at, MIN(size - at, (size_t)GUEST_DATA_CHUNK), NULL, 0, NULL, 0, err);
        return r;
}

/* Appends strings, each with its NUL; counts them. */
static int add_strings(struct strbuf *spec, const char *const *strings, uint32_t *ret_count)
{
        uint32_t count = 0;
        for (; strings && strings[count]; count++)
                if (strbuf_append(spec, strings[count], strlen(strings[count]) + 1) < 0)
                        return -E2BIG;
        *ret_count = count;
        return 0;
}

static int native_execute(struct container *c, const struct exec_spec *exec, struct error *err)
{
        _cleanup_(strbuf_clear) struct strbuf spec = STRBUF_INIT(GUEST_SPEC_MAX);
        struct guest_spec head = {.version = GUEST_PROTOCOL_VERSION};
        if (strbuf_append(&spec, &head, sizeof head) < 0 || add_strings(&spec, exec->argv, &head.argc) < 0 ||
            add_strings(&spec, exec->environment, &head.envc) < 0 ||
            strbuf_append(&spec, exec->argv[0], strlen(exec->argv[0]) + 1) < 0)
                return error_set(err, ERROR_INPUT, E2BIG, "pass long input as a file", "arguments and environment");
        memcpy(spec.data, &head, sizeof head);
        int r = 0;
        for (size_t at = 0; at < spec.size && r == 0; at += GUEST_DATA_CHUNK)
                r = tell(c, GUEST_SPEC_DATA, spec.data + at, MIN(spec.size - at, (size_t)GUEST_DATA_CHUNK), NULL, 0, NULL, 0, err);
        if (r < 0)
                return r;

        _cleanup_(closep) int empty = -1;
        if (exec->stdin_fd < 0) {
                empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
                if (empty < 0)
                        return error_set(err, ERROR_BACKEND, errno, NULL, "opening /dev/null");
        }
        const int standard[3] = {exec->stdin_fd < 0 ? empty : exec->stdin_fd, c->output_ends[0], c->output_ends[1]};
        r = tell(c, GUEST_SPEC_END, NULL, 0, NULL, 0, standard, 3, err);
        for (int i = 0; i < 2; i++)
                close_and_forget(&c->output_ends[i]); /* now the program's alone: their end is its end */
        return r;
}

static int native_release_gate(struct container *c, struct error *err)
{
        return tell(c, GUEST_GO, NULL, 0, NULL, 0, NULL, 0, err);
}

static int native_kill(struct container *c, unsigned deadline_msec)
{
        if (c->exited)
                return 0;
        c->killed = true;
        set_timer(c, MAX(deadline_msec, 1U));
        return frame_send(c->guest.socket, GUEST_KILL_ALL, NULL, 0, NULL, 0, NULL, 0);
}

static int native_collect(struct container *c, const struct collect_limits *limits)
{
        struct guest_collect message = {
            .max_files = limits->max_files, .max_bytes = limits->max_bytes, .max_depth = limits->max_depth};
        return frame_send(c->guest.socket, GUEST_COLLECT, &message, sizeof message, NULL, 0, NULL, 0);
}

static int native_destroy(struct container *c)
{
        struct launcher_destroy message = {};
        c->destroying = true;
        if (c->meter.disk >= 0)
                close_and_forget(&c->meter.disk); /* it would keep the file system */
        return launcher_send(&c->launcher, &message, LAUNCHER_DESTROY, sizeof message, NULL, 0, NULL);
}

static void native_discard_output(struct container *c, enum output_stream stream)
{
        c->discarded[stream] = true;
}

static int native_sample(struct container *c, struct usage *ret)
{
        meter_read(&c->meter, ret);
        return 0;
}

static int native_fd(const struct container *c)
{
        return c->epoll;
}

/* ---- What happened ---- */

static int failed(struct container *c, struct container_event *event, enum container_event_type type)
{
        event->type = type;
        event->error = &c->error;
        return 0;
}

/* The container is gone without our doing: what that means depends on how far it had come. */
static int vanished(struct container *c, struct container_event *event, const char *what)
{
        (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->guest.socket, NULL);
        if (c->exited || c->lost || c->destroying)
                return 0;
        if (c->killed || meter_oom_kills(&c->meter) > 0) {
                /* Killed by us, or (v2 kills the whole group) for want of memory: the init went with the rest. */
                c->exited = true;
                set_timer(c, DRAIN_DEADLINE_MSEC);
                event->type = CONTAINER_EXITED;
                event->exited.wait_status = SIGKILL;
                event->exited.reaped = 0;
                return 0;
        }
        c->lost = true;
        if (c->error.code == ERROR_NONE)
                (void)error_set(&c->error, ERROR_BACKEND, 0, NULL, "%s ended unexpectedly", what);
        return failed(c, event, c->started ? CONTAINER_LOST : CONTAINER_FAILED);
}

static int on_created(struct container *c, const struct launcher_created *created, int *fds, size_t n)
{
        if (n == 0)
                return error_set(&c->error, ERROR_INTERNAL, EBADMSG, NULL, "the launcher sent no descriptors");
        c->pidfd = fds[0];
        (void)snprintf(c->cgroup_path, sizeof c->cgroup_path, "%s", created->cgroup_path);
        c->evidence.degraded |= created->degraded;
        if ((size_t)__builtin_popcount(created->controllers) != n - 1)
                return error_set(&c->error, ERROR_INTERNAL, EBADMSG, NULL, "the launcher sent the wrong descriptors");
        int r = meter_open(&c->meter, created->cgroup_version, created->controllers, fds + 1);
        if (r == 0 && created->cgroup_version == 2 && c->meter.files[METER_MEMORY_EVENTS] >= 0)
                r = watch(c, c->meter.files[METER_MEMORY_EVENTS], SOURCE_OOM, EPOLLPRI);
        if (r == 0 && c->meter.oom_event >= 0)
                r = watch(c, c->meter.oom_event, SOURCE_OOM, EPOLLIN);
        if (r == 0 && c->meter.files[METER_PIDS_EVENTS] >= 0)
                r = watch(c, c->meter.files[METER_PIDS_EVENTS], SOURCE_PIDS, EPOLLPRI);
        if (r < 0)
                return error_set(&c->error, ERROR_BACKEND, -r, NULL, "watching the container's cgroup");
        c->made = true;
        return readback_begin(&c->evidence, &c->meter, &c->error);
}

static int on_launcher(struct container *c, struct container_event *event)
{
        union launcher_message message;
        int fds[FD_PASS_MAX];
        size_t n = 0;
        struct error ignored = {};
        int r = launcher_receive(&c->launcher, false, &message, fds, &n, c->error.code ? &ignored : &c->error);
        error_clear(&ignored);
        if (r == 0)
                return 0;
        if (r < 0) {
                (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->launcher.socket, NULL);
                if (c->destroying && !c->destroyed) {
                        c->destroyed = true;
                        event->type = CONTAINER_DESTROYED;
                        event->destroyed.complete = false;
                        event->destroyed.processes_killed = 0;
                        event->destroyed.leftover = "the launcher is gone";
                        return 0;
                }
                c->lost = c->lost || !c->started;
                return c->started ? vanished(c, event, "the launcher") : failed(c, event, CONTAINER_FAILED);
        }
        switch (message.header.type) {
        case LAUNCHER_CREATED:
                if (on_created(c, &message.created, fds, n) < 0)
                        return failed(c, event, CONTAINER_FAILED);
                return 0;
        case LAUNCHER_DESTROYED:
                c->destroyed = true;
                (void)snprintf(c->leftover, sizeof c->leftover, "%.*s", (int)sizeof message.destroyed.leftover - 1,
                    message.destroyed.leftover);
                event->type = CONTAINER_DESTROYED;
                event->destroyed.complete = message.destroyed.complete;
                event->destroyed.processes_killed = message.destroyed.processes_killed;
                event->destroyed.leftover = c->leftover[0] ? c->leftover : NULL;
                return 0;
        default:
                return 0; /* HELLO */
        }
}

static const char *const skip_reasons[] = {
    [GUEST_SKIP_NOT_REGULAR] = "not_regular",
    [GUEST_SKIP_TOO_LARGE] = "too_large",
    [GUEST_SKIP_TOO_MANY] = "too_many",
    [GUEST_SKIP_TOO_DEEP] = "too_deep",
    [GUEST_SKIP_UNREADABLE] = "unreadable",
    [GUEST_SKIP_HARD_LINK] = "hard_link",
};

static int protocol_error(struct container *c, struct container_event *event)
{
        (void)error_set(&c->error, ERROR_BACKEND, EBADMSG, NULL, "the container's init sent a malformed message");
        c->lost = true;
        return failed(c, event, c->started ? CONTAINER_LOST : CONTAINER_FAILED);
}

static int on_ready(struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        struct guest_ready ready;
        if (frame->size != sizeof ready || c->guest.fd_count == 0)
                return protocol_error(c, event);
        memcpy(&ready, frame->payload, sizeof ready);
        if (ready.version != GUEST_PROTOCOL_VERSION || c->guest.fd_count != 1U + (ready.has_listener != 0))
                return protocol_error(c, event);
        c->meter.disk = take_fd(&c->guest.fds[0]);
        if (ready.has_listener) {
                c->denied.listener = take_fd(&c->guest.fds[1]);
                if (watch(c, c->denied.listener, SOURCE_DENIED, EPOLLIN) < 0)
                        return protocol_error(c, event);
        }
        c->guest.fd_count = 0;
        c->evidence.landlock_abi = ready.landlock_abi;
        c->evidence.degraded |= ready.degraded;
        return 0;
}

/* Both have spoken, the launcher and the program's process: read back what holds, and tell. */
static int on_gate(struct container *c, struct container_event *event)
{
        c->told_gate = true;
        if (readback_process(&c->evidence, c->gate_pid, &c->meter, c->cgroup_path, &c->error) < 0)
                return failed(c, event, CONTAINER_FAILED);
        event->type = CONTAINER_AT_GATE;
        event->evidence = &c->evidence;
        return 0;
}

static int tell_file(struct container *c, struct container_event *event)
{
        event->type = CONTAINER_FILE;
        event->file.path = c->file;
        event->file.path_size = c->file_path_size;
        event->file.data = c->file + c->file_path_size + 1;
        event->file.size = c->file_size;
        event->file.mode = c->file_mode;
        return 0;
}

static int on_file(struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        struct guest_file head;
        if (frame->size < sizeof head)
                return protocol_error(c, event);
        memcpy(&head, frame->payload, sizeof head);
        if (head.path_size != frame->size - sizeof head || head.path_size == 0 || head.path_size > GUEST_PATH_MAX ||
            head.size > c->spec->limits.disk_limit)
                return protocol_error(c, event);
        free(c->file);
        c->file = malloc(head.path_size + 1 + (size_t)head.size);
        if (!c->file) {
                (void)error_oom(&c->error);
                c->lost = true;
                return failed(c, event, CONTAINER_LOST);
        }
        memcpy(c->file, frame->payload + sizeof head, head.path_size);
        c->file[head.path_size] = '\0';
        c->file_path_size = head.path_size;
        c->file_size = (size_t)head.size;
        c->file_have = 0;
        c->file_mode = head.mode & 0777;
        return head.size == 0 ? tell_file(c, event) : 0;
}

static int on_file_data(struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        if (!c->file || frame->size > c->file_size - c->file_have)
                return protocol_error(c, event);
        memcpy(c->file + c->file_path_size + 1 + c->file_have, frame->payload, frame->size);
        c->file_have += frame->size;
        return c->file_have == c->file_size ? tell_file(c, event) : 0;
}

static int on_file_skipped(struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        struct guest_file_skipped head;
        if (frame->size < sizeof head)
                return protocol_error(c, event);
        memcpy(&head, frame->payload, sizeof head);
        if (head.path_size != frame->size - sizeof head)
                return protocol_error(c, event);
        event->type = CONTAINER_FILE_SKIPPED;
        event->file.path = frame->payload + sizeof head;
        event->file.path_size = head.path_size;
        event->file.data = NULL;
        event->file.size = 0;
        event->file.mode = 0;
        event->file.reason = head.reason < ARRAY_SIZE(skip_reasons) && skip_reasons[head.reason] ? skip_reasons[head.reason] : "other";
        return 0;
}

static int on_exited(struct container *c, const struct guest_frame *frame, struct container_event *event)
{
        struct guest_exited exited;
        if (frame->size != sizeof exited)
                return protocol_error(c, event);
        memcpy(&exited, frame->payload, sizeof exited);
        c->exited = true;
        set_timer(c, DRAIN_DEADLINE_MSEC);
        event->type = CONTAINER_EXITED;
        event->exited.wait_status = exited.wait_status;
        event->exited.reaped = exited.reaped;
        return 0;
}

static int on_guest(struct container *c, struct container_event *event)
{
        struct guest_frame frame;
        int r = guest_channel_receive(&c->guest, &frame);
        if (r == 0)
                return 0;
        if (r == -EBADMSG)
                return protocol_error(c, event);
        if (r < 0)
                return vanished(c, event, "the container's init");
        switch (frame.type) {
        case GUEST_READY:
                return on_ready(c, &frame, event);
        case GUEST_AT_GATE:
                c->gate_pid = frame.sender;
                return 0;
        case GUEST_STARTED:
                c->started = true;
                event->type = CONTAINER_STARTED;
                return 0;
        case GUEST_EXEC_FAILED: {
                struct guest_exec_failed message;
                if (frame.size != sizeof message)
                        return protocol_error(c, event);
                memcpy(&message, frame.payload, sizeof message);
                event->type = CONTAINER_EXEC_FAILED;
                event->errnum = message.errnum;
                return 0;
        }
        case GUEST_EXITED:
                return on_exited(c, &frame, event);
        case GUEST_FILE:
                return on_file(c, &frame, event);
        case GUEST_FILE_DATA:
                return on_file_data(c, &frame, event);
        case GUEST_FILE_SKIPPED:
                return on_file_skipped(c, &frame, event);
        case GUEST_COLLECTED: {
                struct guest_collected message;
                if (frame.size != sizeof message)
                        return protocol_error(c, event);
                memcpy(&message, frame.payload, sizeof message);
                event->type = CONTAINER_COLLECTED;
                event->collected.files = message.files;
                event->collected.bytes = message.bytes;
                event->collected.skipped = message.skipped;
                return 0;
        }
        case GUEST_SETUP_FAILED: {
                struct setup_failure failure;
                if (frame.size != sizeof failure)
                        return protocol_error(c, event);
                memcpy(&failure, frame.payload, sizeof failure);
                (void)failure_to_error(&failure, &c->error);
                c->lost = true;
                return failed(c, event, c->started ? CONTAINER_LOST : CONTAINER_FAILED);
        }
        default:
                return protocol_error(c, event);
        }
}

static void end_output(struct container *c, enum output_stream stream)
{
        (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->output[stream], NULL);
        close_and_forget(&c->output[stream]);
}

static int on_output(struct container *c, enum output_stream stream, struct container_event *event)
{
        ssize_t n = read(c->output[stream], c->buffer, READ_SIZE);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0) {
                end_output(c, stream);
                return 0;
        }
        if (c->discarded[stream])
                return 0;
        event->type = CONTAINER_OUTPUT;
        event->output.stream = stream;
        event->output.data = c->buffer;
        event->output.size = (size_t)n;
        return 0;
}

/* A deadline has come: of a kill that the init did not answer, or of pipes that somebody stuck in the kernel holds. */
static int on_timer(struct container *c, struct container_event *event)
{
        uint64_t expirations;
        if (read(c->timer, &expirations, sizeof expirations) < 0)
                return 0;
        if (!c->exited) {
                if (c->pidfd >= 0)
                        (void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
                return vanished(c, event, "the container's init");
        }
        for (int i = 0; i < 2; i++)
                if (c->output[i] >= 0)
                        end_output(c, (enum output_stream)i);
        return 0;
}

static void told_count(struct container_event *event, enum container_event_type type, const char *name, uint64_t count)
{
        event->type = type;
        event->count.name = name;
        event->count.count = count;
}

static int on_oom(struct container *c, struct container_event *event)
{
        uint64_t ignored;
        if (c->meter.oom_event >= 0)
                (void)read(c->meter.oom_event, &ignored, sizeof ignored);
        uint64_t kills = meter_oom_kills(&c->meter);
        if (kills > c->oom_kills) {
                c->oom_kills = kills;
                told_count(event, CONTAINER_OOM, "oom_kill", kills);
        }
        return 0;
}

static int on_pids(struct container *c, struct container_event *event)
{
        uint64_t refused = meter_forks_refused(&c->meter);
        if (refused > c->forks_refused) {
                c->forks_refused = refused;
                told_count(event, CONTAINER_PIDS_REFUSED, "fork", refused);
        }
        return 0;
}

static int on_denied(struct container *c, struct container_event *event)
{
        int which = denied_answer(&c->denied);
        if (which >= 0) {
                told_count(event, CONTAINER_SYSCALL_DENIED, c->denied.calls[which].name, c->denied.calls[which].count);
                return 0;
        }
        if (which != -EAGAIN) {
                (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->denied.listener, NULL);
                close_and_forget(&c->denied.listener);
        }
        return 0;
}

/* The last look at counters whose notification may still be on its way, once the program has ended. */
static int last_counts(struct container *c, struct container_event *event)
{
        (void)on_oom(c, event);
        if (event->type == CONTAINER_NOTHING)
                (void)on_pids(c, event);
        return 0;
}

static int handle(struct container *c, uint32_t source, struct container_event *event)
{
        switch (source) {
        case SOURCE_LAUNCHER:
                return on_launcher(c, event);
        case SOURCE_GUEST:
                return on_guest(c, event);
        case SOURCE_STDOUT:
        case SOURCE_STDERR:
                return on_output(c, source == SOURCE_STDOUT ? STREAM_STDOUT : STREAM_STDERR, event);
        case SOURCE_OOM:
                return on_oom(c, event);
        case SOURCE_PIDS:
                return on_pids(c, event);
        case SOURCE_DENIED:
                return on_denied(c, event);
        default:
                return on_timer(c, event);
        }
}

static int native_next(struct container *c, struct container_event *event, struct error *err)
{
        event->type = CONTAINER_NOTHING;
        if (!c->told_created) {
                c->told_created = true; /* frames wait in the channel until the init is there to read them */
                event->type = CONTAINER_CREATED;
                return 0;
        }
        for (;;) {
                if (c->made && c->gate_pid && !c->told_gate && !c->lost)
                        return on_gate(c, event);
                if (c->exited && !c->output_ended && c->output[0] < 0 && c->output[1] < 0) {
                        (void)last_counts(c, event);
                        if (event->type != CONTAINER_NOTHING)
                                return 0;
                        c->output_ended = true;
                        event->type = CONTAINER_OUTPUT_END;
                        return 0;
                }
                struct epoll_event ready;
                int n = epoll_wait(c->epoll, &ready, 1, 0);
                if (n < 0 && errno != EINTR)
                        return error_set(err, ERROR_INTERNAL, errno, NULL, "waiting for the container");
                if (n <= 0)
                        return 0;
                int r = handle(c, ready.data.u32, event);
                if (r < 0 || event->type != CONTAINER_NOTHING)
                        return r;
        }
}

static const struct container_ops native_container = {
    .create = native_create,
    .fd = native_fd,
    .next = native_next,
    .put_file = native_put_file,
    .execute = native_execute,
    .release_gate = native_release_gate,
    .sample = native_sample,
    .kill = native_kill,
    .discard_output = native_discard_output,
    .collect = native_collect,
    .destroy = native_destroy,
    .free = native_free,
};

const struct backend_ops native_backend = {
    .name = "native",
    .open = native_open,
    .close = native_close,
    .prune = native_prune,
    .container = &native_container,
};
