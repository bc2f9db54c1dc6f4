/* SPDX-License-Identifier: Apache-2.0 */
/* The Docker backend: containers that an engine makes and our init looks after. */
#include "sandbox/docker/container.h"

#include "sandbox/docker/pull.h"
#include "sandbox/module.h"
#include "util/clock.h"
#include "util/fd.h"

#include <math.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

/* The init's and the runtime's complaints that are kept. */
#define COMPLAINTS_MAX 4096U
/* An engine removes a container in 0.3 s, and in several when the machine is busy. */
#define DESTROY_MSEC (DOCKER_REMOVE_MSEC + 1000U)
/* A container that is freed before it was removed holds up its caller no longer than this. */
#define FREE_MSEC 3000U
/* Samples may be late by so much before they count as missing. */
#define SAMPLE_PATIENCE (2 * NSEC_PER_SEC)

struct backend {
        bool libcurl; /* is initialised */
};

/* ---- The backend ---- */

static int docker_open(struct backend **ret, struct error *err)
{
        struct backend *backend = calloc(1, sizeof *backend);
        if (!backend)
                return error_oom(err);
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
                free(backend);
                return error_set(err, ERROR_BACKEND, 0, NULL, "docker: libcurl can't be initialised");
        }
        backend->libcurl = true;
        *ret = backend;
        return 0;
}

static struct backend *docker_close(struct backend *backend)
{
        if (backend && backend->libcurl)
                curl_global_cleanup();
        free(backend);
        return NULL;
}

static int pull_image(struct backend *backend, const struct image_pull *pull,
    char ret_digest[IMAGE_DIGEST_SIZE], struct error *err)
{
        _cleanup_(endpoint_clear) struct endpoint endpoint = {};
        int r = endpoint_find(pull->engine, &endpoint, err);
        return r < 0 ? r : docker_pull(&endpoint, pull, ret_digest, err);
}

static int docker_prune(struct backend *backend, const char *id, unsigned slot, struct error *err)
{
        _cleanup_(endpoint_clear) struct endpoint endpoint = {};
        int r = endpoint_find(NULL, &endpoint, err);
        return r < 0 ? r : setup_remove_by_id(&endpoint, id, err);
}

/* ---- Making a container ---- */

static void set_timer(int timer, uint64_t nsec)
{
        const struct itimerspec spec = {
            .it_value = {.tv_sec = (time_t)(nsec / NSEC_PER_SEC), .tv_nsec = (long)(nsec % NSEC_PER_SEC)}};
        (void)timerfd_settime(timer, 0, &spec, NULL);
}

void container_set_timer(struct container *c, unsigned msec)
{
        set_timer(c->timer, msec * NSEC_PER_MSEC);
}

void container_wake(struct container *c)
{
        const uint64_t one = 1;
        (void)write(c->wake, &one, sizeof one);
}

void container_fail(struct container *c, struct error *err)
{
        if (c->failed) {
                error_clear(err);
                return;
        }
        c->failed = true;
        error_move(&c->error, err);
}

static struct container *docker_free(struct container *c)
{
        if (!c)
                return NULL;
        if (c->engine.multi && !c->destroyed) {
                c->destroying = true;
                close_and_forget(&c->input);
                setup_remove(c);
                engine_settle(&c->engine, FREE_MSEC);
        }
        attach_close(&c->attach);
        engine_close(&c->engine);
        close_and_forget(&c->input);
        close_and_forget(&c->timer);
        close_and_forget(&c->wake);
        close_and_forget(&c->epoll);
        endpoint_clear(&c->endpoint);
        frame_reader_clear(&c->reader);
        strbuf_clear(&c->complaints);
        error_clear(&c->error);
        free(c->guest_evidence);
        free(c->inspected);
        free(c->version);
        free(c->file);
        free(c->input_buffer);
        free(c);
        return NULL;
}

/* Which CPUs, in the engine's notation: the fewest that cpu_count asks for, spread over containers by slot.
 */
static void choose_cpus(double cpu_count, unsigned slot, bool local, char *ret, size_t size)
{
        cpu_set_t ours;
        unsigned wanted = (unsigned)ceil(cpu_count);
        ret[0] = '\0';
        if (sched_getaffinity(0, sizeof ours, &ours) < 0)
                return;
        unsigned have = (unsigned)CPU_COUNT(&ours);
        if (!local || wanted >= have) {
                /* Another machine's CPUs are not known here; the first ones are always there. */
                if (!local)
                        (void)snprintf(ret, size, wanted > 1 ? "0-%u" : "0", wanted - 1);
                return;
        }
        unsigned first = (slot * wanted) % have;
        unsigned index = 0;
        size_t used = 0;
        for (unsigned cpu = 0; cpu < CPU_SETSIZE && used < size; cpu++) {
                if (!CPU_ISSET(cpu, &ours))
                        continue;
                if ((index + have - first) % have < wanted)
                        used += (size_t)snprintf(ret + used, size - used, "%s%u", used ? "," : "", cpu);
                index++;
        }
}

static int begin(struct container *c, unsigned slot, struct error *err)
{
        const struct container_spec *spec = c->spec;
        int r = endpoint_find(spec->docker_host, &c->endpoint, err);
        if (r < 0)
                return r;
        choose_cpus(spec->limits.cpu_count, slot, c->endpoint.socket_path != NULL, c->cpus, sizeof c->cpus);
        c->epoll = epoll_create1(EPOLL_CLOEXEC);
        c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)SOURCE_TIMER << 32};
        struct epoll_event woken = {.events = EPOLLIN, .data.u64 = (uint64_t)SOURCE_WAKE << 32};
        if (c->epoll < 0 || c->timer < 0 || c->wake < 0 ||
            epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->timer, &event) < 0 ||
            epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->wake, &woken) < 0)
                return error_set(err, ERROR_BACKEND, errno, "raise the open files limit (ulimit -n)",
                    "opening descriptors");
        /* Frames may be queued before there is a connection. */
        c->attach.out.max = (size_t)MIN(spec->limits.disk_limit, (uint64_t)SIZE_MAX / 4) + DOCKER_QUEUE_MORE;
        c->call_msec = (unsigned)(spec->docker_call_timeout * 1000);
        r = engine_open(&c->engine, &c->endpoint, c->epoll, SOURCE_ENGINE, c->call_msec, err);
        if (r == 0)
                r = commands_configure(c, err);
        if (r == 0)
                r = setup_begin(c, err);
        if (r == 0)
                container_wake(c);
        return r;
}

static int docker_create(struct backend *backend, const struct container_spec *spec, const char *id,
    unsigned slot, struct container **ret, struct error *err)
{
        if (strcmp(spec->image, "host") == 0)
                return error_set(err, ERROR_IMAGE, 0,
                    "set `image` to one that the engine has, or use the native backend",
                    "image: \"host\" is this machine's own /usr, which a Docker engine can't use");
        if (spec->network != NETWORK_NONE)
                return error_set(err, ERROR_UNENFORCED, 0,
                    "use the native backend, or ask for less: --network none",
                    "network_mode: \"dependencies\" is not available with backend \"docker\": nothing leads "
                    "from "
                    "an engine's container to the gateway");
        struct container *c = calloc(1, sizeof *c);
        if (!c)
                return error_oom(err);
        *c = (struct container){
            .spec = spec,
            .engine = ENGINE_INIT,
            .attach = ATTACH_INIT,
            .epoll = -1,
            .timer = -1,
            .wake = -1,
            .input = -1,
            .complaints = STRBUF_INIT(COMPLAINTS_MAX),
            .uid = spec->host_uid_base + slot,
            .gid = spec->host_uid_base + slot,
        };
        (void)snprintf(c->id, sizeof c->id, "%s", id);
        (void)snprintf(c->name, sizeof c->name, DOCKER_NAME_FORMAT, id);
        int r = begin(c, slot, err);
        if (r < 0) {
                docker_free(c);
                return r;
        }
        *ret = c;
        return 0;
}

/* ---- The tables ---- */

static uint64_t nsec(uint64_t usec)
{
        return usec == GUEST_NOT_MEASURED ? NOT_MEASURED : usec * 1000;
}

static int docker_sample(struct container *c, struct usage *ret)
{
        memset(ret, 0xff, sizeof *ret); /* NOT_MEASURED throughout */
        uint64_t period = (uint64_t)(c->spec->monitoring_interval * 1e9);
        uint64_t last = c->sampled_at ? c->sampled_at : c->started_at;
        bool late = last > 0 && clock_now() - last > SAMPLE_PATIENCE + 2 * period;
        if (late && !c->exited && !c->vanished_asked)
                return -ETIMEDOUT;
        if (c->sampled_at == 0)
                return -EAGAIN;
        const struct guest_sample *sample = &c->sample;
        ret->cpu_nsec = nsec(sample->cpu_usec);
        ret->cpu_user_nsec = nsec(sample->cpu_user_usec);
        ret->cpu_system_nsec = nsec(sample->cpu_system_usec);
        ret->memory_bytes = sample->memory_bytes;
        ret->memory_peak_bytes = sample->memory_peak_bytes;
        ret->pids = sample->pids;
        ret->pids_peak = sample->pids_peak;
        ret->disk_bytes = sample->disk_bytes;
        ret->disk_free_bytes = sample->disk_free_bytes;
        ret->inodes_free = sample->inodes_free;
        return 0;
}

static int docker_fd(const struct container *c)
{
        return c->epoll;
}

static bool docker_waits(const struct container *c)
{
        return c->ready && c->inspected;
}

static const struct container_ops docker_container = {
    .destroy_msec = DESTROY_MSEC,
    .create = docker_create,
    .waits = docker_waits,
    .fd = docker_fd,
    .next = container_next,
    .put_file = container_put_file,
    .execute = container_execute,
    .release_gate = container_release_gate,
    .sample = docker_sample,
    .kill = container_kill,
    .discard_output = container_discard_output,
    .collect = container_collect,
    .destroy = container_destroy,
    .free = docker_free,
};

static const struct backend_ops docker_backend = {
    .name = "docker",
    .open = docker_open,
    .close = docker_close,
    .prune = docker_prune,
    .pull = pull_image,
    .container = &docker_container,
};

__attribute__((visibility("default"))) const struct backend_module mai_backend_module = {
    .version = MAI_VERSION,
    .ops = &docker_backend,
};
