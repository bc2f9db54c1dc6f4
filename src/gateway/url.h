/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of the upstream's side, read by libcurl's own parser so that the check and the dialling agree. */
#pragma once

#include "util/common.h"

#define URL_MAX_BYTES 2048

/*
 * Resolves a reference against an absolute URL. *ret_url has no fragment; *ret_fragment is the fragment or
 * NULL; both are the caller's. -EINVAL for what is not an http or https URL without user information,
 * -ENOMEM.
 */
int url_resolve(const char *base, const char *reference, char **ret_url, char **ret_fragment);

/* "https://example.org:443", lower case, the port always there. -EINVAL, -ENOMEM. */
int url_origin(const char *url, char **ret_origin);

/* The last segment of the path, percent-encoding undone. -EINVAL if it is empty or holds a slash or NUL. */
int url_file_name(const char *url, char **ret_name);
