/* SPDX-License-Identifier: Apache-2.0 */
#include "util/error.h"

#include <stdarg.h>

static const char *const code_names[ERROR_CODE_COUNT_] = {
    [ERROR_NONE] = "none",
    [ERROR_INTERNAL] = "internal",
    [ERROR_MEMORY] = "out_of_memory",
    [ERROR_USAGE] = "usage",
    [ERROR_POLICY] = "policy_invalid",
    [ERROR_REFUSED] = "policy_refused",
    [ERROR_UNENFORCED] = "not_enforceable",
    [ERROR_MISMATCH] = "security_mismatch",
    [ERROR_BACKEND] = "backend_unavailable",
    [ERROR_IMAGE] = "image_unavailable",
    [ERROR_INPUT] = "input_invalid",
    [ERROR_OUTPUT] = "output_failed",
    [ERROR_BUSY] = "busy",
    [ERROR_STATE] = "state_unavailable",
    [ERROR_NOT_FOUND] = "command_not_found",
    [ERROR_GATEWAY] = "gateway_failed",
    [ERROR_CANCELLED] = "cancelled",
};

const char *error_code_name(enum error_code code)
{
        if ((unsigned)code >= ERROR_CODE_COUNT_)
                return "internal";
        return code_names[code];
}

void error_clear(struct error *err)
{
        if (!err)
                return;
        free(err->message);
        free(err->hint);
        *err = (struct error){};
}

void error_move(struct error *to, struct error *from)
{
        if (to) {
                error_clear(to);
                *to = *from;
                *from = (struct error){};
        } else {
                error_clear(from);
        }
}

/* What helps against an error wherever it shows: the caller's own advice would miss the point. */
static const struct {
        int errnum;
        const char *hint;
} general_hints[] = {
    {EMFILE, "raise the limit of open files (ulimit -n)"},
    {ENFILE, "the host has no file descriptors left"},
};

static const char *general_hint(int errnum, const char *hint)
{
        for (size_t i = 0; i < ARRAY_SIZE(general_hints); i++)
                if (general_hints[i].errnum == errnum)
                        return general_hints[i].hint;
        return hint;
}

/* Names in brackets: not the macros of error.h. */
int(error_set)(
    struct error *err, enum error_code code, int errnum, const char *hint, const char *format, ...)
{
        int status = errnum ? -errnum : -EINVAL;
        if (!err)
                return status;

        char *text = NULL;
        va_list args;
        va_start(args, format);
        if (vasprintf(&text, format, args) < 0)
                text = NULL;
        va_end(args);

        if (text && errnum) {
                char *with_reason = NULL;
                if (asprintf(&with_reason, "%s: %s", text, strerror(errnum)) >= 0) {
                        free(text);
                        text = with_reason;
                }
        }
        hint = general_hint(errnum, hint);
        char *hint_copy = hint ? strdup(hint) : NULL;
        error_clear(err);
        err->code = code;
        err->errnum = errnum;
        err->message = text;
        err->hint = hint_copy;
        return status;
}

int(error_wrap)(struct error *err, const char *format, ...)
{
        if (!err)
                return -EINVAL;

        _cleanup_(freep) char *outer = NULL;
        va_list args;
        va_start(args, format);
        if (vasprintf(&outer, format, args) < 0)
                outer = NULL;
        va_end(args);

        char *joined = NULL;
        if (outer && err->message && asprintf(&joined, "%s: %s", outer, err->message) >= 0) {
                free(err->message);
                err->message = joined;
        }
        return err->errnum ? -err->errnum : -EINVAL;
}

int(error_oom)(struct error *err)
{
        return error_set(err, ERROR_MEMORY, ENOMEM, NULL, "out of memory");
}
