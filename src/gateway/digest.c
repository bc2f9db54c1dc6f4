/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/digest.h"

#include "util/parse.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

struct hasher {
        EVP_MD_CTX *context;
        struct digest expected;
};

static const struct {
        const char *prefix;
        size_t bytes;
} algorithms[] = {
    {"sha256-", 32},
    {"sha512-", 64},
};

static void write_digest(const char *prefix, const uint8_t *bytes, size_t size, struct digest *ret)
{
        static const char digits[] = "0123456789abcdef";
        size_t used = strlen(prefix);
        memcpy(ret->text, prefix, used);
        for (size_t i = 0; i < size; i++) {
                ret->text[used++] = digits[bytes[i] >> 4];
                ret->text[used++] = digits[bytes[i] & 15];
        }
        ret->text[used] = '\0';
}

bool digest_from_sha256_hex(const char *hex, struct digest *ret)
{
        uint8_t bytes[32];
        if (strlen(hex) != 2 * sizeof bytes)
                return false;
        for (size_t i = 0; i < sizeof bytes; i++) {
                int high = parse_hex_digit(hex[2 * i]), low = parse_hex_digit(hex[2 * i + 1]);
                if (high < 0 || low < 0)
                        return false;
                bytes[i] = (uint8_t)(high << 4 | low);
        }
        write_digest("sha256-", bytes, sizeof bytes, ret);
        return true;
}

/* 64 bytes are 86 base64 digits and two of padding. */
#define SHA512_BASE64 88

bool digest_from_integrity(const char *integrity, struct digest *ret)
{
        for (const char *at = integrity; *at;) {
                size_t length = strcspn(at, " ");
                if (length >= 7 + SHA512_BASE64 && strncmp(at, "sha512-", 7) == 0 &&
                    (length == 7 + SHA512_BASE64 || at[7 + SHA512_BASE64] == '?')) {
                        uint8_t bytes[66];
                        int n = EVP_DecodeBlock(bytes, (const unsigned char *)at + 7, SHA512_BASE64);
                        if (n == 66 && at[7 + SHA512_BASE64 - 1] == '=' &&
                            at[7 + SHA512_BASE64 - 2] == '=') {
                                write_digest("sha512-", bytes, 64, ret);
                                return true;
                        }
                }
                at += length;
                at += strspn(at, " ");
        }
        return false;
}

const char *digest_hex(const struct digest *digest)
{
        return digest->text + strlen("sha256-");
}

struct hasher *hasher_new(const struct digest *expected)
{
        struct hasher *hasher = calloc(1, sizeof *hasher);
        if (!hasher)
                return NULL;
        const EVP_MD *algorithm = strncmp(expected->text, "sha512-", 7) == 0 ? EVP_sha512() : EVP_sha256();
        hasher->expected = *expected;
        hasher->context = EVP_MD_CTX_new();
        if (!hasher->context || EVP_DigestInit_ex(hasher->context, algorithm, NULL) != 1)
                return hasher_free(hasher);
        return hasher;
}

int hasher_update(struct hasher *hasher, const void *data, size_t size)
{
        return EVP_DigestUpdate(hasher->context, data, size) == 1 ? 0 : -EIO;
}

bool hasher_matches(struct hasher *hasher)
{
        uint8_t bytes[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        if (EVP_DigestFinal_ex(hasher->context, bytes, &size) != 1)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(algorithms); i++) {
                if (algorithms[i].bytes != size)
                        continue;
                struct digest seen;
                write_digest(algorithms[i].prefix, bytes, size, &seen);
                return strcmp(seen.text, hasher->expected.text) == 0;
        }
        return false;
}

struct hasher *hasher_free(struct hasher *hasher)
{
        if (!hasher)
                return NULL;
        EVP_MD_CTX_free(hasher->context);
        free(hasher);
        return NULL;
}
