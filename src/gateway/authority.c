/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/authority.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#define SLACK_SECONDS (24L * 60 * 60) /* before its making: clocks of containers may be wrong */
#define LIFE_SECONDS (7L * 24 * 60 * 60)
#define HOSTS_MAX 256

struct leaf {
        char *host;
        X509 *certificate;
        struct leaf *next;
};

struct authority {
        EVP_PKEY *key;
        X509 *certificate;
        char *pem;
        EVP_PKEY *leaf_key; /* of all hosts: whoever holds one in here holds all */
        struct leaf *leaves;
        size_t leaf_count;
};

static void x509_freep(X509 **certificate)
{
        X509_free(*certificate);
}

static void bio_freep(BIO **bio)
{
        (void)BIO_free(*bio);
}

struct authority *authority_free(struct authority *authority)
{
        if (!authority)
                return NULL;
        while (authority->leaves) {
                struct leaf *leaf = authority->leaves;
                authority->leaves = leaf->next;
                X509_free(leaf->certificate);
                free(leaf->host);
                free(leaf);
        }
        EVP_PKEY_free(authority->leaf_key);
        EVP_PKEY_free(authority->key);
        X509_free(authority->certificate);
        free(authority->pem);
        free(authority);
        return NULL;
}

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
        X509V3_CTX context;
        X509V3_set_ctx_nodb(&context);
        X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
        bool added = extension && X509_add_ext(certificate, extension, -1) == 1;
        X509_EXTENSION_free(extension);
        return added;
}

static bool set_serial(X509 *certificate)
{
        unsigned char bytes[16];
        if (RAND_bytes(bytes, sizeof bytes) != 1)
                return false;
        bytes[0] &= 0x7f; /* positive */
        bytes[0] |= 0x40;
        BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
        bool set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
        BN_free(number);
        return set;
}

/* All but the extensions. The subject's name is cut to what the field may hold; readers go by the names
 * below it. */
static X509 *begin_certificate(const char *name, EVP_PKEY *key, X509 *issuer)
{
        char common[65];
        (void)snprintf(common, sizeof common, "%s", name);
        _cleanup_(x509_freep) X509 *certificate = X509_new();
        X509_NAME *subject = certificate ? X509_get_subject_name(certificate) : NULL;
        if (!subject || X509_set_version(certificate, X509_VERSION_3) != 1 || !set_serial(certificate) ||
            !X509_gmtime_adj(X509_getm_notBefore(certificate), -SLACK_SECONDS) ||
            !X509_gmtime_adj(X509_getm_notAfter(certificate), LIFE_SECONDS) ||
            X509_NAME_add_entry_by_txt(
                subject, "CN", MBSTRING_ASC, (const unsigned char *)common, -1, -1, 0) != 1 ||
            X509_set_issuer_name(certificate, X509_get_subject_name(issuer ? issuer : certificate)) != 1 ||
            X509_set_pubkey(certificate, key) != 1)
                return NULL;
        return TAKE_PTR(certificate);
}

static int make_root(struct authority *authority)
{
        _cleanup_(x509_freep) X509 *root = begin_certificate("Mai Sandbox, one run", authority->key, NULL);
        if (!root || !add_extension(root, root, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
            !add_extension(root, root, NID_key_usage, "critical,keyCertSign,cRLSign") ||
            !add_extension(root, root, NID_subject_key_identifier, "hash") ||
            X509_sign(root, authority->key, EVP_sha256()) <= 0)
                return -ENOMEM;
        _cleanup_(bio_freep) BIO *text = BIO_new(BIO_s_mem());
        if (!text || PEM_write_bio_X509(text, root) != 1)
                return -ENOMEM;
        char *data = NULL;
        long size = BIO_get_mem_data(text, &data);
        authority->pem = size > 0 ? strndup(data, (size_t)size) : NULL;
        if (!authority->pem)
                return -ENOMEM;
        authority->certificate = TAKE_PTR(root);
        return 0;
}

int authority_new(struct authority **ret, struct error *err)
{
        struct authority *authority = calloc(1, sizeof *authority);
        if (!authority)
                return error_oom(err);
        authority->key = EVP_EC_gen("P-256");
        authority->leaf_key = EVP_EC_gen("P-256");
        if (!authority->key || !authority->leaf_key || make_root(authority) < 0) {
                authority_free(authority);
                return error_set(
                    err, ERROR_INTERNAL, 0, NULL, "making the certificate authority of the run");
        }
        *ret = authority;
        return 0;
}

const char *authority_pem(const struct authority *authority)
{
        return authority->pem;
}

static X509 *make_leaf(const struct authority *authority, const char *host)
{
        struct in_addr address;
        char names[300];
        bool numeric = inet_pton(AF_INET, host, &address) == 1;
        (void)snprintf(names, sizeof names, "%s:%s", numeric ? "IP" : "DNS", host);
        _cleanup_(x509_freep) X509 *leaf =
            begin_certificate(host, authority->leaf_key, authority->certificate);
        if (!leaf ||
            !add_extension(leaf, authority->certificate, NID_basic_constraints, "critical,CA:FALSE") ||
            !add_extension(leaf, authority->certificate, NID_key_usage, "critical,digitalSignature") ||
            !add_extension(leaf, authority->certificate, NID_ext_key_usage, "serverAuth") ||
            !add_extension(leaf, authority->certificate, NID_subject_alt_name, names) ||
            !add_extension(leaf, authority->certificate, NID_subject_key_identifier, "hash") ||
            !add_extension(leaf, authority->certificate, NID_authority_key_identifier, "keyid:always") ||
            X509_sign(leaf, authority->key, EVP_sha256()) <= 0)
                return NULL;
        return TAKE_PTR(leaf);
}

static const struct leaf *leaf_for(struct authority *authority, const char *host)
{
        for (const struct leaf *leaf = authority->leaves; leaf; leaf = leaf->next)
                if (strcmp(leaf->host, host) == 0)
                        return leaf;
        if (authority->leaf_count == HOSTS_MAX)
                return NULL;
        struct leaf *leaf = calloc(1, sizeof *leaf);
        if (!leaf)
                return NULL;
        leaf->host = strdup(host);
        leaf->certificate = leaf->host ? make_leaf(authority, host) : NULL;
        if (!leaf->certificate) {
                free(leaf->host);
                free(leaf);
                return NULL;
        }
        leaf->next = authority->leaves;
        authority->leaves = leaf;
        authority->leaf_count++;
        return leaf;
}

int authority_dress(struct authority *authority, const char *host, SSL *ssl)
{
        const struct leaf *leaf = leaf_for(authority, host);
        if (!leaf || SSL_use_certificate(ssl, leaf->certificate) != 1 ||
            SSL_use_PrivateKey(ssl, authority->leaf_key) != 1) {
                ERR_clear_error();
                return -ENOMEM;
        }
        return 0;
}
