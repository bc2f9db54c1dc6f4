/* SPDX-License-Identifier: Apache-2.0 */
#include "util/strbuf.h"

#include <stdarg.h>

void strbuf_clear(struct strbuf *buf)
{
        free(buf->data);
        buf->data = NULL;
        buf->size = 0;
        buf->room = 0;
}

int strbuf_append(struct strbuf *buf, const void *data, size_t size)
{
        if (size > buf->max || buf->size > buf->max - size)
                return -E2BIG;
        if (buf->size + size + 1 > buf->room) {
                size_t room = MAX(MAX(buf->room * 2, (size_t)256), buf->size + size + 1);
                char *bigger = realloc(buf->data, room);
                if (!bigger)
                        return -ENOMEM;
                buf->data = bigger;
                buf->room = room;
        }
        if (size > 0)
                memcpy(buf->data + buf->size, data, size);
        buf->size += size;
        buf->data[buf->size] = '\0';
        return 0;
}

int strbuf_append_text(struct strbuf *buf, const char *text)
{
        return strbuf_append(buf, text, strlen(text));
}

int strbuf_appendf(struct strbuf *buf, const char *format, ...)
{
        _cleanup_(freep) char *text = NULL;
        va_list args;
        va_start(args, format);
        int n = vasprintf(&text, format, args);
        va_end(args);
        if (n < 0) {
                text = NULL;
                return -ENOMEM;
        }
        return strbuf_append(buf, text, (size_t)n);
}

const char *strbuf_text(const struct strbuf *buf)
{
        return buf->data ? buf->data : "";
}

char *strbuf_take(struct strbuf *buf)
{
        char *data = buf->data ? buf->data : strdup("");
        buf->data = NULL;
        buf->size = 0;
        buf->room = 0;
        return data;
}
