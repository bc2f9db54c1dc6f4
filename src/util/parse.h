/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small strict parsers for values that people write. Each takes the whole string (surrounding white space is
 * refused), leaves *ret untouched on failure and returns whether it understood.
 */
#pragma once

#include "util/common.h"

/*
 * Reads up to `n` decimal integers, which may have a sign and stand apart by white space, from the start of
 * a kernel file's text. Stops before the first word that is none, or too large. Returns how many it read.
 */
size_t parse_integers(const char *text, int64_t *values, size_t n);

/* Decimal digits only, no sign. */
bool parse_u64(const char *text, uint64_t *ret);

/*
 * Bytes: an integer, or an integer with b, k, m, g, t (powers
 * of 1024; case-insensitive; "kb" and "kib" forms too).
 */
bool parse_size(const char *text, uint64_t *ret_bytes);

/* The value of a hexadecimal digit of either case; -1: none. */
static inline int parse_hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -1;
}

/* A finite decimal number without sign or exponent: "120", "0.5". */
bool parse_decimal(const char *text, double *ret);

/* "N%" with 0 < N <= 100: the share as a fraction of 1. */
bool parse_percent(const char *text, double *ret_fraction);

/* "512 MiB", "1.5 GiB", "100 B": for people. Always fits in 32 bytes. */
#define FORMAT_SIZE_MAX 32
const char *format_size(uint64_t bytes, char buffer[FORMAT_SIZE_MAX]);
