/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/native/denied.h"

#include "sandbox/native/affinity.h"
#include "seccomp/seccomp.h"

#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static int count(struct denied *denied, int number)
{
        const char *name = seccomp_syscall_name(number);
        if (!name)
                name = "unknown";
        for (size_t i = 0; i < denied->call_count; i++)
                if (strcmp(denied->calls[i].name, name) == 0) {
                        denied->calls[i].count++;
                        return (int)i;
                }
        size_t at = MIN(denied->call_count, (size_t)DENIED_NAMES_MAX - 1);
        if (denied->call_count < DENIED_NAMES_MAX)
                denied->call_count++;
        denied->calls[at].name = name;
        denied->calls[at].count++;
        return (int)at;
}

int denied_answer(struct denied *denied)
{
        /* The kernel wants the first struct zeroed; both may grow, but these parts of them stay. */
        struct seccomp_notif call = {};
        if (ioctl(denied->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
                return errno == EINTR || errno == ENOENT ? -EAGAIN
                                                         : -errno; /* ENOENT: the caller died meanwhile */
        struct seccomp_notif_resp answer = {.id = call.id, .error = -EPERM};
        bool brokered = call.data.nr == SYS_sched_setaffinity && denied->brokered_count < BROKERED_CALLS_MAX;
        if (brokered) {
                denied->brokered_count++;
                answer.error = affinity_broker(denied->listener, &call, denied->cpus, LAUNCHER_CPU_WORDS);
        }
        (void)ioctl(denied->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* fails only if the caller died */
        return brokered ? -EAGAIN : count(denied, call.data.nr);
}
