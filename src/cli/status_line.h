/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line on the terminal that shows what a run uses while it runs, e.g.
 *     [unknown] 3.2/10.0 s  cpu 47%  mem 31.2/256 MiB  procs 3/64
 * It appears only after half a second, is redrawn at most ten times a second, gives way to the program's
 * output, and stays away while that output has left the cursor in the middle of a line.
 */
#pragma once

#include "util/common.h"

#include "mai/sandbox.h"

struct status_line {
        bool enabled;       /* standard error is a terminal that can redraw a line */
        bool shared_output; /* standard output is a terminal too */
        bool colour;
        bool shown;
        bool mid_line;     /* the program's output left the cursor behind text */
        uint64_t drawn;    /* clock_now() of the last drawing */
        const char *trust; /* label if the sample has none; or NULL */
};

/* Looks at the terminal if `wanted`. `trust` is kept, not copied. */
void status_line_init(struct status_line *line, bool wanted, const char *trust);

void status_line_sample(struct status_line *line, const mai_sample *sample);

/*
 * Before the program's output goes to `stream` (1 or 2): takes the line away where it would be in the way.
 */
void status_line_before_output(struct status_line *line, int stream, const char *data, size_t size);

/* Takes the line away. */
void status_line_hide(struct status_line *line);

/* The text, at most `width` columns (fields that do not fit are left out). Returns its length in bytes. */
size_t status_line_format(
    const mai_sample *sample, const char *trust, unsigned width, bool colour, char *buffer, size_t size);
