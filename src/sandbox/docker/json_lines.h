/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer that comes as one JSON object per line (progress of a pull), fed with whatever arrives, cut
 * anywhere. Empty lines do not count.
 */
#pragma once

#include "util/strbuf.h"

#include <jansson.h>

#define JSON_LINE_MAX (256U << 10)

struct json_lines {
        struct strbuf line;
};
#define JSON_LINES_INIT                                                                                     \
        {                                                                                                   \
                STRBUF_INIT(JSON_LINE_MAX)                                                                  \
        }

void json_lines_clear(struct json_lines *lines);

/*
 * Takes from *data (moved forward, *size lowered) up to the end of a line or of the data. 1: *ret_object is
 * a line's object, to be freed by the caller; 0: all taken; -EBADMSG: a line that is no object; -E2BIG: too
 * long; -ENOMEM.
 */
int json_lines_next(struct json_lines *lines, const char **data, size_t *size, json_t **ret_object);
