/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/failure.h"

int failure_to_error(const struct setup_failure *failure, struct error *err)
{
        struct setup_failure known = *failure;
        known.setting[sizeof known.setting - 1] = '\0';
        known.message[sizeof known.message - 1] = '\0';
        known.hint[sizeof known.hint - 1] = '\0';
        return error_set(err, known.unenforced ? ERROR_UNENFORCED : ERROR_BACKEND, known.errnum,
            known.hint[0] ? known.hint : NULL, "%s%s%s", known.setting, known.setting[0] ? ": " : "",
            known.message);
}
