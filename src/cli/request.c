/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/request.h"

#include "util/strbuf.h"

#define SEE_HELP "see mai-sandbox run --help"

static int add_environment(mai_request *request, const char *value, struct error *err, mai_error **ret_error)
{
        if (value[0] == '=')
                return error_set(err, ERROR_USAGE, 0, SEE_HELP,
                    "--env: '%.200s' has no name; expected NAME=VALUE", value);
        if (strchr(value, '='))
                return mai_request_add_environment(request, value, ret_error);

        const char *ours = getenv(value);
        if (!ours)
                return error_set(err, ERROR_USAGE, 0, "export it, or give --env NAME=VALUE",
                    "--env: %.200s is not set in this environment", value);
        _cleanup_(freep) char *assignment = NULL;
        if (asprintf(&assignment, "%s=%s", value, ours) < 0) {
                assignment = NULL;
                return error_oom(err);
        }
        return mai_request_add_environment(request, assignment, ret_error);
}

/* The last colon parts SRC from DEST, so a SRC with colons in its name needs a DEST. */
static int add_file(mai_request *request, const char *value, struct error *err, mai_error **ret_error)
{
        const char *colon = strrchr(value, ':');
        if (!colon)
                return mai_request_add_file(request, value, NULL, ret_error);
        if (colon == value || colon[1] == '\0')
                return error_set(err, ERROR_USAGE, 0, SEE_HELP,
                    "--file: cannot read '%.200s'; expected SRC or SRC:DEST", value);
        _cleanup_(freep) char *source = strndup(value, (size_t)(colon - value));
        if (!source)
                return error_oom(err);
        return mai_request_add_file(request, source, colon + 1, ret_error);
}

int request_apply_options(
    mai_request *request, const struct option_list *options, struct error *err, mai_error **ret_error)
{
        for (size_t i = 0; i < options->count; i++) {
                const struct option_use *use = &options->uses[i];
                int r = 0;
                if (use->spec->setting)
                        r = mai_request_set(request, use->spec->setting, use->value, ret_error);
                else if (use->spec->id == OPTION_ENV)
                        r = add_environment(request, use->value, err, ret_error);
                else if (use->spec->id == OPTION_FILE)
                        r = add_file(request, use->value, err, ret_error);
                else if (use->spec->id == OPTION_OUTPUT_DIR)
                        r = mai_request_set_output_dir(request, use->value, ret_error);
                if (r < 0)
                        return r;
        }
        return 0;
}
