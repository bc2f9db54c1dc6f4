/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/text.h"

/*
 * Lead bytes and what may follow: the length of the sequence and the range of the second byte, which is
 * where overlong forms, surrogates and code points beyond U+10FFFF are told apart. Later bytes are 0x80 …
 * 0xbf.
 */
static const struct {
        uint8_t first, last, length, low, high;
} leads[] = {
    {0x00, 0x7f, 1, 0, 0},
    {0xc2, 0xdf, 2, 0x80, 0xbf},
    {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f},
    {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf},
    {0xf4, 0xf4, 4, 0x80, 0x8f},
};

/* Length of the character at `at`; 0: not UTF-8; -1: right so far, but the data ends within it. */
static int sequence_length(const uint8_t *at, size_t left)
{
        if (at[0] < 0x80)
                return 1;
        for (size_t i = 1; i < ARRAY_SIZE(leads); i++) {
                if (at[0] < leads[i].first || at[0] > leads[i].last)
                        continue;
                if (left > 1 && (at[1] < leads[i].low || at[1] > leads[i].high))
                        return 0;
                for (size_t k = 2; k < leads[i].length && k < left; k++)
                        if ((at[k] & 0xc0) != 0x80)
                                return 0;
                return left < leads[i].length ? -1 : leads[i].length;
        }
        return 0;
}

bool utf8_valid(const char *data, size_t size)
{
        const uint8_t *bytes = (const uint8_t *)data;
        for (size_t at = 0; at < size;) {
                int length = sequence_length(bytes + at, size - at);
                if (length <= 0)
                        return false;
                at += (size_t)length;
        }
        return true;
}

size_t utf8_incomplete_tail(const char *data, size_t size)
{
        const uint8_t *bytes = (const uint8_t *)data;
        for (size_t back = 1; back <= 3 && back <= size; back++) {
                uint8_t byte = bytes[size - back];
                if ((byte & 0xc0) == 0x80)
                        continue;
                return sequence_length(bytes + size - back, back) < 0 ? back : 0;
        }
        return 0;
}

char *base64_encode(const char *data, size_t size)
{
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const uint8_t *in = (const uint8_t *)data;
        char *text = malloc((size + 2) / 3 * 4 + 1);
        if (!text)
                return NULL;
        char *out = text;
        for (size_t at = 0; at < size; at += 3) {
                size_t left = size - at;
                uint32_t group = (uint32_t)in[at] << 16;
                group |= left > 1 ? (uint32_t)in[at + 1] << 8 : 0;
                group |= left > 2 ? in[at + 2] : 0;
                *out++ = digits[group >> 18];
                *out++ = digits[group >> 12 & 63];
                *out++ = left > 1 ? digits[group >> 6 & 63] : '=';
                *out++ = left > 2 ? digits[group & 63] : '=';
        }
        *out = '\0';
        return text;
}

const char *text_escape(const char *data, size_t size, char *buffer, size_t buffer_size)
{
        size_t used = 0;
        for (size_t at = 0; at < size;) {
                int length = sequence_length((const uint8_t *)data + at, size - at);
                uint8_t byte = (uint8_t)data[at];
                bool c1 = length == 2 && byte == 0xc2 && (uint8_t)data[at + 1] < 0xa0;
                bool plain = length > 0 && byte >= 0x20 && byte != 0x7f && byte != '\\' && !c1;
                size_t take = plain ? (size_t)length : 1;
                if (used + (plain ? take : 4) + 4 > buffer_size) {
                        memcpy(buffer + used, "...", 3);
                        used += 3;
                        break;
                }
                if (plain) {
                        memcpy(buffer + used, data + at, take);
                        used += take;
                } else {
                        used += (size_t)snprintf(buffer + used, buffer_size - used, "\\x%02x", byte);
                }
                at += take;
        }
        buffer[used] = '\0';
        return buffer;
}
