/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/suggest.h"

#define LONGEST 32

/* Edit distance with swaps, row by row; both words are at most LONGEST long. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
        unsigned rows[3][LONGEST + 1];
        unsigned *before = rows[0];
        unsigned *last = rows[1];
        unsigned *row = rows[2];

        for (size_t j = 0; j <= b_size; j++)
                last[j] = before[j] = (unsigned)j;
        for (size_t i = 1; i <= a_size; i++) {
                row[0] = (unsigned)i;
                for (size_t j = 1; j <= b_size; j++) {
                        unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
                        best = MIN(best, last[j] + 1);
                        best = MIN(best, row[j - 1] + 1);
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                best = MIN(best, before[j - 2] + 1);
                        row[j] = best;
                }
                unsigned *recycled = before;
                before = last;
                last = row;
                row = recycled;
        }
        return last[b_size];
}

const char *suggest(const char *word, size_t size, const char *const *known)
{
        if (size == 0 || size > LONGEST)
                return NULL;
        const char *nearest = NULL;
        unsigned least = UINT32_MAX;
        for (; *known; known++) {
                size_t known_size = strlen(*known);
                if (known_size > LONGEST)
                        continue;
                unsigned edits = distance(word, size, *known, known_size);
                if (edits < least) {
                        least = edits;
                        nearest = *known;
                }
        }
        /* A third of the word may be wrong; the dashes of an option are always right and do not count. */
        size_t letters = size - strspn(word, "-");
        return least <= MAX((unsigned)(letters / 3), 1U) ? nearest : NULL;
}
