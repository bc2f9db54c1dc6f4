/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/failure.h"

#include <stdarg.h>

static void fill(struct setup_failure *failure, int errnum, bool unenforced, const char *setting,
    const char *hint, const char *format, va_list args)
{
        *failure = (struct setup_failure){.errnum = errnum, .unenforced = unenforced};
        if (setting)
                (void)snprintf(failure->setting, sizeof failure->setting, "%s", setting);
        if (hint)
                (void)snprintf(failure->hint, sizeof failure->hint, "%s", hint);
        (void)vsnprintf(failure->message, sizeof failure->message, format, args);
}

int failure_set(struct setup_failure *failure, int errnum, const char *setting, const char *hint,
    const char *format, ...)
{
        va_list args;
        va_start(args, format);
        fill(failure, errnum, false, setting, hint, format, args);
        va_end(args);
        return errnum ? -errnum : -EINVAL;
}

int failure_unenforced(struct setup_failure *failure, int errnum, const char *setting, const char *hint,
    const char *format, ...)
{
        va_list args;
        va_start(args, format);
        fill(failure, errnum, true, setting, hint, format, args);
        va_end(args);
        return errnum ? -errnum : -EINVAL;
}
