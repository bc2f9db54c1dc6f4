/* SPDX-License-Identifier: Apache-2.0 */
/* The native backend: containers that our own launcher builds. */
#include "sandbox/native/container.h"

#include "image/store.h"
#include "util/fd.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

/* CPU bandwidth is given per this many microseconds, the kernel's own default. */
#define CPU_PERIOD_USEC 100000U
/* The least quota that the kernel takes. */
#define CPU_QUOTA_MIN_USEC 1000U

/* Seconds by which the kernel's own CPU time limit is later than ours, which names the reason. */
#define CPU_TIME_SLACK 2U

struct backend {
        struct launcher_client launcher; /* started ahead; taken by the next container */
};

/* ---- The backend ---- */

static int native_open(struct backend **ret, struct error *err)
{
        struct backend *backend = calloc(1, sizeof *backend);
        if (!backend)
                return error_oom(err);
        backend->launcher = (struct launcher_client)LAUNCHER_CLIENT_INIT;
        int r = launcher_start(-1, &backend->launcher, err);
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

/* The launcher that was started ahead, or a new one. The one ahead has prepared a view of the host. */
static int take_launcher(struct backend *backend, int image, struct launcher_client *ret, struct error *err)
{
        if (backend->launcher.socket < 0 || image >= 0)
                return launcher_start(image, ret, err);
        *ret = backend->launcher;
        backend->launcher = (struct launcher_client)LAUNCHER_CLIENT_INIT;
        return 0;
}

static int native_prune(struct backend *backend, const char *id, unsigned slot, struct error *err)
{
        struct launcher_client *launcher = &backend->launcher;
        struct launcher_prune message = {};
        (void)snprintf(message.id, sizeof message.id, "%s", id);
        int r = launcher->socket < 0 ? launcher_start(-1, launcher, err) : 0;
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
                        continue;
                if (answer.destroyed.complete)
                        return 0;
                return error_set(err, ERROR_BACKEND, EBUSY, "find the process that keeps it and try again",
                    "%.*s is still there", (int)sizeof answer.destroyed.leftover - 1,
                    answer.destroyed.leftover);
        }
        launcher_stop(launcher);
        return r;
}

/* ---- Making a container ---- */

int container_watch(struct container *c, int fd, enum source source, uint32_t events)
{
        struct epoll_event event = {.events = events, .data.u32 = source};
        return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void container_set_timer(struct container *c, unsigned msec)
{
        struct itimerspec spec = {
            .it_value = {.tv_sec = msec / 1000, .tv_nsec = (long)(msec % 1000) * 1000000L}};
        (void)timerfd_settime(c->timer, 0, &spec, NULL);
}

static struct container *native_free(struct container *c)
{
        if (!c)
                return NULL;
        guest_channel_close(&c->guest);
        close_and_forget(&c->launcher.socket); /* whatever is left of the container ends now */
        meter_close(&c->meter);
        close_and_forget(&c->denied.listener);
        close_and_forget(&c->pidfd);
        close_and_forget(&c->gate);
        close_and_forget(&c->timer);
        close_and_forget(&c->listener);
        close_and_forget(&c->epoll);
        for (int i = 0; i < 2; i++)
                close_and_forget(&c->output[i]);
        for (int i = 0; i < 2; i++)
                close_and_forget(&c->output_ends[i]);
        error_clear(&c->error);
        free(c->buffer);
        free(c->file);
        launcher_stop(&c->launcher); /* last, since it waits */
        free(c);
        return NULL;
}

/* Opens what we watch. *ret_guest is the init's end of the guest channel. */
static int open_descriptors(struct container *c, uid_t owner, int *ret_guest, struct error *err)
{
        c->buffer = malloc(OUTPUT_READ_SIZE);
        c->epoll = epoll_create1(EPOLL_CLOEXEC);
        c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        bool good =
            c->buffer && c->epoll >= 0 && c->timer >= 0 && guest_channel_open(&c->guest, ret_guest) == 0;
        for (int i = 0; i < 2 && good; i++) {
                int ends[2];
                good = pipe2(ends, O_CLOEXEC) == 0;
                if (good) {
                        c->output[i] = ends[0];
                        c->output_ends[i] = ends[1];
                        /* Its owner in there, so that it may open /dev/stdout anew. Without privileges it is
                         * anyway. */
                        (void)fchown(ends[1], owner, owner);
                        good = fd_set_nonblocking(ends[0], true) == 0;
                }
        }
        good = good && container_watch(c, c->launcher.socket, SOURCE_LAUNCHER, EPOLLIN) == 0 &&
               container_watch(c, c->guest.socket, SOURCE_GUEST, EPOLLIN) == 0 &&
               container_watch(c, c->output[0], SOURCE_STDOUT, EPOLLIN) == 0 &&
               container_watch(c, c->output[1], SOURCE_STDERR, EPOLLIN) == 0 &&
               container_watch(c, c->timer, SOURCE_TIMER, EPOLLIN) == 0;
        return good ? 0
                    : error_set(err, ERROR_BACKEND, errno, "raise the open files limit (ulimit -n)",
                          "opening descriptors");
}

/* Which CPUs: the fewest that cpu_count asks for, of those that we may use ourselves, spread over containers
 * by slot. */
static void choose_cpus(double cpu_count, unsigned slot, uint64_t cpus[LAUNCHER_CPU_WORDS])
{
        cpu_set_t ours;
        unsigned wanted = whole_cpus(cpu_count);
        if (sched_getaffinity(0, sizeof ours, &ours) < 0)
                return;
        unsigned have = (unsigned)CPU_COUNT(&ours);
        wanted = MIN(wanted, have);
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

static void describe(
    const struct container_spec *spec, const char *id, unsigned slot, struct launcher_create *create)
{
        *create = (struct launcher_create){
            .flags = (spec->read_only ? 0U : (unsigned)LAUNCHER_READ_WRITE_ROOT) |
                     (spec->seccomp == SECCOMP_UNCONFINED ? (unsigned)LAUNCHER_SECCOMP_UNCONFINED : 0U) |
                     (spec->no_new_privileges ? 0U : (unsigned)LAUNCHER_ALLOW_NEW_PRIVS) |
                     (spec->network == NETWORK_NONE ? 0U : (unsigned)LAUNCHER_LISTENER),
            .degraded_allowed = spec->degraded_allowed,
            .uid = spec->uid,
            .gid = spec->gid,
            .host_uid = spec->host_uid_base + slot,
            .host_gid = spec->host_uid_base + slot,
            .slot = slot,
            .memory_bytes = spec->limits.mem_limit,
            .pids = spec->limits.pids_limit + 1, /* the init */
            .disk_bytes = spec->limits.disk_limit,
            .inodes = spec->limits.inode_limit,
            .open_files = spec->limits.open_files,
            .cpu_quota_usec = MAX(
                (uint64_t)(spec->limits.cpu_count * CPU_PERIOD_USEC + 0.5), (uint64_t)CPU_QUOTA_MIN_USEC),
            .cpu_period_usec = CPU_PERIOD_USEC,
            .cpu_seconds = (uint64_t)spec->limits.cpu_time + CPU_TIME_SLACK,
            .capabilities = spec->capabilities,
        };
        (void)snprintf(create->id, sizeof create->id, "%s", id);
        (void)snprintf(create->hostname, sizeof create->hostname, "%.12s", id);
        choose_cpus(spec->limits.cpu_count, slot, create->cpus);
}

static int native_create(struct backend *backend, const struct container_spec *spec, const char *id,
    unsigned slot, struct container **ret, struct error *err)
{
        struct image_info info = {};
        _cleanup_(closep) int image = -1;
        int r = strcmp(spec->image, "host") == 0 ? 0 : image_use(spec->image, &image, &info, err);
        if (r < 0)
                return r;
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
            .gate = -1,
            .timer = -1,
            .listener = -1,
            .output = {-1, -1},
            .output_ends = {-1, -1},
        };
        (void)snprintf(c->id, sizeof c->id, "%s", id);
        (void)snprintf(c->evidence.image_digest, sizeof c->evidence.image_digest, "%s", info.digest);
        struct launcher_create create;
        _cleanup_(closep) int guest = -1;
        describe(spec, id, slot, &create);
        memcpy(c->denied.cpus, create.cpus, sizeof create.cpus);
        r = take_launcher(backend, image, &c->launcher, err);
        if (r == 0)
                r = open_descriptors(c, create.host_uid, &guest, err);
        if (r == 0)
                r = launcher_send(&c->launcher, &create, LAUNCHER_CREATE, sizeof create, &guest, 1, err);
        if (r < 0) {
                native_free(c);
                return r;
        }
        *ret = c;
        return 0;
}

/* ---- The tables ---- */

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

static int native_search_path(const char *image, char **ret, struct error *err)
{
        struct image_info info;
        _cleanup_(closep) int fd = -1;
        int r = image_use(image, &fd, &info, err);
        if (r < 0)
                return r;
        char *path = info.search_path[0] ? strdup(info.search_path) : NULL;
        if (info.search_path[0] && !path)
                return error_oom(err);
        *ret = path;
        return 0;
}

static const struct container_ops native_container = {
    .destroy_msec = 1000,
    .create = native_create,
    .fd = native_fd,
    .next = container_next,
    .put_file = container_put_file,
    .execute = container_execute,
    .release_gate = container_release_gate,
    .sample = native_sample,
    .kill = container_kill,
    .discard_output = native_discard_output,
    .collect = container_collect,
    .dismiss = container_dismiss,
    .destroy = container_destroy,
    .free = native_free,
};

const struct backend_ops native_backend = {
    .name = "native",
    .open = native_open,
    .close = native_close,
    .prune = native_prune,
    .search_path = native_search_path,
    .pull = native_pull,
    .container = &native_container,
};
