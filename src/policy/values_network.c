/* SPDX-License-Identifier: Apache-2.0 */
/* The types of values that only network.whitelist has: URLs, hosts, networks, package names, secrets. */
#include "policy/values.h"
#include "util/parse.h"

#include <arpa/inet.h>

bool url_valid(const char *url)
{
        const char *rest = NULL;
        if (strncmp(url, "https://", 8) == 0)
                rest = url + 8;
        else if (strncmp(url, "http://", 7) == 0)
                rest = url + 7;
        if (!rest || strlen(url) > 2048)
                return false;
        size_t host = strcspn(rest, "/");
        if (host == 0 || rest[0] == ':')
                return false;
        for (size_t i = 0; i < host; i++)
                if (!letter(rest[i]) && !digit(rest[i]) && !strchr("-._:[]", rest[i]))
                        return false;
        /* No `..` segment: a prefix must mean what it looks like. */
        if (strstr(rest + host, "/../") || strstr(rest + host, "/./"))
                return false;
        for (const char *at = rest + host; *at != '\0'; at++)
                if (*at <= ' ' || *at > '~' || strchr("?#\\\"<>^`{|}", *at))
                        return false;
        return true;
}

bool value_read_url(const struct key *key, const char *text, struct policy_value *value)
{
        return url_valid(text);
}

bool value_read_glob(const struct key *key, const char *text, struct policy_value *value)
{
        /* Package names of both ecosystems ("numpy", "@types/node") with * and ?. */
        size_t size = strlen(text);
        if (size == 0 || size > 214)
                return false;
        for (const char *at = text; *at != '\0'; at++)
                if (!letter(*at) && !digit(*at) && !strchr("._-@/*?", *at))
                        return false;
        return true;
}

bool value_read_cidr(const struct key *key, const char *text, struct policy_value *value)
{
        char address[INET6_ADDRSTRLEN];
        unsigned char bytes[16];
        const char *slash = strchr(text, '/');
        size_t size = slash ? (size_t)(slash - text) : 0;
        uint64_t prefix;
        if (size == 0 || size >= sizeof address || !parse_u64(slash + 1, &prefix))
                return false;
        memcpy(address, text, size);
        address[size] = '\0';
        bool six = strchr(address, ':') != NULL;
        unsigned width = six ? 128 : 32;
        if (prefix > width || inet_pton(six ? AF_INET6 : AF_INET, address, bytes) != 1)
                return false;
        /*
         * Bits behind the prefix would say that a single host
         * was meant: which of the two is not ours to guess.
         */
        for (unsigned bit = (unsigned)prefix; bit < width; bit++)
                if (bytes[bit / 8] & (0x80U >> bit % 8))
                        return false;
        return true;
}

/* HOST or HOST:PORT, or [ADDRESS]:PORT: what may stand between "https://" and the next slash. */
bool value_read_host(const struct key *key, const char *text, struct policy_value *value)
{
        char url[300];
        int n = snprintf(url, sizeof url, "https://%s/", text);
        return n > 0 && (size_t)n < sizeof url && !strchr(text, '/') && url_valid(url);
}

bool path_valid(const char *path)
{
        size_t size = strlen(path);
        return path[0] == '/' && size > 1 && size <= PATH_VALUE_MAX && !strstr(path, "/../") &&
               !(size >= 3 && strcmp(path + size - 3, "/..") == 0);
}

bool value_read_path(const struct key *key, const char *text, struct policy_value *value)
{
        return path_valid(text);
}

bool value_read_secret(const struct key *key, const char *text, struct policy_value *value)
{
        if (strncmp(text, "env:", 4) == 0)
                return environment_name_valid(text + 4, strlen(text + 4));
        return strncmp(text, "file:", 5) == 0 && path_valid(text + 5);
}
