/* SPDX-License-Identifier: Apache-2.0 */
/* What a container's init is told. Frames are queued; they leave as fast as the engine takes them. */
#include "sandbox/docker/container.h"

#include "sandbox/docker/request.h"
#include "sandbox/exec_spec.h"
#include "util/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

/*
 * So long the init may take to kill what it watches over before the engine is asked to kill it too. That
 * takes an engine a tenth of a second and more, and costs the files of the run and its last figures.
 */
#define KILL_MSEC_LEAST 250U

static int tell(struct container *c, enum guest_frame_type type, const void *head, size_t head_size,
    const void *tail, size_t tail_size, struct error *err)
{
        const struct guest_header header = {
            .size = (uint32_t)(head_size + tail_size), .type = (uint16_t)type};
        int r = attach_write(&c->attach, &header, sizeof header);
        if (r == 0 && head_size > 0)
                r = attach_write(&c->attach, head, head_size);
        if (r == 0 && tail_size > 0)
                r = attach_write(&c->attach, tail, tail_size);
        if (r < 0)
                return error_set(err, ERROR_BACKEND, -r, "pass less input", "queueing for the container");
        if (c->attach.state == ATTACH_OPEN) {
                _cleanup_(error_clear) struct error ignored = {};
                (void)attach_process(&c->attach, &ignored); /* a broken connection shows as an event */
        }
        return 0;
}

static void parse_cpus(const char *list, uint64_t words[GUEST_CPU_WORDS])
{
        while (*list) {
                char *end;
                unsigned long first = strtoul(list, &end, 10), last = first;
                if (*end == '-')
                        last = strtoul(end + 1, &end, 10);
                for (unsigned long cpu = first; cpu <= last && cpu < GUEST_CPU_WORDS * 64; cpu++)
                        words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
                list = *end == ',' ? end + 1 : "";
        }
}

int commands_configure(struct container *c, struct error *err)
{
        const struct container_spec *spec = c->spec;
        unsigned allowed = spec->degraded_allowed;
        struct guest_configure configure = {
            .version = GUEST_PROTOCOL_VERSION,
            .flags = (spec->seccomp == SECCOMP_DEFAULT ? (uint32_t)GUEST_CONFIGURE_LOAD_FILTER : 0U) |
                     (allowed & 1U << ENFORCE_LANDLOCK ? (uint32_t)GUEST_CONFIGURE_LANDLOCK_OPTIONAL : 0U) |
                     (allowed & 1U << ENFORCE_GROUPS ? (uint32_t)GUEST_CONFIGURE_GROUPS_OPTIONAL : 0U) |
                     (allowed & 1U << ENFORCE_CPUSET ? (uint32_t)GUEST_CONFIGURE_CPUS_OPTIONAL : 0U),
            .uid = c->uid,
            .gid = c->gid,
            .open_files = spec->limits.open_files,
            .capabilities = spec->capabilities,
            .sample_msec = (uint32_t)MAX(spec->monitoring_interval * 1000, 10.0),
        };
        parse_cpus(c->cpus, configure.cpus);
        char paths[(DOCKER_WRITABLE_COUNT + DOCKER_DEVICE_COUNT) * GUEST_WRITABLE_PATH_MAX];
        size_t size = 0;
        for (size_t i = 0; i < DOCKER_WRITABLE_COUNT + DOCKER_DEVICE_COUNT; i++) {
                const char *path = i < DOCKER_WRITABLE_COUNT ? docker_writable[i]
                                                             : docker_devices[i - DOCKER_WRITABLE_COUNT];
                memcpy(paths + size, path, strlen(path) + 1);
                size += strlen(path) + 1;
        }
        configure.writable_size = (uint32_t)size;
        return tell(c, GUEST_CONFIGURE, &configure, sizeof configure, paths, size, err);
}

int container_put_file(
    struct container *c, const char *path, unsigned mode, const void *data, size_t size, struct error *err)
{
        const struct guest_put_file head = {.size = size, .mode = mode, .path_size = (uint32_t)strlen(path)};
        int r = tell(c, GUEST_PUT_FILE, &head, sizeof head, path, head.path_size, err);
        for (size_t at = 0; at < size && r == 0; at += GUEST_DATA_CHUNK)
                r = tell(c, GUEST_PUT_DATA, (const char *)data + at,
                    MIN(size - at, (size_t)GUEST_DATA_CHUNK), NULL, 0, err);
        return r;
}

int container_execute(struct container *c, const struct exec_spec *exec, struct error *err)
{
        _cleanup_(strbuf_clear) struct strbuf spec = STRBUF_INIT(GUEST_SPEC_MAX);
        int r = exec_spec_encode(exec, &spec, err);
        for (size_t at = 0; at < spec.size && r == 0; at += GUEST_DATA_CHUNK)
                r = tell(c, GUEST_SPEC_DATA, spec.data + at, MIN(spec.size - at, (size_t)GUEST_DATA_CHUNK),
                    NULL, 0, err);
        if (r == 0)
                r = tell(c, GUEST_SPEC_END, NULL, 0, NULL, 0, err);
        if (r < 0)
                return r;
        c->input_begun = true;
        if (c->step == STEP_RUNNING)
                container_set_timer(c, c->call_msec); /* for the init's account of itself */
        if (exec->stdin_fd >= 0) {
                c->input = fcntl(exec->stdin_fd, F_DUPFD_CLOEXEC, 3);
                c->input_buffer = malloc(GUEST_OUTPUT_MAX);
                if (c->input < 0 || !c->input_buffer)
                        return error_set(err, ERROR_BACKEND, errno, NULL, "preparing the program's input");
                struct epoll_event event = {
                    .events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)SOURCE_INPUT << 32};
                /* Plain files can't be waited for, nor need they be. */
                c->input_polled = epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->input, &event) == 0;
        }
        commands_pump_input(c);
        return 0;
}

static void end_input(struct container *c)
{
        if (c->input >= 0 && c->input_polled)
                (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->input, NULL);
        close_and_forget(&c->input);
        if (!c->input_end_sent)
                (void)tell(c, GUEST_INPUT_END, NULL, 0, NULL, 0, NULL);
        c->input_end_sent = true;
}

void commands_pump_input(struct container *c)
{
        if (!c->input_begun || c->input_end_sent)
                return;
        if (c->input < 0 || c->exited) {
                end_input(c);
                return;
        }
        for (;;) {
                uint64_t room = GUEST_INPUT_WINDOW - MIN(c->input_sent - c->input_taken, GUEST_INPUT_WINDOW);
                if (room == 0)
                        return; /* goes on when the init has taken some */
                struct pollfd readable = {.fd = c->input, .events = POLLIN};
                if (c->input_polled && poll(&readable, 1, 0) <= 0) {
                        struct epoll_event event = {
                            .events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)SOURCE_INPUT << 32};
                        (void)epoll_ctl(c->epoll, EPOLL_CTL_MOD, c->input, &event);
                        return;
                }
                ssize_t n = read(c->input, c->input_buffer, MIN(room, (uint64_t)GUEST_OUTPUT_MAX));
                if (n < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                if (n <= 0 || tell(c, GUEST_INPUT, c->input_buffer, (size_t)n, NULL, 0, NULL) < 0) {
                        end_input(c);
                        return;
                }
                c->input_sent += (uint64_t)n;
        }
}

int container_release_gate(struct container *c, struct error *err)
{
        return tell(c, GUEST_GO, NULL, 0, NULL, 0, err);
}

int container_kill(struct container *c, unsigned deadline_msec)
{
        if (c->exited)
                return 0;
        c->killed = true;
        container_set_timer(c, MAX(deadline_msec, KILL_MSEC_LEAST));
        return tell(c, GUEST_KILL_ALL, NULL, 0, NULL, 0, NULL);
}

void container_discard_output(struct container *c, enum output_stream stream)
{
        const struct guest_stream which = {.stream = stream == STREAM_STDOUT ? GUEST_STDOUT : GUEST_STDERR};
        if (c->discarded[stream])
                return;
        c->discarded[stream] = true;
        (void)tell(c, GUEST_DISCARD, &which, sizeof which, NULL, 0, NULL);
}

int container_collect(struct container *c, const struct collect_limits *limits)
{
        if (c->killed_whole || c->attach.state != ATTACH_OPEN)
                return -ESRCH;
        c->collecting = true;
        const struct guest_collect message = {
            .max_files = limits->max_files, .max_bytes = limits->max_bytes, .max_depth = limits->max_depth};
        return tell(c, GUEST_COLLECT, &message, sizeof message, NULL, 0, NULL);
}

int container_destroy(struct container *c)
{
        c->destroying = true;
        container_set_timer(c, DOCKER_REMOVE_MSEC);
        setup_remove(c);
        return 0;
}
