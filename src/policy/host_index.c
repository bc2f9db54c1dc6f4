/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/host_index.h"

#include "policy/values.h"
#include "util/fd.h"
#include "util/parse.h"

#include <fcntl.h>
#include <sys/stat.h>

#define CONFIG_MAX (256U * 1024U)

static const char default_index[] = "https://pypi.org/simple/";
static const char hint[] = "give the entry a url in the policy";

/* ---- Their files ---- */

static bool is_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\r';
}

/* A line without white space around it. */
static void trim(const char **text, size_t *size)
{
        while (*size > 0 && is_blank(**text)) {
                (*text)++;
                (*size)--;
        }
        while (*size > 0 && is_blank((*text)[*size - 1]))
                (*size)--;
}

/* The value of "key = value" (or with a colon) if the line is one for this key; NULL if not. */
static const char *value_of(const char *line, size_t size, const char *key, size_t *ret_size)
{
        size_t length = strlen(key);
        if (size <= length || strncmp(line, key, length) != 0)
                return NULL;
        const char *rest = line + length;
        size_t left = size - length;
        trim(&rest, &left);
        if (left == 0 || (*rest != '=' && *rest != ':'))
                return NULL;
        rest++;
        left--;
        trim(&rest, &left);
        if (left >= 2 && (*rest == '"' || *rest == '\'') && rest[left - 1] == *rest) {
                rest++;
                left -= 2;
        }
        *ret_size = left;
        return rest;
}

/* The last value of any of `keys` in a section ("": in front of all sections). */
static char *find_value(const char *text, const char *section, const char *const *keys)
{
        bool inside = section[0] == '\0';
        const char *found = NULL;
        size_t found_size = 0;
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                const char *at = line;
                size_t size = (size_t)(end - line);
                bool continued = size > 0 && is_blank(line[0]); /* of the value before, in pip's files */
                trim(&at, &size);
                if (size > 2 && at[0] == '[' && at[size - 1] == ']')
                        inside = size - 2 == strlen(section) && strncmp(at + 1, section, size - 2) == 0;
                else if (inside && size > 0 && at[0] != '#' && at[0] != ';' && (!continued || !*section))
                        for (size_t i = 0; keys[i]; i++) {
                                size_t value_size;
                                const char *value = value_of(at, size, keys[i], &value_size);
                                if (value) {
                                        found = value;
                                        found_size = value_size;
                                }
                        }
                line = *end ? end + 1 : end;
        }
        return found ? strndup(found, found_size) : NULL;
}

static const char *const pip_keys[] = {"index-url", "index_url", NULL};

char *pip_index_of(const char *text)
{
        char *value = find_value(text, "install", pip_keys);
        return value ? value : find_value(text, "global", pip_keys);
}

char *npm_registry_of(const char *text)
{
        static const char *const keys[] = {"registry", NULL};
        return find_value(text, "", keys);
}

/* *ret_text NULL: there is no such file. */
static int read_config(const char *path, char **ret_text, struct error *err)
{
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct stat info;
        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
                return 0;
        if (fd < 0 || fstat(fd, &info) < 0)
                return error_set(err, ERROR_POLICY, errno, hint, "looking up the host's index: %s", path);
        if (S_ISCHR(info.st_mode)) /* PIP_CONFIG_FILE=/dev/null */
                return 0;
        if (!S_ISREG(info.st_mode) || (info.st_uid != 0 && info.st_uid != geteuid()) ||
            info.st_mode & S_IWOTH)
                return error_set(err, ERROR_POLICY, 0, hint,
                    "looking up the host's index: %s is no file of yours or root's that others can't write",
                    path);
        size_t size;
        int r = fd_read_whole(fd, CONFIG_MAX, ret_text, &size);
        return r < 0 ? error_set(err, ERROR_POLICY, -r, hint, "looking up the host's index: %s", path) : 0;
}

/* ---- The order in which they count ---- */

/* Where a program looks: first its variables, then its files, each relative to a directory that a variable
 * names. */
struct lookup {
        const char *variables[3];
        struct {
                const char *base; /* a variable; NULL: the path stands for itself */
                const char *path;
        } files[7];
        char *(*value_of)(const char *text);
        const char *fallback; /* what the program itself takes; NULL: not known here */
};

static const struct lookup lookups[] = {
    [GATEWAY_PYPI] = {.variables = {"PIP_INDEX_URL"},
        .files = {{"PIP_CONFIG_FILE", ""}, {"XDG_CONFIG_HOME", "/pip/pip.conf"},
            {"HOME", "/.config/pip/pip.conf"}, {"HOME", "/.pip/pip.conf"}, {NULL, "/etc/pip.conf"},
            {NULL, "/etc/xdg/pip/pip.conf"}},
        .value_of = pip_index_of,
        .fallback = default_index},
    [GATEWAY_NPM] = {.variables = {"npm_config_registry", "NPM_CONFIG_REGISTRY"},
        .files = {{"npm_config_userconfig", ""}, {"NPM_CONFIG_USERCONFIG", ""}, {"HOME", "/.npmrc"},
            {"npm_config_globalconfig", ""}, {NULL, "/etc/npmrc"}, {NULL, "/usr/local/etc/npmrc"}},
        .value_of = npm_registry_of},
};

static int look_up(const struct lookup *lookup, char **ret, struct error *err)
{
        for (size_t i = 0; i < ARRAY_SIZE(lookup->variables) && lookup->variables[i]; i++) {
                const char *value = secure_getenv(lookup->variables[i]);
                if (value && *value != '\0') {
                        *ret = strdup(value);
                        return *ret ? 0 : error_oom(err);
                }
        }
        for (size_t i = 0; i < ARRAY_SIZE(lookup->files) && lookup->files[i].path; i++) {
                const char *base = lookup->files[i].base ? secure_getenv(lookup->files[i].base) : "";
                _cleanup_(freep) char *path = NULL;
                _cleanup_(freep) char *text = NULL;
                if (!base || (lookup->files[i].base && *base != '/'))
                        continue;
                if (asprintf(&path, "%s%s", base, lookup->files[i].path) < 0) {
                        path = NULL;
                        return error_oom(err);
                }
                int r = read_config(path, &text, err);
                if (r < 0)
                        return r;
                char *value = text ? lookup->value_of(text) : NULL;
                if (value) {
                        *ret = value;
                        return 0;
                }
        }
        if (!lookup->fallback)
                return 0;
        *ret = strdup(lookup->fallback);
        return *ret ? 0 : error_oom(err);
}

/* ---- Credentials in a URL ---- */

int split_login(const char *url, char **ret_url, char **ret_login)
{
        const char *start = strstr(url, "://");
        if (!start)
                return -EINVAL;
        start += 3;
        size_t authority = strcspn(start, "/?#");
        const char *at = memrchr(start, '@', authority);
        _cleanup_(freep) char *login = NULL;
        if (at) {
                login = malloc((size_t)(at - start) + sizeof "text:");
                if (!login)
                        return -ENOMEM;
                memcpy(login, "text:", 5);
                char *out = login + 5;
                for (const char *in = start; in < at; in++) {
                        int high = *in == '%' && at - in > 2 ? parse_hex_digit(in[1]) : -1;
                        int low = high >= 0 ? parse_hex_digit(in[2]) : -1;
                        if (*in == '%' && (low < 0 || high * 16 + low < ' '))
                                return -EINVAL;
                        *out++ = low >= 0 ? (char)(high * 16 + low) : *in;
                        in += low >= 0 ? 2 : 0;
                }
                *out = '\0';
                if (!strchr(login + 5, ':'))
                        return -EINVAL;
        }
        const char *rest = at ? at + 1 : start;
        char *plain = NULL;
        if (asprintf(&plain, "%.*s%s", (int)(start - url), url, rest) < 0)
                return -ENOMEM;
        *ret_url = plain;
        *ret_login = TAKE_PTR(login);
        return 0;
}

int host_index(enum gateway_kind kind, char **ret_url, char **ret_login, struct error *err)
{
        _cleanup_(freep) char *found = NULL;
        _cleanup_(freep) char *url = NULL;
        _cleanup_(freep) char *login = NULL;
        int r = look_up(&lookups[kind], &found, err);
        if (r < 0 || !found)
                return r;
        r = split_login(found, &url, &login);
        if (r == -ENOMEM)
                return error_oom(err);
        /* Not shown: it may be a secret in a wrong place. */
        if (r < 0 || !url_valid(url))
                return error_set(err, ERROR_POLICY, 0, hint,
                    "the index that the host's %s is configured for is no URL such as https://host/path",
                    kind == GATEWAY_PYPI ? "pip" : "npm");
        *ret_url = TAKE_PTR(url);
        *ret_login = TAKE_PTR(login);
        return 0;
}
