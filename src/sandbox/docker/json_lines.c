/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/json_lines.h"

void json_lines_clear(struct json_lines *lines)
{
        strbuf_clear(&lines->line);
}

static bool is_blank(const struct strbuf *line)
{
        for (size_t i = 0; i < line->size; i++)
                if (line->data[i] != ' ' && line->data[i] != '\t' && line->data[i] != '\r')
                        return false;
        return true;
}

int json_lines_next(struct json_lines *lines, const char **data, size_t *size, json_t **ret_object)
{
        while (*size > 0) {
                const char *end = memchr(*data, '\n', *size);
                size_t take = end ? (size_t)(end - *data) : *size;
                int r = strbuf_append(&lines->line, *data, take);
                if (r < 0)
                        return r;
                take += end ? 1 : 0;
                *data += take;
                *size -= take;
                if (!end)
                        return 0;
                if (is_blank(&lines->line)) {
                        lines->line.size = 0;
                        continue;
                }
                json_error_t ignored;
                json_t *object = json_loadb(lines->line.data, lines->line.size, 0, &ignored);
                lines->line.size = 0;
                if (!json_is_object(object)) {
                        json_decref(object);
                        return -EBADMSG;
                }
                *ret_object = object;
                return 1;
        }
        return 0;
}
