/* SPDX-License-Identifier: Apache-2.0 */
#include "image/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#define FIRST_FD 3
#define SPAWN_FDS_MAX 8U
/* Out of the way of the numbers that they shall have. */
#define HIGH_FD 32

int image_spawn(const char *path, char *const argv[], char *const envp[], const int *in, size_t count,
    int error_fd, pid_t *ret)
{
        int high[SPAWN_FDS_MAX] = {};
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t all, none;
        if (count > SPAWN_FDS_MAX)
                return -EINVAL;
        (void)sigfillset(&all);
        (void)sigemptyset(&none);
        int r = posix_spawn_file_actions_init(&actions);
        if (r == 0)
                r = posix_spawnattr_init(&attributes);
        if (r != 0)
                return -r;
        (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
        (void)posix_spawn_file_actions_adddup2(&actions, 0, 1);
        r = posix_spawn_file_actions_adddup2(&actions, error_fd < 0 ? 0 : error_fd, 2);
        for (size_t i = 0; i < count && r == 0; i++) {
                high[i] = fcntl(in[i], F_DUPFD_CLOEXEC, HIGH_FD);
                r = high[i] < 0 ? errno
                                : posix_spawn_file_actions_adddup2(&actions, high[i], FIRST_FD + (int)i);
        }
        (void)posix_spawnattr_setsigdefault(&attributes, &all);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
        if (r == 0)
                r = posix_spawn(ret, path, &actions, &attributes, argv, envp);
        for (size_t i = 0; i < count; i++)
                if (high[i] > 0)
                        (void)close(high[i]);
        (void)posix_spawn_file_actions_destroy(&actions);
        (void)posix_spawnattr_destroy(&attributes);
        return -r;
}

int image_wait(pid_t pid)
{
        int status = -1;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        return status;
}
