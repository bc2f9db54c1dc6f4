/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/names.h"

/* ASCII only, whatever the locale says. */
static bool is_lower(char c)
{
        return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
        return c >= 'A' && c <= 'Z';
}

static bool is_alphanumeric(char c)
{
        return is_lower(c) || is_upper(c) || (c >= '0' && c <= '9');
}

static bool is_separator(char c)
{
        return c == '-' || c == '_' || c == '.';
}

bool name_pypi(const char *text, char *ret)
{
        char normal[NAME_MAX_BYTES + 1];
        size_t length = strlen(text), used = 0;
        if (length == 0 || length > NAME_MAX_BYTES)
                return false;
        if (!is_alphanumeric(text[0]) || !is_alphanumeric(text[length - 1]))
                return false;
        for (size_t i = 0; i < length; i++) {
                char c = text[i];
                if (is_separator(c)) {
                        if (normal[used - 1] != '-')
                                normal[used++] = '-';
                        continue;
                }
                if (!is_alphanumeric(c))
                        return false;
                normal[used++] = is_upper(c) ? (char)(c - 'A' + 'a') : c;
        }
        normal[used] = '\0';
        memcpy(ret, normal, used + 1);
        return true;
}

/* One half of an npm name. Packages of old may hold upper case and more; those can't be had. */
static bool npm_part(const char *text, size_t length)
{
        if (length == 0 || !(is_lower(text[0]) || (text[0] >= '0' && text[0] <= '9')))
                return false;
        for (size_t i = 0; i < length; i++)
                if (!is_alphanumeric(text[i]) && !is_separator(text[i]))
                        return false;
        for (size_t i = 0; i < length; i++)
                if (is_upper(text[i]))
                        return false;
        return true;
}

bool name_npm(const char *text)
{
        size_t length = strlen(text);
        if (length > NAME_MAX_BYTES)
                return false;
        if (text[0] != '@')
                return npm_part(text, length);
        const char *slash = strchr(text, '/');
        if (!slash)
                return false;
        return npm_part(text + 1, (size_t)(slash - text - 1)) && npm_part(slash + 1, strlen(slash + 1));
}

bool name_file(const char *text)
{
        size_t length = strlen(text);
        if (length == 0 || length > FILE_NAME_MAX_BYTES || text[0] == '.')
                return false;
        for (size_t i = 0; i < length; i++)
                if (!is_alphanumeric(text[i]) && !strchr("._+!~-", text[i]))
                        return false;
        return true;
}

bool name_entry(const char *text)
{
        size_t length = strlen(text);
        if (length == 0 || length > 64 || !is_alphanumeric(text[0]))
                return false;
        for (size_t i = 0; i < length; i++)
                if (!is_alphanumeric(text[i]) && !is_separator(text[i]))
                        return false;
        return true;
}

static bool ends_with(const char *text, const char *suffix)
{
        size_t length = strlen(text), tail = strlen(suffix);
        return length > tail && strcmp(text + length - tail, suffix) == 0;
}

bool name_is_wheel(const char *file)
{
        return ends_with(file, ".whl");
}

bool name_is_sdist(const char *file)
{
        return ends_with(file, ".tar.gz") || ends_with(file, ".zip");
}

bool name_file_belongs(const char *file, const char *project)
{
        while (*project) {
                if (*project == '-') {
                        if (!is_separator(*file))
                                return false;
                        while (is_separator(*file))
                                file++;
                } else {
                        char c = is_upper(*file) ? (char)(*file - 'A' + 'a') : *file;
                        if (c != *project)
                                return false;
                        file++;
                }
                project++;
        }
        return *file == '-';
}

bool name_matches(const char *pattern, const char *name)
{
        const char *star = NULL, *resume = NULL;
        while (*name) {
                if (*pattern == '*') {
                        star = ++pattern;
                        resume = name;
                } else if (*pattern == '?' || *pattern == *name) {
                        pattern++;
                        name++;
                } else if (star) {
                        pattern = star;
                        name = ++resume;
                } else {
                        return false;
                }
        }
        while (*pattern == '*')
                pattern++;
        return *pattern == '\0';
}
