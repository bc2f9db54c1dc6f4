/* SPDX-License-Identifier: Apache-2.0 */
#include "util/own_parts.h"

#ifndef MAI_MODULE_DIR
#define MAI_MODULE_DIR "/usr/lib/mai-sandbox"
#endif

bool own_part_find(const char *file, char ret[PATH_MAX])
{
        char program[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
        if (n > 0) {
                program[n] = '\0';
                char *slash = strrchr(program, '/');
                if (slash &&
                    snprintf(ret, PATH_MAX, "%.*s/%s", (int)(slash - program), program, file) < PATH_MAX &&
                    access(ret, X_OK) == 0)
                        return true;
        }
        return snprintf(ret, PATH_MAX, "%s/%s", MAI_MODULE_DIR, file) < PATH_MAX && access(ret, X_OK) == 0;
}
