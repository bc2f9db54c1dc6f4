/* SPDX-License-Identifier: Apache-2.0 */
#include "util/cgroup_table.h"

/* Do the comma-separated words from `list` to `end` hold `word`? An empty list holds the empty word. */
static bool has_word(const char *list, const char *end, const char *word)
{
        size_t size = strlen(word);
        for (const char *at = list; at <= end;) {
                const char *comma = memchr(at, ',', (size_t)(end - at));
                const char *stop = comma ? comma : end;
                if ((size_t)(stop - at) == size && memcmp(at, word, size) == 0)
                        return true;
                at = stop + 1;
        }
        return false;
}

int cgroup_table_path(const char *table, const char *controller, char *ret_path, size_t size)
{
        for (const char *line = table; *line;) {
                const char *end = strchrnul(line, '\n');
                const char *first = memchr(line, ':', (size_t)(end - line));
                const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
                if (second && has_word(first + 1, second, controller)) {
                        size_t length = (size_t)(end - second - 1);
                        if (length >= size)
                                return -ENAMETOOLONG;
                        memcpy(ret_path, second + 1, length);
                        ret_path[length] = '\0';
                        return 0;
                }
                line = *end ? end + 1 : end;
        }
        return -ENOENT;
}
