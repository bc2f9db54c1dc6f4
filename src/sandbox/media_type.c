/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/media_type.h"

#include <strings.h>

static const struct {
        const char *ending, *type;
} types[] = {
    {"csv", "text/csv"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"json", "application/json"},
    {"md", "text/markdown"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"npy", "application/octet-stream"},
    {"npz", "application/zip"},
    {"parquet", "application/vnd.apache.parquet"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"py", "text/x-python"},
    {"sqlite", "application/vnd.sqlite3"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tsv", "text/tab-separated-values"},
    {"txt", "text/plain"},
    {"wav", "audio/wav"},
    {"webp", "image/webp"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"zip", "application/zip"},
};

const char *media_type(const char *path, size_t path_size)
{
        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                size_t size = strlen(types[i].ending);
                if (path_size > size + 1 && path[path_size - size - 1] == '.' &&
                    path[path_size - size - 2] != '/' &&
                    strncasecmp(path + path_size - size, types[i].ending, size) == 0)
                        return types[i].type;
        }
        return NULL;
}
