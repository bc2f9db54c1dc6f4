/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 as lower-case hexadecimal, by libmd (small and static:
 * loading libcrypto would cost a native run milliseconds).
 */
#pragma once

#include "util/common.h"

#include <sha2.h>

#define SHA256_HEX_SIZE 65

void sha256_hex(const void *data, size_t size, char hex[SHA256_HEX_SIZE]);

/* Ends an incremental digest begun with libmd's SHA256Init and SHA256Update. */
void sha256_finish_hex(SHA2_CTX *context, char hex[SHA256_HEX_SIZE]);
