/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the programs that do the work on images. */
#pragma once

#include "util/common.h"

#include <sys/types.h>

/*
 * Starts a program with the descriptors in[i] as its 3, 4, ...; everything else is closed, standard input
 * and output are /dev/null. `error_fd` becomes its standard error, -1: /dev/null. 0 or -errno.
 */
int image_spawn(const char *path, char *const argv[], char *const envp[], const int *in, size_t count,
    int error_fd, pid_t *ret);

/* Waits for it. Its wait status. */
int image_wait(pid_t pid);
