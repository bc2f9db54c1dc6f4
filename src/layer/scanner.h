/* SPDX-License-Identifier: Apache-2.0 */
/* A place in a text of known size, for the small parsers of this folder. Never reads past the end. */
#pragma once

#include "util/common.h"

struct scanner {
        const char *at, *end;
};

/* The character `ahead` from here; 0 past the end (a NUL in the text is no character of any grammar here).
 */
static inline char scanner_peek(const struct scanner *scanner, size_t ahead)
{
        return (size_t)(scanner->end - scanner->at) > ahead ? scanner->at[ahead] : '\0';
}

static inline bool scanner_take(struct scanner *scanner, char wanted)
{
        if (scanner->at == scanner->end || *scanner->at != wanted)
                return false;
        scanner->at++;
        return true;
}

static inline bool scanner_take_word(struct scanner *scanner, const char *word)
{
        size_t size = strlen(word);
        if ((size_t)(scanner->end - scanner->at) < size || memcmp(scanner->at, word, size) != 0)
                return false;
        scanner->at += size;
        return true;
}

static inline void scanner_skip_blank(struct scanner *scanner)
{
        while (scanner->at < scanner->end && (*scanner->at == ' ' || *scanner->at == '\t'))
                scanner->at++;
}

static inline bool is_ascii_digit(char c)
{
        return c >= '0' && c <= '9';
}

static inline bool is_ascii_alnum(char c)
{
        return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
