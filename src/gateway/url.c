/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/url.h"

#include <curl/curl.h>

static void url_cleanup(CURLU **url)
{
        curl_url_cleanup(*url);
}

static void curl_freep(char **text)
{
        curl_free(*text);
}

static int parse(const char *base, const char *reference, CURLU **ret)
{
        _cleanup_(url_cleanup) CURLU *url = curl_url();
        if (!url)
                return -ENOMEM;
        if (strlen(reference) > URL_MAX_BYTES)
                return -EINVAL;
        if (base && curl_url_set(url, CURLUPART_URL, base, CURLU_DISALLOW_USER) != CURLUE_OK)
                return -EINVAL;
        if (curl_url_set(url, CURLUPART_URL, reference, CURLU_DISALLOW_USER) != CURLUE_OK)
                return -EINVAL;
        _cleanup_(curl_freep) char *scheme = NULL;
        if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
            (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0))
                return -EINVAL;
        *ret = TAKE_PTR(url);
        return 0;
}

/* A copy from libc's heap, so that everybody frees alike. */
static int take_part(CURLU *url, CURLUPart part, unsigned flags, char **ret)
{
        _cleanup_(curl_freep) char *text = NULL;
        if (curl_url_get(url, part, &text, flags) != CURLUE_OK || !text)
                return -EINVAL;
        char *copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

int url_resolve(const char *base, const char *reference, char **ret_url, char **ret_fragment)
{
        _cleanup_(url_cleanup) CURLU *url = NULL;
        _cleanup_(freep) char *fragment = NULL;
        int r = parse(base, reference, &url);
        if (r < 0)
                return r;
        r = take_part(url, CURLUPART_FRAGMENT, 0, &fragment);
        if (r == -ENOMEM)
                return r;
        if (curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) != CURLUE_OK)
                return -EINVAL;
        r = take_part(url, CURLUPART_URL, 0, ret_url);
        if (r < 0)
                return r;
        *ret_fragment = TAKE_PTR(fragment);
        return 0;
}

int url_origin(const char *text, char **ret_origin)
{
        _cleanup_(url_cleanup) CURLU *url = NULL;
        _cleanup_(freep) char *scheme = NULL;
        _cleanup_(freep) char *host = NULL;
        _cleanup_(freep) char *port = NULL;
        int r = parse(NULL, text, &url);
        if (r == 0)
                r = take_part(url, CURLUPART_SCHEME, 0, &scheme);
        if (r == 0)
                r = take_part(url, CURLUPART_HOST, 0, &host);
        if (r == 0)
                r = take_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port);
        if (r < 0)
                return r;
        for (char *c = host; *c; c++)
                if (*c >= 'A' && *c <= 'Z')
                        *c = (char)(*c - 'A' + 'a');
        char *origin = NULL;
        if (asprintf(&origin, "%s://%s:%s", scheme, host, port) < 0)
                return -ENOMEM;
        *ret_origin = origin;
        return 0;
}

int url_file_name(const char *text, char **ret_name)
{
        _cleanup_(url_cleanup) CURLU *url = NULL;
        _cleanup_(freep) char *path = NULL;
        int r = parse(NULL, text, &url);
        if (r == 0)
                r = take_part(url, CURLUPART_PATH, 0, &path);
        if (r < 0)
                return r;
        const char *slash = strrchr(path, '/');
        const char *last = slash ? slash + 1 : path;
        int length = 0;
        _cleanup_(curl_freep) char *decoded = curl_easy_unescape(NULL, last, 0, &length);
        if (!decoded)
                return -ENOMEM;
        if (length == 0 || (size_t)length != strlen(decoded) || strchr(decoded, '/'))
                return -EINVAL;
        char *copy = strdup(decoded);
        if (!copy)
                return -ENOMEM;
        *ret_name = copy;
        return 0;
}
