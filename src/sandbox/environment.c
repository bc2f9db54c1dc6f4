/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/environment.h"

static size_t length(const char *const *list)
{
        size_t n = 0;
        while (list && list[n])
                n++;
        return n;
}

static bool same_name(const char *a, const char *b)
{
        size_t size = strcspn(a, "=");
        return strcspn(b, "=") == size && memcmp(a, b, size) == 0;
}

/* The lists are short: tens of entries. */
static size_t put(const char **merged, size_t count, const char *assignment)
{
        for (size_t i = 0; i < count; i++) {
                if (same_name(merged[i], assignment)) {
                        merged[i] = assignment;
                        return count;
                }
        }
        merged[count] = assignment;
        return count + 1;
}

const char **environment_merge(const char *const *base, const char *const *overrides)
{
        size_t base_count = length(base);
        size_t override_count = length(overrides);
        const char **merged = calloc(base_count + override_count + 1, sizeof *merged);
        if (!merged)
                return NULL;
        size_t count = 0;
        for (size_t i = 0; i < base_count; i++)
                count = put(merged, count, base[i]);
        for (size_t i = 0; i < override_count; i++)
                count = put(merged, count, overrides[i]);
        return merged;
}
