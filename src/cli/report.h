/* SPDX-License-Identifier: Apache-2.0 */
/* Our own messages: one line each on standard error, escaped, in one write. */
#pragma once

#include "util/common.h"
#include "util/error.h"

#include "mai/sandbox.h"

#define EXIT_USAGE 2     /* words that cannot be parsed */
#define EXIT_SANDBOX 125 /* the sandbox could not do it */

/* "mai-sandbox: LABEL: MESSAGE (HINT)"; label and hint may be NULL. */
void report_line(const char *label, const char *message, const char *hint);

/* Prints the error and returns the exit status that it calls for: 2 for usage, else 125. */
int report_error(const struct error *err);
int report_api_error(const mai_error *error);

/* Whether it is about words that cannot be parsed. NULL (out of memory): no. */
bool api_error_is_usage(const mai_error *error);

static inline void api_error_freep(mai_error **error)
{
        *error = mai_error_free(*error);
}

/* Writes text to standard output; on failure says so. Returns the exit status. */
int report_text(const char *text);
