/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/escape.h"

/* Code points that are printable by encoding but not by effect. */
static const struct {
        uint32_t first, last;
} hidden[] = {
    {0x00, 0x1f},       /* C0 */
    {0x7f, 0x9f},       /* DEL and C1 */
    {0xad, 0xad},       /* soft hyphen */
    {0x61c, 0x61c},     /* Arabic letter mark: direction */
    {0x180e, 0x180e},   /* invisible separator */
    {0x200b, 0x200f},   /* zero width, direction marks */
    {0x2028, 0x202e},   /* line and paragraph separators, bidirectional overrides */
    {0x2060, 0x206f},   /* invisible operators, bidirectional isolates */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xfff9, 0xfffb},   /* interlinear annotation */
    {0xe0000, 0xe007f}, /* tags: a hidden second text */
};

static bool is_hidden(uint32_t code)
{
        for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
                if (code >= hidden[i].first && code <= hidden[i].last)
                        return true;
        return false;
}

/* By its first byte; 0 if no sequence begins with it. */
static size_t sequence_length(unsigned char first)
{
        if (first < 0x80)
                return 1;
        if (first < 0xc0 || first >= 0xf8)
                return 0;
        return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Length of the valid UTF-8 sequence at `at` (shortest form, no surrogates, at most U+10FFFF), or 0. */
static size_t decode(const unsigned char *at, size_t size, uint32_t *ret_code)
{
        static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
        size_t length = sequence_length(at[0]);
        if (length == 0 || length > size)
                return 0;
        uint32_t code = length == 1 ? at[0] : at[0] & (0x7fU >> length);
        for (size_t i = 1; i < length; i++) {
                if ((at[i] & 0xc0) != 0x80)
                        return 0;
                code = code << 6 | (at[i] & 0x3f);
        }
        if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
                return 0;
        *ret_code = code;
        return length;
}

static int append_hidden(struct strbuf *buf, uint32_t code)
{
        if (code == '\n')
                return strbuf_append_text(buf, "\\n");
        if (code == '\t')
                return strbuf_append_text(buf, "\\t");
        if (code == '\r')
                return strbuf_append_text(buf, "\\r");
        return strbuf_appendf(buf, code < 0x80 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
}

int escape_append(struct strbuf *buf, const char *text, size_t size)
{
        const unsigned char *at = (const unsigned char *)text;
        size_t plain = 0; /* bytes before `at` that are fine and not appended yet */
        int r;

        while (size > 0) {
                uint32_t code = 0;
                size_t length = decode(at, size, &code);
                if (length > 0 && !is_hidden(code)) {
                        plain += length;
                } else {
                        r = strbuf_append(buf, at - plain, plain);
                        if (r < 0)
                                return r;
                        plain = 0;
                        r = length > 0 ? append_hidden(buf, code) : strbuf_appendf(buf, "\\x%02x", at[0]);
                        if (r < 0)
                                return r;
                        length = MAX(length, (size_t)1);
                }
                at += length;
                size -= length;
        }
        return strbuf_append(buf, at - plain, plain);
}
