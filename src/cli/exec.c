/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_common.h"

static int set_command(
    mai_request *request, char **operands, int count, struct error *err, mai_error **ret_error)
{
        (void)err;
        return mai_request_set_command(request, (const char *const *)operands, (size_t)count, ret_error);
}

int exec_main(const struct command *command, int argc, char **argv)
{
        return run_common(command, argc, argv, "exec: no command", set_command);
}
