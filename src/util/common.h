/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every file needs: cleanup attributes, array sizes, and the conventions they serve.
 *
 * Conventions of the whole project:
 *   - functions that can fail return 0 (or a count) or a negative errno; output parameters are named `ret_x`
 *     and stay untouched on failure;
 *   - where a user will read about the failure, the last argument is a `struct error *` (see util/error.h);
 *   - destructors take NULL, cope with half-built objects and return NULL;
 *   - `(void)` before a call marks a result that is ignored on purpose.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _unused_ __attribute__((unused))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define USEC_PER_SEC UINT64_C(1000000)

/* free() for `_cleanup_(freep)` on any pointer variable. */
static inline void freep(void *pointer)
{
        free(*(void **)pointer);
}

/* close() for `_cleanup_(closep)` on an int; negative values are "no descriptor". */
static inline void closep(int *fd)
{
        if (*fd >= 0) {
                int saved = errno;
                (void)close(*fd);
                errno = saved;
        }
}

/* Closes *fd if it is open, and marks it closed. */
static inline void close_and_forget(int *fd)
{
        closep(fd);
        *fd = -1;
}

/* Hands the descriptor to the caller: the variable forgets it. */
static inline int take_fd(int *fd)
{
        int taken = *fd;
        *fd = -1;
        return taken;
}

/* Hands the pointer to the caller: the variable forgets it. */
#define TAKE_PTR(p)                                                                                         \
        ({                                                                                                  \
                __typeof__(p) taken_ = (p);                                                                 \
                (p) = NULL;                                                                                 \
                taken_;                                                                                     \
        })

#include "util/banned.h"
