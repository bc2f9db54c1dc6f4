/* SPDX-License-Identifier: Apache-2.0 */
#include "api/internal.h"

mai_result *result_wrap(struct result *inner)
{
        mai_result *result = calloc(1, sizeof *result);
        if (!result) {
                (void)result_free(inner);
                return NULL;
        }
        result->inner = inner;
        if (inner->violation.kind != VIOLATION_NONE)
                (void)violation_message(&inner->violation, result->violation);
        return result;
}

mai_result *mai_result_free(mai_result *result)
{
        if (result)
                (void)result_free(result->inner);
        free(result);
        return NULL;
}

static int copy_error(const struct error *from, struct error *to)
{
        to->code = from->code;
        to->errnum = from->errnum;
        to->message = from->message ? strdup(from->message) : NULL;
        to->hint = from->hint ? strdup(from->hint) : NULL;
        return (from->message && !to->message) || (from->hint && !to->hint) ? -ENOMEM : 0;
}

int mai_result_from_error(const mai_error *error, const mai_request *request, mai_result **ret)
{
        struct result *inner = result_new();
        if (!inner)
                return -ENOMEM;
        if (copy_error(&error->error, &inner->error) < 0 ||
            (request && request_describe(request, &inner->spec) < 0)) {
                (void)result_free(inner);
                return -ENOMEM;
        }
        if (error->error.code == ERROR_CANCELLED) {
                inner->status = RUN_CANCELLED;
                inner->ended_by = "client";
        }
        mai_result *result = result_wrap(inner);
        if (!result)
                return -ENOMEM;
        *ret = result;
        return 0;
}

const char *mai_result_json(mai_result *result)
{
        return result_json(result->inner);
}

const char *mai_result_status(const mai_result *result)
{
        return run_status_name(result->inner->status);
}

int mai_result_exit_status(const mai_result *result)
{
        return result_exit_status(result->inner);
}

const char *mai_result_violation_kind(const mai_result *result)
{
        return violation_kind_name(result->inner->violation.kind);
}

const char *mai_result_violation_message(const mai_result *result)
{
        return result->violation[0] ? result->violation : NULL;
}

static const struct error *error_of(const mai_result *result)
{
        return result->inner->error.code != ERROR_NONE ? &result->inner->error : NULL;
}

const char *mai_result_error_code(const mai_result *result)
{
        const struct error *err = error_of(result);
        return err ? error_code_name(err->code) : NULL;
}

const char *mai_result_error_message(const mai_result *result)
{
        const struct error *err = error_of(result);
        return !err ? NULL : err->message ? err->message : "out of memory";
}

const char *mai_result_error_hint(const mai_result *result)
{
        const struct error *err = error_of(result);
        return err ? err->hint : NULL;
}
