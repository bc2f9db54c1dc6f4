/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/native/affinity.h"

#include "util/fd.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>

/*
 * The id in the innermost namespace from a line
 * "NSpid:\t12\t3" of /proc/PID/status; -1 if it is not there.
 */
static long innermost(const char *status, const char *key)
{
        const char *line = strstr(status, key);
        const char *end = line ? strchrnul(line + 1, '\n') : NULL;
        const char *last = end;
        while (last && last > line && last[-1] != '\t')
                last--;
        return last && last > line ? strtol(last, NULL, 10) : -1;
}

/*
 * Which thread of the host `inner` (a number of the container's)
 * means: the caller itself or its process. 0: another.
 */
static pid_t own_thread(pid_t caller, long inner)
{
        char path[48], status[4096];
        if (inner == 0)
                return caller;
        (void)snprintf(path, sizeof path, "/proc/%d/status", (int)caller);
        if (fd_read_small(AT_FDCWD, path, status, sizeof status) <= 0)
                return 0;
        if (innermost(status, "\nNSpid:") == inner)
                return caller;
        const char *tgid = strstr(status, "\nTgid:\t");
        return tgid && innermost(status, "\nNStgid:") == inner ? (pid_t)strtol(tgid + 7, NULL, 10) : 0;
}

/* The mask that the caller points at; what it leaves out is zero. */
static int read_mask(pid_t caller, uint64_t address, uint64_t size, cpu_set_t *ret)
{
        char path[48];
        (void)snprintf(path, sizeof path, "/proc/%d/mem", (int)caller);
        _cleanup_(closep) int memory = open(path, O_RDONLY | O_CLOEXEC);
        if (memory < 0)
                return -EPERM;
        CPU_ZERO(ret);
        size_t wanted = MIN(size, sizeof *ret);
        return pread(memory, ret, wanted, (off_t)address) == (ssize_t)wanted ? 0 : -EFAULT;
}

int affinity_broker(int listener, const struct seccomp_notif *call, const uint64_t *cpus, size_t words)
{
        pid_t caller = (pid_t)call->pid;
        pid_t target = own_thread(caller, (long)(int)call->data.args[0]);
        cpu_set_t set;
        if (target == 0)
                return -EPERM;
        int r = read_mask(caller, call->data.args[2], (uint32_t)call->data.args[1], &set);
        if (r < 0)
                return r;
        for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
                if (cpu >= words * 64 || !(cpus[cpu / 64] >> (cpu % 64) & 1))
                        CPU_CLR(cpu, &set);
        if (CPU_COUNT(&set) == 0)
                return -EINVAL;
        /* What was read came from the caller only if it still waits: its pid might be another's by now. */
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) < 0)
                return -ESRCH;
        return sched_setaffinity(target, sizeof set, &set) < 0 ? -errno : 0;
}
