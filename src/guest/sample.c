/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/sample.h"

#include "util/fd.h"
#include "util/parse.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Entries of /proc looked at for one sample; a pids_limit far above this is nobody's. */
#define PROCESSES_MAX 8192U

/* Sums over what lives in our pid namespace, the init included. */
struct proc_sum {
        uint64_t user_ticks, system_ticks, tasks, memory_pages;
};

/* Adds one process. Its time includes that of the children it waited for, as the init's does of orphans. */
static void add_process(int proc, const char *pid, struct proc_sum *sum)
{
        char path[32], text[1024];
        (void)snprintf(path, sizeof path, "%.16s/stat", pid);
        if (fd_read_small(proc, path, text, sizeof text) <= 0)
                return;
        const char *name_end = strrchr(text, ')'); /* the name may hold anything */
        /* Behind the name and the state come the fields 4 and up: times are 14 to 17, threads 20. */
        int64_t fields[17];
        if (!name_end || strlen(name_end) < 4 || parse_integers(name_end + 3, fields, 17) != 17)
                return;
        sum->user_ticks += (uint64_t)fields[10] + (uint64_t)MAX(fields[12], 0);
        sum->system_ticks += (uint64_t)fields[11] + (uint64_t)MAX(fields[13], 0);
        sum->tasks += (uint64_t)MAX(fields[16], 0);

        int64_t pages[2]; /* all, resident */
        (void)snprintf(path, sizeof path, "%.16s/statm", pid);
        if (fd_read_small(proc, path, text, sizeof text) > 0 && parse_integers(text, pages, 2) == 2)
                sum->memory_pages += (uint64_t)pages[1];
}

static bool read_proc(struct proc_sum *ret)
{
        DIR *stream = opendir("/proc");
        if (!stream)
                return false;
        struct dirent *entry;
        struct proc_sum sum = {};
        for (unsigned n = 0; n < PROCESSES_MAX && (entry = readdir(stream)) != NULL;) {
                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                n++;
                add_process(dirfd(stream), entry->d_name, &sum);
        }
        (void)closedir(stream);
        *ret = sum;
        return sum.tasks > 0;
}

static uint64_t divide(uint64_t value, uint64_t by)
{
        return value == GUEST_NOT_MEASURED ? value : value / by;
}

static void read_cgroup_cpu(const struct cgroup_view *view, struct guest_sample *sample)
{
        enum guest_source source = view->sources[CGROUP_CPUACCT];
        if (source == GUEST_SOURCE_CGROUP_V2) {
                sample->cpu_usec = cgroup_view_number(view, CGROUP_CPUACCT, "cpu.stat", "usage_usec");
                sample->cpu_user_usec = cgroup_view_number(view, CGROUP_CPUACCT, "cpu.stat", "user_usec");
                sample->cpu_system_usec =
                    cgroup_view_number(view, CGROUP_CPUACCT, "cpu.stat", "system_usec");
        } else if (source == GUEST_SOURCE_CGROUP_V1) {
                sample->cpu_usec =
                    divide(cgroup_view_number(view, CGROUP_CPUACCT, "cpuacct.usage", ""), 1000);
                sample->cpu_user_usec =
                    divide(cgroup_view_number(view, CGROUP_CPUACCT, "cpuacct.usage_user", ""), 1000);
                sample->cpu_system_usec =
                    divide(cgroup_view_number(view, CGROUP_CPUACCT, "cpuacct.usage_sys", ""), 1000);
        }
        if (sample->cpu_usec != GUEST_NOT_MEASURED)
                sample->cpu_source = source;
}

static void read_cgroup(const struct cgroup_view *view, struct guest_sample *sample)
{
        read_cgroup_cpu(view, sample);
        bool v2 = view->sources[CGROUP_MEMORY] == GUEST_SOURCE_CGROUP_V2;
        sample->memory_bytes =
            cgroup_view_number(view, CGROUP_MEMORY, v2 ? "memory.current" : "memory.usage_in_bytes", "");
        sample->memory_peak_bytes =
            cgroup_view_number(view, CGROUP_MEMORY, v2 ? "memory.peak" : "memory.max_usage_in_bytes", "");
        if (sample->memory_bytes != GUEST_NOT_MEASURED)
                sample->memory_source = view->sources[CGROUP_MEMORY];
        sample->pids = cgroup_view_number(view, CGROUP_PIDS, "pids.current", "");
        sample->pids_peak = cgroup_view_number(view, CGROUP_PIDS, "pids.peak", "");
        if (sample->pids != GUEST_NOT_MEASURED)
                sample->pids_source = view->sources[CGROUP_PIDS];
}

static void fill_from_proc(struct guest_sample *sample)
{
        struct proc_sum sum;
        if ((sample->cpu_source && sample->memory_source && sample->pids_source) || !read_proc(&sum))
                return;
        uint64_t tick_usec = USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
        if (!sample->cpu_source) {
                sample->cpu_user_usec = sum.user_ticks * tick_usec;
                sample->cpu_system_usec = sum.system_ticks * tick_usec;
                sample->cpu_usec = sample->cpu_user_usec + sample->cpu_system_usec;
                sample->cpu_source = GUEST_SOURCE_PROC;
        }
        if (!sample->memory_source) {
                sample->memory_bytes = sum.memory_pages * (uint64_t)sysconf(_SC_PAGESIZE);
                sample->memory_source = GUEST_SOURCE_PROC;
        }
        if (!sample->pids_source) {
                sample->pids = sum.tasks;
                sample->pids_source = GUEST_SOURCE_PROC;
        }
}

/* Directories may share a file system: each counts once. */
static void read_disks(const char *const *writable, struct guest_sample *sample)
{
        dev_t seen[GUEST_WRITABLE_MAX];
        size_t count = 0;
        for (; *writable && count < ARRAY_SIZE(seen); writable++) {
                struct stat st;
                struct statfs fs;
                if (stat(*writable, &st) < 0 || !S_ISDIR(st.st_mode) || statfs(*writable, &fs) < 0)
                        continue;
                bool known = false;
                for (size_t i = 0; i < count; i++)
                        known = known || seen[i] == st.st_dev;
                if (known)
                        continue;
                seen[count++] = st.st_dev;
                uint64_t block = (uint64_t)fs.f_bsize;
                uint64_t used = ((uint64_t)fs.f_blocks - (uint64_t)fs.f_bfree) * block;
                sample->disk_bytes = count == 1 ? used : sample->disk_bytes + used;
                sample->disk_free_bytes = MIN(sample->disk_free_bytes, (uint64_t)fs.f_bfree * block);
                if (fs.f_files > 0) /* else it has no limit on files */
                        sample->inodes_free = MIN(sample->inodes_free, (uint64_t)fs.f_ffree);
        }
}

/* The larger of what the kernel remembers (but not from `before` our time) and what we have seen. */
static uint64_t peak(uint64_t *seen, uint64_t now, uint64_t kernel, uint64_t before)
{
        if (kernel == before && now != GUEST_NOT_MEASURED)
                kernel = GUEST_NOT_MEASURED;
        if (now == GUEST_NOT_MEASURED)
                return kernel;
        *seen = MAX(*seen, now);
        return kernel == GUEST_NOT_MEASURED ? *seen : MAX(*seen, kernel);
}

static uint64_t without_init(uint64_t tasks)
{
        return tasks == GUEST_NOT_MEASURED ? tasks : tasks - (tasks > 0);
}

void sampler_open(struct sampler *sampler, const char *const *writable)
{
        *sampler = (struct sampler){.writable = writable, .counts = {0, 0}};
        cgroup_view_open(&sampler->cgroup);
        struct guest_sample sample;
        memset(&sample, 0xff, sizeof sample);
        read_cgroup(&sampler->cgroup, &sample);
        sampler->memory_peak_before = sample.memory_peak_bytes;
        sampler->pids_peak_before = sample.pids_peak;
}

void sampler_read(struct sampler *sampler, struct guest_sample *ret)
{
        struct guest_sample sample;
        memset(&sample, 0xff, sizeof sample); /* GUEST_NOT_MEASURED throughout */
        sample.cpu_source = sample.memory_source = sample.pids_source = GUEST_SOURCE_NONE;
        sample.reserved = 0;
        read_cgroup(&sampler->cgroup, &sample);
        fill_from_proc(&sample);
        sample.memory_peak_bytes = peak(&sampler->memory_peak, sample.memory_bytes, sample.memory_peak_bytes,
            sampler->memory_peak_before);
        sample.pids = without_init(sample.pids);
        sample.pids_peak = peak(&sampler->pids_peak, sample.pids, without_init(sample.pids_peak),
            without_init(sampler->pids_peak_before));
        read_disks(sampler->writable, &sample);
        *ret = sample;
}

bool sampler_counts(struct sampler *sampler, struct guest_counts *ret)
{
        const struct cgroup_view *view = &sampler->cgroup;
        bool v2 = view->sources[CGROUP_MEMORY] == GUEST_SOURCE_CGROUP_V2;
        struct guest_counts now = {
            .oom_kills = cgroup_view_number(
                view, CGROUP_MEMORY, v2 ? "memory.events" : "memory.oom_control", "oom_kill"),
            .forks_refused = cgroup_view_number(view, CGROUP_PIDS, "pids.events", "max"),
        };
        if (memcmp(&now, &sampler->counts, sizeof now) == 0)
                return false;
        *ret = sampler->counts = now;
        return true;
}
