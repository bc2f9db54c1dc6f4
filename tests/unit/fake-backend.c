/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-backend.h"

#include "util/clock.h"

#include <sys/timerfd.h>

/* Weak, so that the real ones win where they are linked for another reason. */
#define FAKE __attribute__((weak))

struct container {
        struct script *script;
        const struct container_spec *spec;
        struct evidence evidence;
        struct error error;
        int timer;
        size_t at;
        unsigned repeated;
        uint64_t since;                 /* the last event */
        uint64_t cues[CUE_DESTROY + 1]; /* when they were given */
        uint64_t started;
        bool destroyed;
};

static const struct step *current(const struct container *container)
{
        return container->at < container->script->count ? &container->script->steps[container->at] : NULL;
}

/* When the next event is due; UINT64_MAX: not before another call. */
static uint64_t due(const struct container *container)
{
        const struct step *step = current(container);
        if (!step) {
                bool by_itself = container->cues[CUE_DESTROY] > 0 && !container->destroyed;
                return by_itself && !container->script->never_destroyed ? 1 : UINT64_MAX;
        }
        uint64_t from =
            step->cue == CUE_NONE ? container->since : MAX(container->cues[step->cue], container->since);
        if (step->cue != CUE_NONE && container->cues[step->cue] == 0)
                return UINT64_MAX;
        return container->repeated > 0 ? 1 : from + step->delay_msec * NSEC_PER_MSEC;
}

static void arm(struct container *container)
{
        uint64_t when = due(container);
        struct itimerspec timer = {};
        if (when != UINT64_MAX) {
                timer.it_value.tv_sec = (time_t)(when / NSEC_PER_SEC);
                timer.it_value.tv_nsec = (long)(when % NSEC_PER_SEC) + (when == 0);
        }
        (void)timerfd_settime(container->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}

static void give(struct container *container, enum cue cue)
{
        container->cues[cue] = clock_now();
        if (cue == CUE_KILL || cue == CUE_DESTROY) {
                size_t to = container->at;
                while (to < container->script->count && container->script->steps[to].cue != cue)
                        to++;
                if (to < container->script->count || cue == CUE_DESTROY) {
                        container->at = to;
                        container->repeated = 0;
                }
        }
        arm(container);
}

static int fake_fd(const struct container *container)
{
        return container->timer;
}

static int fake_next(struct container *container, struct container_event *ret_event, struct error *err)
{
        if (clock_now() < due(container)) {
                arm(container);
                ret_event->type = CONTAINER_NOTHING;
                return 0;
        }
        const struct step *step = current(container);
        if (!step) {
                container->destroyed = true;
                *ret_event =
                    (struct container_event){.type = CONTAINER_DESTROYED, .destroyed = {.complete = true}};
                arm(container);
                return 0;
        }
        *ret_event = step->event;
        if (step->event.type == CONTAINER_AT_GATE && !step->event.evidence) {
                fake_evidence(container->spec, &container->evidence);
                ret_event->evidence = &container->evidence;
        }
        if (step->event.type == CONTAINER_FAILED || step->event.type == CONTAINER_LOST) {
                (void)error_set(&container->error, ERROR_BACKEND, 0, "a hint", "the fake failed");
                ret_event->error = &container->error;
        }
        container->since = clock_now();
        if (step->event.type == CONTAINER_STARTED)
                container->started = container->since;
        container->destroyed = container->destroyed || step->event.type == CONTAINER_DESTROYED;
        if (container->repeated < step->repeat) {
                container->repeated++;
        } else {
                container->repeated = 0;
                container->at++;
        }
        arm(container);
        return 0;
}

static void note_line(char lines[4096], const char *line)
{
        size_t used = strlen(lines);
        (void)snprintf(lines + used, 4096 - used, "%s\n", line);
}

static int fake_put_file(struct container *container, const char *path, unsigned mode, const void *data,
    size_t size, struct error *err)
{
        container->script->puts++;
        note_line(container->script->put_paths, path);
        return 0;
}

static int fake_execute(struct container *container, const struct exec_spec *spec, struct error *err)
{
        struct script *script = container->script;
        script->executes++;
        for (size_t i = 0; spec->argv[i]; i++)
                note_line(script->argv, spec->argv[i]);
        for (size_t i = 0; spec->environment[i]; i++)
                note_line(script->environment, spec->environment[i]);
        give(container, CUE_EXECUTE);
        return 0;
}

static int fake_release_gate(struct container *container, struct error *err)
{
        container->script->releases++;
        give(container, CUE_RELEASE);
        return 0;
}

static int fake_sample(struct container *container, struct usage *ret)
{
        struct script *script = container->script;
        script->samples++;
        if (script->sample_status < 0)
                return script->sample_status;
        *ret = script->usage;
        if (script->cpus >= 0)
                ret->cpu_nsec = (uint64_t)(script->cpus * (double)(clock_now() - container->started));
        return 0;
}

static int fake_kill(struct container *container, unsigned deadline_msec)
{
        container->script->kills++;
        give(container, CUE_KILL);
        return 0;
}

static void fake_discard_output(struct container *container, enum output_stream stream)
{
        container->script->discards[stream]++;
}

static int fake_collect(struct container *container, const struct collect_limits *limits)
{
        container->script->collects++;
        give(container, CUE_COLLECT);
        return container->script->collect_status;
}

static int fake_destroy(struct container *container)
{
        container->script->destroys++;
        give(container, CUE_DESTROY);
        return 0;
}

static struct container *fake_free(struct container *container)
{
        container->script->frees++;
        error_clear(&container->error);
        (void)close(container->timer);
        free(container);
        return NULL;
}

static const struct container_ops fake_ops = {
    .destroy_msec = 1000,
    .fd = fake_fd,
    .next = fake_next,
    .put_file = fake_put_file,
    .execute = fake_execute,
    .release_gate = fake_release_gate,
    .sample = fake_sample,
    .kill = fake_kill,
    .discard_output = fake_discard_output,
    .collect = fake_collect,
    .destroy = fake_destroy,
    .free = fake_free,
};

FAKE int container_manager_create(struct container_manager *manager, const struct container_spec *spec,
    int cancel_fd, struct managed_container *ret, double *ret_waited, struct error *err)
{
        struct script *script = manager->script;
        if (script->create_cancelled)
                return error_set(err, ERROR_CANCELLED, ECANCELED, NULL, "cancelled in the queue");
        if (script->create_status < 0)
                return error_set(err, ERROR_BUSY, -script->create_status, NULL, "the host is full");
        struct container *container = calloc(1, sizeof *container);
        if (!container)
                return error_oom(err);
        container->script = script;
        container->spec = spec;
        container->since = clock_now();
        container->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        arm(container);
        *ret = (struct managed_container){.ops = &fake_ops, .container = container};
        *ret_waited = 0.25;
        return 0;
}

FAKE void container_manager_release(
    struct container_manager *manager, struct managed_container *managed, bool complete)
{
        manager->script->released_complete = complete;
        managed->container = managed->ops->free(managed->container);
}

FAKE const char *ledger_entry_id(const struct ledger_entry *entry)
{
        return "0123456789abcdef0123456789abcdef";
}

FAKE const char *enforcement_name(enum enforcement enforcement)
{
        static const char *const names[] = {"cgroup", "swap", "cpuset", "landlock", "groups", "uid", "proc"};
        return (size_t)enforcement < ARRAY_SIZE(names) ? names[enforcement] : NULL;
}

FAKE void container_spec_clear(struct container_spec *spec)
{
        free(spec->trust_level);
        free(spec->backend);
        free(spec->image);
        free(spec->policy_path);
        for (size_t i = 0; spec->environment && spec->environment[i]; i++)
                free(spec->environment[i]);
        free(spec->environment);
        for (size_t i = 0; spec->unsafe && spec->unsafe[i]; i++)
                free(spec->unsafe[i]);
        free(spec->unsafe);
        *spec = (struct container_spec){};
}

struct container_spec fake_spec(void)
{
        return (struct container_spec){
            .trust_level = strdup("unknown"),
            .backend = strdup("native"),
            .image = strdup("host"),
            .limits = {.cpu_count = 2,
                .mem_limit = 64U << 20,
                .timeout = 5,
                .cpu_time = 5,
                .pids_limit = 32,
                .disk_limit = 1U << 20,
                .inode_limit = 1000,
                .output_limit = 100,
                .open_files = 64},
            .uid = 1000,
            .gid = 1000,
            .read_only = true,
            .no_new_privileges = true,
            .monitoring_interval = 0.1,
            .monitoring_samples = 100,
        };
}

void fake_evidence(const struct container_spec *spec, struct evidence *ret)
{
        *ret = (struct evidence){
            .uid = spec->uid,
            .gid = spec->gid,
            .host_uid = 900001,
            .host_gid = 900001,
            .no_new_privs = true,
            .seccomp_mode = 2,
            .seccomp_filters = 1,
            .seccomp_profile = "default",
            .landlock_abi = 4,
            .namespaces = {1001, 1002, 1003, 1004, 1005, 1006, 1007},
            .host_namespaces = {1, 2, 3, 4, 5, 6, 7},
            .read_only_root = true,
            .cgroup_version = 2,
            .cgroup_path = "/mai/x",
            .memory_max = spec->limits.mem_limit,
            .pids_max = spec->limits.pids_limit + 1,
            .cpu_quota_usec = (uint64_t)(spec->limits.cpu_count * 100000),
            .cpu_period_usec = 100000,
            .cpus_allowed = 2,
            .disk_bytes = spec->limits.disk_limit,
            .disk_inodes = spec->limits.inode_limit,
            .network = "none",
            .kernel_says = {"uid", "gid"},
            .guest_says = {"landlock_abi"},
        };
}
