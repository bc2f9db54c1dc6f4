/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/native/meter.h"

#include "sandbox/native/process_usage.h"
#include "util/fd.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>

static const struct {
        enum launcher_controller v1_controller;
        const char *v1, *v2;
} file_names[METER_FILE_COUNT_] = {
    [METER_CPU] = {CONTROLLER_CPUACCT, "cpuacct.usage", "cpu.stat"},
    [METER_CPU_USER] = {CONTROLLER_CPUACCT, "cpuacct.usage_user", NULL},
    [METER_CPU_SYSTEM] = {CONTROLLER_CPUACCT, "cpuacct.usage_sys", NULL},
    [METER_MEMORY] = {CONTROLLER_MEMORY, "memory.usage_in_bytes", "memory.current"},
    [METER_MEMORY_PEAK] = {CONTROLLER_MEMORY, "memory.max_usage_in_bytes", "memory.peak"},
    [METER_MEMORY_EVENTS] = {CONTROLLER_MEMORY, "memory.oom_control", "memory.events"},
    [METER_PIDS] = {CONTROLLER_PIDS, "pids.current", "pids.current"},
    [METER_PIDS_PEAK] = {CONTROLLER_PIDS, "pids.peak", "pids.peak"},
    [METER_PIDS_EVENTS] = {CONTROLLER_PIDS, "pids.events", "pids.events"},
};

/* v1 tells of an out-of-memory situation through an eventfd that is registered in cgroup.event_control. */
static int watch_oom_v1(struct meter *meter)
{
        if (meter->files[METER_MEMORY_EVENTS] < 0)
                return 0;
        meter->oom_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (meter->oom_event < 0)
                return -errno;
        char text[32];
        (void)snprintf(text, sizeof text, "%d %d", meter->oom_event, meter->files[METER_MEMORY_EVENTS]);
        return fd_write_file(meter->directories[CONTROLLER_MEMORY], "cgroup.event_control", text);
}

int meter_open(struct meter *meter, int version, uint32_t controllers, const int *fds)
{
        meter->version = version;
        for (int i = 0; i < CONTROLLER_COUNT_; i++)
                if (controllers & (1U << i))
                        meter->directories[i] = *fds++;
        if (version == 0)
                return 0;
        for (int i = 0; i < METER_FILE_COUNT_; i++) {
                const char *name = version == 2 ? file_names[i].v2 : file_names[i].v1;
                enum launcher_controller where =
                    version == 2 ? CONTROLLER_UNIFIED : file_names[i].v1_controller;
                if (where == CONTROLLER_CPUACCT && meter->directories[where] < 0)
                        where = CONTROLLER_CPU; /* mounted together */
                if (name && meter->directories[where] >= 0)
                        meter->files[i] = openat(meter->directories[where], name, O_RDONLY | O_CLOEXEC);
        }
        return version == 1 ? watch_oom_v1(meter) : 0;
}

int meter_open_processes(struct meter *meter, pid_t init, uint64_t memory_max)
{
        meter->version = 0;
        meter->init = init;
        meter->memory_max = memory_max;
        meter->oom_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        return meter->oom_event < 0 ? -errno : 0;
}

void meter_close(struct meter *meter)
{
        for (int i = 0; i < METER_FILE_COUNT_; i++)
                close_and_forget(&meter->files[i]);
        for (int i = 0; i < CONTROLLER_COUNT_; i++)
                close_and_forget(&meter->directories[i]);
        close_and_forget(&meter->oom_event);
        close_and_forget(&meter->disk);
}

/* The number behind `key` at the start of a line ("" for the file's only number); NOT_MEASURED if it is not
 * there. */
static uint64_t number_after(const char *text, const char *key)
{
        size_t size = strlen(key);
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                if (strncmp(line, key, size) == 0 && (size == 0 || line[size] == ' ')) {
                        uint64_t value = 0;
                        bool any = false;
                        for (const char *at = line + size + (size ? 1 : 0); *at >= '0' && *at <= '9'; at++) {
                                value = value * 10 + (uint64_t)(*at - '0');
                                any = true;
                        }
                        return any ? value : NOT_MEASURED;
                }
                line = *end ? end + 1 : end;
        }
        return NOT_MEASURED;
}

static uint64_t read_number(const struct meter *meter, enum meter_file file, const char *key)
{
        char text[1024];
        if (meter->files[file] < 0 || fd_pread_small(meter->files[file], text, sizeof text) <= 0)
                return NOT_MEASURED;
        return number_after(text, key);
}

static uint64_t without_init(uint64_t pids)
{
        return pids == NOT_MEASURED ? pids : pids - (pids > 0);
}

/* Files in the writable directories are memory too. */
static void read_processes(struct meter *meter, struct usage *ret)
{
        struct process_usage seen;
        if (process_usage_read(meter->init, &seen) < 0)
                return;
        uint64_t files = ret->disk_bytes == NOT_MEASURED ? 0 : ret->disk_bytes;
        uint64_t memory = seen.memory_bytes + files, exact;
        if (memory > meter->memory_max && !meter->over_memory &&
            process_usage_memory(meter->init, &exact) == 0) {
                memory = exact + files;
                if (memory > meter->memory_max) {
                        const uint64_t one = 1;
                        meter->over_memory = true;
                        (void)!write(meter->oom_event, &one, sizeof one);
                }
        }
        /* Time that a dead process took along must not turn the clock back. */
        meter->cpu_user_nsec = MAX(meter->cpu_user_nsec, seen.cpu_user_nsec);
        meter->cpu_system_nsec = MAX(meter->cpu_system_nsec, seen.cpu_system_nsec);
        meter->memory_peak_bytes = MAX(meter->memory_peak_bytes, memory);
        meter->pids_peak = MAX(meter->pids_peak, without_init(seen.threads));
        ret->cpu_user_nsec = meter->cpu_user_nsec;
        ret->cpu_system_nsec = meter->cpu_system_nsec;
        ret->cpu_nsec = meter->cpu_user_nsec + meter->cpu_system_nsec;
        ret->memory_bytes = memory;
        ret->memory_peak_bytes = meter->memory_peak_bytes;
        ret->pids = without_init(seen.threads);
        ret->pids_peak = meter->pids_peak;
}

void meter_read(struct meter *meter, struct usage *ret)
{
        memset(ret, 0xff, sizeof *ret); /* NOT_MEASURED throughout */
        if (meter->version == 2) {
                char text[1024];
                if (meter->files[METER_CPU] >= 0 &&
                    fd_pread_small(meter->files[METER_CPU], text, sizeof text) > 0) {
                        ret->cpu_nsec = number_after(text, "usage_usec") * 1000;
                        ret->cpu_user_nsec = number_after(text, "user_usec") * 1000;
                        ret->cpu_system_nsec = number_after(text, "system_usec") * 1000;
                }
        } else if (meter->version == 1) {
                ret->cpu_nsec = read_number(meter, METER_CPU, "");
                ret->cpu_user_nsec = read_number(meter, METER_CPU_USER, "");
                ret->cpu_system_nsec = read_number(meter, METER_CPU_SYSTEM, "");
        }
        ret->memory_bytes = read_number(meter, METER_MEMORY, "");
        ret->memory_peak_bytes = read_number(meter, METER_MEMORY_PEAK, "");
        ret->pids = without_init(read_number(meter, METER_PIDS, ""));
        ret->pids_peak = without_init(read_number(meter, METER_PIDS_PEAK, ""));

        struct statfs fs;
        if (meter->disk >= 0 && fstatfs(meter->disk, &fs) == 0) {
                uint64_t block = (uint64_t)fs.f_bsize;
                ret->disk_bytes = ((uint64_t)fs.f_blocks - (uint64_t)fs.f_bfree) * block;
                ret->disk_free_bytes = (uint64_t)fs.f_bfree * block;
                ret->inodes_free = (uint64_t)fs.f_ffree;
        }
        if (meter->version == 0 && meter->init > 0)
                read_processes(meter, ret);
}

void meter_note_peak(struct meter *meter, uint64_t bytes)
{
        if (meter->version != 0)
                return;
        meter->memory_peak_bytes = MAX(meter->memory_peak_bytes, bytes);
        meter->pids_peak = MAX(meter->pids_peak, UINT64_C(1)); /* it was there */
}

static uint64_t count_or_zero(uint64_t count)
{
        return count == NOT_MEASURED ? 0 : count;
}

uint64_t meter_oom_kills(const struct meter *meter)
{
        if (meter->version == 0)
                return meter->over_memory;
        return count_or_zero(read_number(meter, METER_MEMORY_EVENTS, "oom_kill"));
}

uint64_t meter_forks_refused(const struct meter *meter)
{
        return count_or_zero(read_number(meter, METER_PIDS_EVENTS, "max"));
}
