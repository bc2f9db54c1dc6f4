/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller sees of a run, in one of three forms, and the event handler that shows it. */
#pragma once

#include "cli/outlet.h"
#include "cli/status_line.h"

#include "mai/sandbox.h"

enum view_form {
        VIEW_STREAM, /* the program's output as it comes */
        VIEW_JSON,   /* one document at the end */
        VIEW_EVENTS, /* JSON lines */
};

struct view {
        enum view_form form;
        struct outlet output;
        struct outlet errors;
        struct status_line status_line;
        int write_error; /* -errno: one of our own streams failed, and the run was cancelled for it */
        const char *write_error_stream;
};

#define VIEW_INIT                                                                                           \
        {                                                                                                   \
                .output = OUTLET_INIT(STDOUT_FILENO), .errors = OUTLET_INIT(STDERR_FILENO)                  \
        }

void view_clear(struct view *view);

/* The event handler for mai_run(); `user` is the view. */
int view_event(const mai_event *event, void *user);

/* After the run: everything written, the status line gone, the cursor at the start of a line. */
void view_finish(struct view *view);

/* Writes the result in the form for it: nothing, the document, or the last line. */
void view_result(struct view *view, mai_result *result);
