/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` and `exec` share: from words to a request, through the run, to an exit status. */
#pragma once

#include "cli/commands.h"
#include "util/error.h"

#include "mai/sandbox.h"

/*
 * Puts the program or command into the request: operands[0…count-1] are the words after the options. 0; or
 * negative with either error set: `err` for faults found here, *ret_error for the library's.
 */
typedef int (*program_setter)(
    mai_request *request, char **operands, int count, struct error *err, mai_error **ret_error);

/* `missing` is the message when there is no operand. Returns the exit status. */
int run_common(
    const struct command *command, int argc, char **argv, const char *missing, program_setter set_program);
