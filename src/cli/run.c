/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_common.h"

#include "cli/input.h"

static int set_python(
    mai_request *request, char **operands, int count, struct error *err, mai_error **ret_error)
{
        int r;
        if (strcmp(operands[0], "-") == 0) {
                _cleanup_(freep) char *source = NULL;
                size_t size = 0;
                r = input_read_program(&source, &size, err);
                if (r == 0)
                        r = mai_request_set_program(request, "main.py", source, size, ret_error);
        } else {
                r = mai_request_set_program_file(request, operands[0], ret_error);
        }
        for (int i = 1; r == 0 && i < count; i++)
                r = mai_request_add_argument(request, operands[i], ret_error);
        return r;
}

int run_main(const struct command *command, int argc, char **argv)
{
        return run_common(
            command, argc, argv, "run: no program; name a FILE, or - for standard input", set_python);
}
