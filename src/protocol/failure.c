/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/failure.h"

#include <stdarg.h>

/* All but the message. */
static void fill(
    struct setup_failure *failure, int errnum, bool unenforced, const char *setting, const char *hint)
{
        *failure = (struct setup_failure){.errnum = errnum, .unenforced = unenforced};
        if (setting)
                (void)snprintf(failure->setting, sizeof failure->setting, "%s", setting);
        if (hint)
                (void)snprintf(failure->hint, sizeof failure->hint, "%s", hint);
}

int failure_set(struct setup_failure *failure, int errnum, const char *setting, const char *hint,
    const char *format, ...)
{
        fill(failure, errnum, false, setting, hint);
        va_list args;
        va_start(args, format);
        /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see va_start() here */
        (void)vsnprintf(failure->message, sizeof failure->message, format, args);
        va_end(args);
        return errnum ? -errnum : -EINVAL;
}

int failure_unenforced(struct setup_failure *failure, int errnum, const char *setting, const char *hint,
    const char *format, ...)
{
        fill(failure, errnum, true, setting, hint);
        va_list args;
        va_start(args, format);
        /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see va_start() here */
        (void)vsnprintf(failure->message, sizeof failure->message, format, args);
        va_end(args);
        return errnum ? -errnum : -EINVAL;
}
