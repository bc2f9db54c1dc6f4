/* SPDX-License-Identifier: Apache-2.0 */
#include "api/internal.h"

#include "util/defence.h"

const char *mai_version(void)
{
        return MAI_VERSION DEFENCE_OFF_SUFFIX;
}

const char *mai_error_code(const mai_error *error)
{
        return error_code_name(error->error.code);
}

const char *mai_error_message(const mai_error *error)
{
        return error->error.message ? error->error.message : "out of memory";
}

const char *mai_error_hint(const mai_error *error)
{
        return error->error.hint;
}

mai_error *mai_error_free(mai_error *error)
{
        if (error)
                error_clear(&error->error);
        free(error);
        return NULL;
}

int api_fail(int status, struct error *err, mai_error **ret_error)
{
        mai_error *error = ret_error ? calloc(1, sizeof *error) : NULL;
        if (error) {
                error_move(&error->error, err);
                *ret_error = error;
        } else {
                error_clear(err);
        }
        return status < 0 ? status : -EINVAL;
}
