/* SPDX-License-Identifier: Apache-2.0 */
#include "util/word_distance.h"

unsigned word_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
        unsigned rows[3][WORD_DISTANCE_MAX + 1];
        unsigned *before = rows[0], *above = rows[1], *row = rows[2];
        for (unsigned j = 0; j <= b_size; j++) {
                before[j] = 0;
                above[j] = j;
        }
        for (size_t i = 1; i <= a_size; i++) {
                row[0] = (unsigned)i;
                for (size_t j = 1; j <= b_size; j++) {
                        unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
                        best = MIN(best, above[j] + 1);
                        best = MIN(best, row[j - 1] + 1);
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                best = MIN(best, before[j - 2] + 1);
                        row[j] = best;
                }
                unsigned *oldest = before;
                before = above;
                above = row;
                row = oldest;
        }
        return above[b_size];
}
