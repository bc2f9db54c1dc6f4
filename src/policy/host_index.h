/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which index the host's own pip or npm is configured for: what a whitelist entry without `url` means. Their
 * configuration files are read here, by the rules of theirs that concern the index; neither program is
 * started, since that takes longer than a run. Files of the current directory count for nothing.
 */
#pragma once

#include "policy/gateway_spec.h"
#include "util/error.h"

/*
 * The URL of the index, and "text:user:password" where it had one in it (else NULL). Files must belong to
 * the caller or root, like the policy. *ret_url stays NULL where npm is configured for none. ERROR_POLICY.
 * Caller frees both.
 */
int host_index(enum gateway_kind kind, char **ret_url, char **ret_login, struct error *err);

/* Of a file's text; NULL where it names none. For tests. Caller frees. */
char *pip_index_of(const char *text);
char *npm_registry_of(const char *text);

/* Takes "user:password@" out of a URL, with percent-encoding undone. -EINVAL where it can't be read. */
int split_login(const char *url, char **ret_url, char **ret_login);
