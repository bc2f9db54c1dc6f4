/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/native/process_usage.h"

#include "util/fd.h"
#include "util/parse.h"

#include <dirent.h>
#include <fcntl.h>

/* More processes than any pids_limit lets a container have beside those of a busy machine. */
#define PROCESSES_MAX (1U << 20)

struct process {
        pid_t pid, parent;
        bool inside;
        uint64_t user_ticks, system_ticks, threads;
};

struct table {
        struct process *items;
        size_t count;
};

static void table_clear(struct table *table)
{
        free(table->items);
}

/* The fields of /proc/PID/stat. The name may hold anything, so what counts begins behind its last ')'. */
static bool parse_stat(const char *text, struct process *process)
{
        const char *at = strrchr(text, ')');
        /* Behind the state: ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime
         * cutime cstime priority nice num_threads */
        int64_t fields[17];
        if (!at || strlen(at) < 4 || parse_integers(at + 3, fields, 17) != 17)
                return false;
        process->parent = (pid_t)fields[0];
        process->user_ticks = (uint64_t)fields[10] + (uint64_t)MAX(fields[12], 0);
        process->system_ticks = (uint64_t)fields[11] + (uint64_t)MAX(fields[13], 0);
        process->threads = (uint64_t)fields[16];
        return true;
}

static int add(struct table *table, const struct process *process)
{
        if (table->count >= PROCESSES_MAX)
                return -E2BIG;
        if (table->count % 256 == 0) {
                struct process *bigger =
                    reallocarray(table->items, table->count + 256, sizeof *table->items);
                if (!bigger)
                        return -ENOMEM;
                table->items = bigger;
        }
        table->items[table->count++] = *process;
        return 0;
}

static int read_all(DIR *proc, struct table *table)
{
        struct dirent *entry;
        int r = 0;
        while (r == 0 && (entry = readdir(proc)) != NULL) {
                uint64_t pid;
                char path[300], text[1024];
                if (!parse_u64(entry->d_name, &pid) || pid > INT32_MAX)
                        continue;
                struct process process = {.pid = (pid_t)pid};
                (void)snprintf(path, sizeof path, "%s/stat", entry->d_name);
                if (fd_read_small(dirfd(proc), path, text, sizeof text) > 0 && parse_stat(text, &process))
                        r = add(table, &process);
        }
        return r;
}

static bool is_inside(const struct table *table, pid_t pid)
{
        for (size_t i = 0; i < table->count; i++)
                if (table->items[i].pid == pid)
                        return table->items[i].inside;
        return false;
}

/* Marks the init and whoever descends from it. Parents mostly stand before their children. */
static int mark(struct table *table, pid_t init)
{
        bool found = false;
        for (size_t i = 0; i < table->count; i++)
                if (table->items[i].pid == init)
                        found = table->items[i].inside = true;
        for (bool changed = found; changed;) {
                changed = false;
                for (size_t i = 0; i < table->count; i++) {
                        struct process *process = &table->items[i];
                        if (!process->inside && process->parent > 1 && is_inside(table, process->parent))
                                changed = process->inside = true;
                }
        }
        return found ? 0 : -ESRCH;
}

static int read_container(pid_t init, struct table *table)
{
        DIR *proc = opendir("/proc");
        if (!proc)
                return -errno;
        int r = read_all(proc, table);
        (void)closedir(proc);
        return r < 0 ? r : mark(table, init);
}

/* Private resident memory: all of it, less what is backed by files and shared memory. */
static uint64_t private_memory(pid_t pid)
{
        char path[40], text[256];
        int64_t pages[3]; /* all, resident, shared */
        (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
        if (fd_read_small(AT_FDCWD, path, text, sizeof text) <= 0 || parse_integers(text, pages, 3) != 3 ||
            pages[2] > pages[1])
                return 0;
        return (uint64_t)(pages[1] - pages[2]) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int process_usage_read(pid_t init, struct process_usage *ret)
{
        _cleanup_(table_clear) struct table table = {};
        int r = read_container(init, &table);
        if (r < 0)
                return r;
        uint64_t tick = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
        struct process_usage usage = {};
        for (size_t i = 0; i < table.count; i++) {
                const struct process *process = &table.items[i];
                if (!process->inside)
                        continue;
                usage.cpu_user_nsec += process->user_ticks * tick;
                usage.cpu_system_nsec += process->system_ticks * tick;
                usage.threads += process->threads;
                usage.memory_bytes += private_memory(process->pid);
        }
        *ret = usage;
        return 0;
}

int process_usage_memory(pid_t init, uint64_t *ret_bytes)
{
        _cleanup_(table_clear) struct table table = {};
        int r = read_container(init, &table);
        if (r < 0)
                return r;
        uint64_t sum = 0;
        for (size_t i = 0; i < table.count; i++) {
                if (!table.items[i].inside)
                        continue;
                char path[48], text[2048];
                static const char key[] = "\nPss_Anon:";
                int64_t kilobytes;
                (void)snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)table.items[i].pid);
                const char *line =
                    fd_read_small(AT_FDCWD, path, text, sizeof text) > 0 ? strstr(text, key) : NULL;
                if (line && parse_integers(line + sizeof key - 1, &kilobytes, 1) == 1)
                        sum += (uint64_t)kilobytes * 1024;
                else
                        sum += private_memory(table.items[i].pid);
        }
        *ret_bytes = sum;
        return 0;
}
