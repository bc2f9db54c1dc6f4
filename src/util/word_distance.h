/* SPDX-License-Identifier: Apache-2.0 */
/* How many slips of the hand lie between two words, for "did you mean". Safe from any thread. */
#pragma once

#include "util/common.h"

/* Words longer than this are nobody's slip. */
#define WORD_DISTANCE_MAX 40

/*
 * Edit distance in bytes, with swapped neighbours counting as one. Sizes are in bytes, each at most
 * WORD_DISTANCE_MAX, which the caller checks.
 */
unsigned word_distance(const char *a, size_t a_size, const char *b, size_t b_size);
