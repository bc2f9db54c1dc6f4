/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/suggest.h"

#include "util/word_distance.h"

const char *suggest(const char *word, size_t size, const char *const *known)
{
        if (size == 0 || size > WORD_DISTANCE_MAX)
                return NULL;
        const char *nearest = NULL;
        unsigned least = UINT32_MAX;
        for (; *known; known++) {
                size_t known_size = strlen(*known);
                if (known_size > WORD_DISTANCE_MAX)
                        continue;
                unsigned edits = word_distance(word, size, *known, known_size);
                if (edits < least) {
                        least = edits;
                        nearest = *known;
                }
        }
        /* A third of the word may be wrong; the dashes of an option are always right and do not count. */
        size_t letters = size - strspn(word, "-");
        return least <= MAX((unsigned)(letters / 3), 1U) ? nearest : NULL;
}
