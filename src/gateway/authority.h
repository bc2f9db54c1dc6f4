/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate authority of one run: made at the start, trusted in one container only, gone with the
 * process. Its key and those of the servers that it vouches for exist in this process's memory and nowhere
 * else.
 */
#pragma once

#include "util/error.h"

#include <openssl/ssl.h>

struct authority;

/* Makes the keys. */
int authority_new(struct authority **ret, struct error *err);
struct authority *authority_free(struct authority *authority);

/* Its certificate, in PEM: what the container is told to trust. Lives as long as the authority. */
const char *authority_pem(const struct authority *authority);

/*
 * Makes `ssl` answer as `host`, a name or an IPv4 address that an entry lists. Certificates are made when
 * first asked for, and kept. 0 or -ENOMEM.
 */
int authority_dress(struct authority *authority, const char *host, SSL *ssl);
