/* SPDX-License-Identifier: Apache-2.0 */
#include "util/parse.h"

#include <ctype.h>
#include <strings.h>

/* Reads digits; *end is where they stop. False on no digit or overflow. */
static bool read_digits(const char *text, uint64_t *ret, const char **end)
{
        uint64_t value = 0;
        const char *at = text;
        for (; *at >= '0' && *at <= '9'; at++)
                if (__builtin_mul_overflow(value, 10U, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
                        return false;
        if (at == text)
                return false;
        *ret = value;
        *end = at;
        return true;
}

size_t parse_integers(const char *text, int64_t *values, size_t n)
{
        size_t count = 0;
        for (; count < n; count++) {
                char *end;
                errno = 0;
                long long value = strtoll(text, &end, 10);
                if (end == text || errno == ERANGE || (*end != '\0' && !isspace((unsigned char)*end)))
                        break;
                values[count] = value;
                text = end;
        }
        return count;
}

bool parse_u64(const char *text, uint64_t *ret)
{
        uint64_t value;
        const char *end;
        if (!read_digits(text, &value, &end) || *end != '\0')
                return false;
        *ret = value;
        return true;
}

bool parse_size(const char *text, uint64_t *ret_bytes)
{
        static const char units[] = "bkmgt";
        uint64_t value;
        const char *end;
        if (!read_digits(text, &value, &end))
                return false;
        unsigned shift = 0;
        if (*end != '\0') {
                const char *unit = strchr(units, tolower((unsigned char)*end));
                if (!unit)
                        return false;
                shift = 10U * (unsigned)(unit - units);
                end++;
                if (*end != '\0' &&
                    (shift == 0 || (strcasecmp(end, "b") != 0 && strcasecmp(end, "ib") != 0)))
                        return false;
        }
        if (shift > 0 && value > (UINT64_MAX >> shift))
                return false;
        *ret_bytes = value << shift;
        return true;
}

bool parse_decimal(const char *text, double *ret)
{
        /*
         * At most 15 digits, so that every value is exact in a
         * double; own code because strtod follows the locale.
         */
        double value = 0;
        double scale = 1;
        int digits = 0;
        bool point = false;
        for (const char *at = text; *at != '\0'; at++) {
                if (*at == '.') {
                        if (point || digits == 0)
                                return false;
                        point = true;
                        if (at[1] == '\0')
                                return false;
                        continue;
                }
                if (*at < '0' || *at > '9' || ++digits > 15)
                        return false;
                value = value * 10 + (*at - '0');
                if (point)
                        scale *= 10;
        }
        if (digits == 0)
                return false;
        *ret = value / scale;
        return true;
}

bool parse_percent(const char *text, double *ret_fraction)
{
        size_t size = strlen(text);
        char number[24];
        if (size < 2 || size > sizeof number || text[size - 1] != '%')
                return false;
        memcpy(number, text, size - 1);
        number[size - 1] = '\0';
        double value;
        if (!parse_decimal(number, &value) || value <= 0 || value > 100)
                return false;
        *ret_fraction = value / 100;
        return true;
}

const char *format_size(uint64_t bytes, char buffer[FORMAT_SIZE_MAX])
{
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
        double value = (double)bytes;
        size_t unit = 0;
        while (value >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
                value /= 1024;
                unit++;
        }
        if (unit == 0 || value == (double)(uint64_t)value)
                (void)snprintf(buffer, FORMAT_SIZE_MAX, "%.0f %s", value, units[unit]);
        else
                (void)snprintf(buffer, FORMAT_SIZE_MAX, "%.1f %s", value, units[unit]);
        return buffer;
}
