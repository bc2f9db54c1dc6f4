/* SPDX-License-Identifier: Apache-2.0 */
#include "util/sha256.h"

void sha256_finish_hex(SHA2_CTX *context, char hex[SHA256_HEX_SIZE])
{
        static const char digits[] = "0123456789abcdef";
        uint8_t digest[SHA256_DIGEST_LENGTH];
        SHA256Final(digest, context);
        for (size_t i = 0; i < sizeof digest; i++) {
                hex[2 * i] = digits[digest[i] >> 4];
                hex[2 * i + 1] = digits[digest[i] & 15];
        }
        hex[2 * sizeof digest] = '\0';
}

void sha256_hex(const void *data, size_t size, char hex[SHA256_HEX_SIZE])
{
        SHA2_CTX context;
        SHA256Init(&context);
        SHA256Update(&context, data, size);
        sha256_finish_hex(&context, hex);
}
