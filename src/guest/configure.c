/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/configure.h"

#include "guest/init.h"
#include "protocol/enforcement.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

/* Cuts the paths apart; false if one is not absolute, too long, or not ended. */
static bool take_paths(struct configuration *configuration, const char *paths, size_t size)
{
        size_t count = 0;
        memcpy(configuration->paths, paths, size);
        const char *end = configuration->paths + size;
        for (const char *at = configuration->paths; at < end;) {
                const char *stop = memchr(at, '\0', (size_t)(end - at));
                if (!stop || *at != '/' || stop - at >= (ptrdiff_t)GUEST_WRITABLE_PATH_MAX ||
                    count == GUEST_WRITABLE_MAX)
                        return false;
                configuration->writable[count++] = at;
                at = stop + 1;
        }
        configuration->writable[count] = NULL;
        return count > 0 && strcmp(configuration->writable[0], GUEST_WORKDIR) == 0;
}

int configure_parse(
    struct configuration *ret, const char *payload, uint32_t size, struct setup_failure *failure)
{
        struct guest_configure *head = &ret->head;
        if (size < sizeof *head)
                return failure_set(failure, EBADMSG, NULL, NULL, "the configuration is cut short");
        memcpy(head, payload, sizeof *head);
        if (head->version != GUEST_PROTOCOL_VERSION)
                return failure_set(failure, EPROTO, NULL, "make the image with this version's init",
                    "the init speaks version %u of the guest protocol, the supervisor version %u",
                    GUEST_PROTOCOL_VERSION, head->version);
        if ((head->flags & ~(uint32_t)GUEST_CONFIGURE_FLAGS_ALL_) || head->uid == 0 || head->gid == 0 ||
            head->open_files == 0 || head->sample_msec > 3600000 ||
            head->writable_size != size - sizeof *head || head->writable_size > sizeof ret->paths ||
            !take_paths(ret, payload + sizeof *head, head->writable_size))
                return failure_set(failure, EBADMSG, NULL, NULL, "the init was given a bad configuration");
        return 0;
}

static int verify_ids(const struct guest_configure *head, struct setup_failure *failure)
{
        uid_t uid[3];
        gid_t gid[3];
        if (getresuid(&uid[0], &uid[1], &uid[2]) < 0 || getresgid(&gid[0], &gid[1], &gid[2]) < 0)
                return failure_set(failure, errno, "user", NULL, "asking who we are");
        for (int i = 0; i < 3; i++)
                if (uid[i] != head->uid || gid[i] != head->gid)
                        return failure_set(failure, EPERM, "user", NULL,
                            "the engine started the init as uid %u gid %u, not as %u and %u", uid[i], gid[i],
                            head->uid, head->gid);
        return 0;
}

/* Narrows our CPUs to the mask, unless an engine's cpuset has done so. */
static int take_cpus(const struct guest_configure *head, unsigned *degraded, struct setup_failure *failure)
{
        cpu_set_t wanted, now, outside;
        CPU_ZERO(&wanted);
        for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpu < GUEST_CPU_WORDS * 64; cpu++)
                if (head->cpus[cpu / 64] >> (cpu % 64) & 1)
                        CPU_SET(cpu, &wanted);
        if (CPU_COUNT(&wanted) == 0)
                return 0;
        if (sched_getaffinity(0, sizeof now, &now) == 0) {
                CPU_AND(&outside, &now, &wanted);
                if (CPU_EQUAL(&outside, &now))
                        return 0; /* none that is not in the mask */
        }
        if (sched_setaffinity(0, sizeof wanted, &wanted) == 0)
                return 0;
        if (!(head->flags & GUEST_CONFIGURE_CPUS_OPTIONAL))
                return failure_unenforced(
                    failure, errno, "cpu_count", "pass --allow-degraded cpuset", "choosing CPUs");
        *degraded |= 1U << ENFORCE_CPUSET;
        return 0;
}

/* A directory that is not there or not the user's would only show as a strange error of the program. */
static int verify_writable(const struct configuration *configuration, struct setup_failure *failure)
{
        for (const char *const *path = configuration->writable; *path; path++) {
                struct stat st;
                if (stat(*path, &st) < 0 || faccessat(AT_FDCWD, *path, W_OK, AT_EACCESS) < 0)
                        return failure_set(failure, errno, NULL, NULL,
                            "%s of the container can't be written to by uid %u", *path,
                            configuration->head.uid);
        }
        return 0;
}

int configure_verify(
    const struct configuration *configuration, unsigned *degraded, struct setup_failure *failure)
{
        int r = verify_ids(&configuration->head, failure);
        if (r == 0)
                r = take_cpus(&configuration->head, degraded, failure);
        if (r == 0)
                r = verify_writable(configuration, failure);
        return r;
}
