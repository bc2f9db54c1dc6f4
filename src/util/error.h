/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error type: what went wrong, in words for the person who has to mend it.
 *
 * Created where the fact is known (error_set), wrapped where context is known (error_wrap gives
 * "outer: inner"), printed once at the edge. `code` is the machine-readable word that a result's
 * error.code carries; all values stand in the table in error.c (docs/RESULT.md lists them).
 *
 * Owner: the caller, usually as `_cleanup_(error_clear) struct error err = {};`. Functions accept NULL
 * where the caller does not care. Not shared between threads.
 */
#pragma once

#include "util/common.h"

enum error_code {
        ERROR_NONE = 0,
        ERROR_INTERNAL,   /* a bug or an unexpected failure of the system */
        ERROR_MEMORY,     /* we ourselves could not allocate */
        ERROR_USAGE,      /* words that cannot be parsed: exit status 2 */
        ERROR_POLICY,     /* the policy file is bad */
        ERROR_REFUSED,    /* the policy refuses this request */
        ERROR_UNENFORCED, /* the host cannot enforce what the policy asks for */
        ERROR_MISMATCH,   /* what was read back differs from the policy */
        ERROR_BACKEND,    /* the backend is missing or failed */
        ERROR_IMAGE,      /* the image is missing or bad */
        ERROR_INPUT,      /* program or input file missing, unreadable, too large */
        ERROR_OUTPUT,     /* output directory or standard output could not be written */
        ERROR_BUSY,       /* host share used up and the queue is full or timed out */
        ERROR_STATE,      /* the state directory cannot be used */
        ERROR_NOT_FOUND,  /* command of `exec` not found in the image, or not executable */
        ERROR_GATEWAY,    /* the package gateway could not be started, or ended while it was needed */
        ERROR_CANCELLED,  /* somebody cancelled before user code started */
        ERROR_CODE_COUNT_,
};

struct error {
        enum error_code code; /* ERROR_NONE: nothing happened */
        int errnum;           /* positive errno, or 0 */
        char *message;        /* names the setting and what was seen; never ends in a full stop or newline */
        char *hint;           /* the fix, or NULL */
};

void error_clear(struct error *err);

/*
 * Records a failure, replacing what was there. `hint` may be NULL. Appends ": strerror(errnum)" when errnum
 * is not 0. Returns -errnum, or -EINVAL when errnum is 0, so that `return error_set(...)` reads well.
 */
int error_set(struct error *err, enum error_code code, int errnum, const char *hint, const char *format, ...)
    _printf_(5, 6);

/* Puts "format: " before the message. Returns -errnum of what is recorded (-EINVAL if none). */
int error_wrap(struct error *err, const char *format, ...) _printf_(2, 3);

/* Our own allocation failed. Returns -ENOMEM. */
int error_oom(struct error *err);

#ifdef __clang_analyzer__
/* The analyser sees one file at a time, and has to be told that these return less than 0. */
#define less_than_zero_(call)                                                                               \
        ({                                                                                                  \
                int status_ = (call);                                                                       \
                if (status_ >= 0)                                                                           \
                        __builtin_unreachable();                                                            \
                status_;                                                                                    \
        })
#define error_set(...) less_than_zero_(error_set(__VA_ARGS__))
#define error_wrap(...) less_than_zero_(error_wrap(__VA_ARGS__))
#define error_oom(err) less_than_zero_(error_oom(err))
#endif

/* Moves `from` into `to` (which is cleared first); `from` is left empty. */
void error_move(struct error *to, struct error *from);

/* "internal", "policy", ...: the word in a result's error.code. */
const char *error_code_name(enum error_code code);
