/* SPDX-License-Identifier: Apache-2.0 */
#include "image/name.h"

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool parts_are_good(const char *name)
{
        for (const char *at = name;; at++) {
                size_t size = strcspn(at, "/");
                if (size == 0 || (size == 1 && at[0] == '.') || (size == 2 && memcmp(at, "..", 2) == 0))
                        return false;
                at += size;
                if (!*at)
                        return true;
        }
}

int image_name_check(const char *name, struct error *err)
{
        size_t size = strlen(name);
        if (strcmp(name, "host") == 0)
                return error_set(err, ERROR_IMAGE, 0, "choose another name",
                    "image: \"host\" is this machine's own tree, and no image can be called that");
        if (size == 0 || size >= IMAGE_NAME_SIZE || !strchr(LETTERS_AND_DIGITS, name[0]) ||
            strspn(name, LETTERS_AND_DIGITS "._-:/@+") != size || !parts_are_good(name))
                return error_set(err, ERROR_IMAGE, 0,
                    "use at most 128 letters, digits and . _ - : / @ +, the first a letter or digit, and no "
                    "part that is empty, \".\" or \"..\"",
                    "image: \"%.130s\" can't be the name of an image", name);
        return 0;
}

void image_name_encode(const char *name, char ret[IMAGE_FILE_NAME_SIZE])
{
        static const char digits[] = "0123456789ABCDEF";
        size_t n = 0;
        for (const char *at = name; *at && n + 4 < IMAGE_FILE_NAME_SIZE; at++) {
                if (strchr(LETTERS_AND_DIGITS "._-", *at)) {
                        ret[n++] = *at;
                        continue;
                }
                ret[n++] = '%';
                ret[n++] = digits[(unsigned char)*at >> 4];
                ret[n++] = digits[(unsigned char)*at & 15];
        }
        ret[n] = '\0';
}
