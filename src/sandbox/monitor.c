/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/monitor.h"

/*
 * Closer looks than this at the end of the CPU time would cost more than they tell: a program that has all
 * but used it up may then sleep for long, and is looked at this often all the while.
 */
#define CHECK_FLOOR (5 * NSEC_PER_MSEC)

static uint64_t to_nsec(double seconds)
{
        return seconds >= 1e9 ? UINT64_C(1000000000) * NSEC_PER_SEC : (uint64_t)(seconds * 1e9);
}

/* The earliest time at which the CPU time can be used up, with all CPUs busy from now on. */
static uint64_t earliest_end(const struct monitor *monitor, uint64_t used, uint64_t now)
{
        uint64_t left = used < monitor->cpu_limit ? monitor->cpu_limit - used : 0;
        return now + MAX(left / monitor->parallel, CHECK_FLOOR);
}

void monitor_start(struct monitor *monitor, const struct container_spec *spec, uint64_t now)
{
        *monitor = (struct monitor){
            .started = now,
            .interval = MAX(to_nsec(spec->monitoring_interval), NSEC_PER_MSEC),
            .cpu_limit = to_nsec(spec->limits.cpu_time),
            .parallel = MAX(whole_cpus(spec->limits.cpu_count), 1U),
            .max_samples = spec->monitoring_samples,
            .stride = 1,
            .last_time = now,
        };
        monitor->next_sample = now + monitor->interval;
        monitor->next_check = earliest_end(monitor, 0, now);
}

uint64_t monitor_next(const struct monitor *monitor)
{
        return MIN(monitor->next_sample, monitor->next_check);
}

static int keep(struct monitor *monitor, struct result *result, const struct run_sample *sample)
{
        if (monitor->seen++ % monitor->stride != 0 || monitor->max_samples == 0)
                return 0;
        if (result->sample_count >= monitor->max_samples) {
                size_t kept = 0;
                for (size_t i = 0; i < result->sample_count; i += 2)
                        result->samples[kept++] = result->samples[i];
                result->sample_count = kept;
                monitor->stride *= 2;
                if ((monitor->seen - 1) % monitor->stride != 0 || kept >= monitor->max_samples)
                        return 0;
        }
        size_t count = result->sample_count;
        if (count == 0 || (count >= 16 && (count & (count - 1)) == 0)) {
                size_t room = MAX(count * 2, (size_t)16);
                struct run_sample *bigger = reallocarray(result->samples, room, sizeof *bigger);
                if (!bigger)
                        return -ENOMEM;
                result->samples = bigger;
        }
        result->samples[result->sample_count++] = *sample;
        return 0;
}

int monitor_look(struct monitor *monitor, const struct usage *usage, uint64_t now, struct result *result,
    struct run_sample *ret_sample, double *ret_cpu_percent)
{
        bool has_cpu = usage->cpu_nsec != NOT_MEASURED;
        monitor->next_check = has_cpu ? earliest_end(monitor, usage->cpu_nsec, now) : monitor->next_sample;
        if (now < monitor->next_sample)
                return 0;

        /* After a pause (a stopped machine, a slow listener) there is one sample, not a burst of them. */
        uint64_t behind = now - monitor->next_sample;
        monitor->next_sample += (behind / monitor->interval + 1) * monitor->interval;
        if (!has_cpu)
                monitor->next_check = monitor->next_sample;

        /* A backend whose first reading is still under way: nothing was measured, so there is no sample. */
        if (!has_cpu && usage->memory_bytes == NOT_MEASURED && usage->pids == NOT_MEASURED &&
            usage->disk_bytes == NOT_MEASURED)
                return 0;

        *ret_sample = (struct run_sample){
            .t = (double)(now - monitor->started) / 1e9,
            .cpu = has_cpu ? (double)usage->cpu_nsec / 1e9 : -1,
            .memory = usage->memory_bytes,
            .pids = usage->pids,
            .disk = usage->disk_bytes,
        };
        *ret_cpu_percent = 0;
        if (has_cpu && now > monitor->last_time && usage->cpu_nsec >= monitor->last_cpu)
                *ret_cpu_percent = 100.0 * (double)(usage->cpu_nsec - monitor->last_cpu) /
                                   (double)(now - monitor->last_time);
        if (has_cpu)
                monitor->last_cpu = usage->cpu_nsec;
        monitor->last_time = now;
        int r = keep(monitor, result, ret_sample);
        return r < 0 ? r : 1;
}
