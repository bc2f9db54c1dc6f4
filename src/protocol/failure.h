/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a container could not be set up, as a fixed block that travels in both protocols: the launcher and the
 * init have no heap strings to send. The library turns it into a struct error.
 */
#pragma once

#include "util/common.h"

struct setup_failure {
        int32_t errnum;      /* positive, or 0 */
        uint32_t unenforced; /* 1: the host can't enforce the setting; else something went wrong */
        char setting[32];    /* the policy key concerned, or "" */
        char message[256];   /* what was being done and what was seen, without strerror() */
        char hint[256];      /* the fix, or "" */
};

/*
 * Fills it in; `setting` and `hint` may be NULL. Returns
 * -errnum (-EINVAL if 0), for `return failure_set(...)`.
 */
int failure_set(struct setup_failure *failure, int errnum, const char *setting, const char *hint,
    const char *format, ...) _printf_(5, 6);

/* The same for something that the host lacks. */
int failure_unenforced(struct setup_failure *failure, int errnum, const char *setting, const char *hint,
    const char *format, ...) _printf_(5, 6);
