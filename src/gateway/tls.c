/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/tls.h"

#include "gateway/web_url.h"
#include "util/defence.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#define PIECE 16384 /* a record's */

struct tls_server {
        struct authority *authority;
        SSL_CTX *context;
        bool (*admits)(void *context, const char *host);
        void *admits_context;
};

struct tls_stream {
        struct tls_server *server;
        SSL *ssl;
        BIO *in, *out; /* the SSL's */
        char host[WEB_HOST_MAX + 1];
        bool tunnel; /* the host was there first */
        bool refused;
};

/* ---- What all share ---- */

/* Only what we speak. A client that speaks nothing of it is told so. */
static int on_protocols(SSL *ssl, const unsigned char **ret, unsigned char *ret_size,
    const unsigned char *in, unsigned in_size, void *context)
{
        static const unsigned char spoken[] = "\x08http/1.1";
        unsigned char *found = NULL;
        if (SSL_select_next_proto(&found, ret_size, spoken, sizeof spoken - 1, in, in_size) !=
            OPENSSL_NPN_NEGOTIATED)
                return SSL_TLSEXT_ERR_ALERT_FATAL;
        *ret = found;
        return SSL_TLSEXT_ERR_OK;
}

/* The name that the client asks for, in lower case. False for what is no name. */
static bool asked_name(const SSL *ssl, char ret[WEB_HOST_MAX + 1])
{
        uint16_t port;
        const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
        return name && !strchr(name, ':') &&
               web_authority_parse(name, strlen(name), 443, ret, &port) == REASON_NONE;
}

/* Names only: for an address clients say nothing. */
static bool is_address(const char *host)
{
        struct in_addr address;
        return inet_pton(AF_INET, host, &address) == 1;
}

/* Called in every handshake, whether the client named a host or not. */
static int on_server_name(SSL *ssl, int *alert, void *context)
{
        struct tls_server *server = context;
        struct tls_stream *stream = SSL_get_app_data(ssl);
        char name[WEB_HOST_MAX + 1] = "";
        bool named = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) != NULL, right;
        if (stream->tunnel && !named)
                right = is_address(stream->host);
        else if (!asked_name(ssl, name))
                right = false;
        else if (stream->tunnel)
                right = strcmp(stream->host, name) == 0 || !DEFENCE("web-sni");
        else
                right = server->admits(server->admits_context, name);
        if (right && !stream->tunnel)
                memcpy(stream->host, name, strlen(name) + 1);
        stream->refused = !right;
        if (right && authority_dress(server->authority, stream->host, ssl) == 0)
                return SSL_TLSEXT_ERR_OK;
        *alert = right ? SSL_AD_INTERNAL_ERROR : SSL_AD_UNRECOGNIZED_NAME;
        return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int tls_server_new(struct authority *authority, bool (*admits)(void *context, const char *host),
    void *context, struct tls_server **ret)
{
        struct tls_server *server = calloc(1, sizeof *server);
        if (!server)
                return -ENOMEM;
        *server = (struct tls_server){.authority = authority,
            .context = SSL_CTX_new(TLS_server_method()),
            .admits = admits,
            .admits_context = context};
        if (!server->context || SSL_CTX_set_min_proto_version(server->context, TLS1_2_VERSION) != 1 ||
            SSL_CTX_set_num_tickets(server->context, 0) != 1) {
                tls_server_free(server);
                return -ENOMEM;
        }
        (void)SSL_CTX_set_options(server->context,
            SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_SINGLE_ECDH_USE);
        (void)SSL_CTX_set_session_cache_mode(server->context, SSL_SESS_CACHE_OFF);
        (void)SSL_CTX_set_mode(server->context, SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_alpn_select_cb(server->context, on_protocols, NULL);
        (void)SSL_CTX_set_tlsext_servername_callback(server->context, on_server_name);
        (void)SSL_CTX_set_tlsext_servername_arg(server->context, server);
        *ret = server;
        return 0;
}

struct tls_server *tls_server_free(struct tls_server *server)
{
        if (!server)
                return NULL;
        SSL_CTX_free(server->context);
        free(server);
        return NULL;
}

/* ---- One connection ---- */

int tls_stream_new(struct tls_server *server, const char *host, struct tls_stream **ret)
{
        struct tls_stream *stream = calloc(1, sizeof *stream);
        if (!stream)
                return -ENOMEM;
        stream->server = server;
        stream->tunnel = host != NULL;
        (void)snprintf(stream->host, sizeof stream->host, "%s", host ? host : "");
        stream->ssl = SSL_new(server->context);
        stream->in = BIO_new(BIO_s_mem());
        stream->out = BIO_new(BIO_s_mem());
        if (!stream->ssl || !stream->in || !stream->out || SSL_set_app_data(stream->ssl, stream) != 1) {
                (void)BIO_free(stream->in);
                (void)BIO_free(stream->out);
                stream->in = stream->out = NULL;
                tls_stream_free(stream);
                return -ENOMEM;
        }
        (void)BIO_set_mem_eof_return(stream->in, -1); /* empty means: more will come */
        (void)BIO_set_mem_eof_return(stream->out, -1);
        SSL_set_bio(stream->ssl, stream->in, stream->out);
        SSL_set_accept_state(stream->ssl);
        *ret = stream;
        return 0;
}

struct tls_stream *tls_stream_free(struct tls_stream *stream)
{
        if (!stream)
                return NULL;
        SSL_free(stream->ssl); /* with its buffers */
        free(stream);
        return NULL;
}

const char *tls_stream_host(const struct tls_stream *stream)
{
        return stream->host;
}

/* Encrypted bytes that lie ready. */
static int drain(struct tls_stream *stream, struct evbuffer *out)
{
        char piece[PIECE];
        for (int n = BIO_read(stream->out, piece, sizeof piece); n > 0;
             n = BIO_read(stream->out, piece, sizeof piece))
                if (evbuffer_add(out, piece, (size_t)n) < 0)
                        return -ENOMEM;
        return 0;
}

static int fill(struct tls_stream *stream, struct evbuffer *in)
{
        char piece[PIECE];
        for (int n = evbuffer_remove(in, piece, sizeof piece); n > 0;
             n = evbuffer_remove(in, piece, sizeof piece))
                if (BIO_write(stream->in, piece, n) != n)
                        return -ENOMEM;
        return 0;
}

/* What the last call on the SSL came to. */
static enum tls_state state_after(const struct tls_stream *stream, int result)
{
        int error = SSL_get_error(stream->ssl, result);
        if (error == SSL_ERROR_WANT_READ)
                return SSL_is_init_finished(stream->ssl) ? TLS_OPEN : TLS_HANDSHAKE;
        return error == SSL_ERROR_ZERO_RETURN ? TLS_CLOSED : TLS_FAILED;
}

enum tls_state tls_stream_read(struct tls_stream *stream, struct evbuffer *in, struct evbuffer *out,
    struct evbuffer *plain, size_t max, enum reason *ret_reason)
{
        enum tls_state state = TLS_OPEN;
        ERR_clear_error();
        if (fill(stream, in) < 0)
                state = TLS_FAILED;
        if (state == TLS_OPEN && !SSL_is_init_finished(stream->ssl)) {
                int r = SSL_do_handshake(stream->ssl);
                state = r == 1 ? TLS_OPEN : state_after(stream, r);
        }
        while (state == TLS_OPEN && evbuffer_get_length(plain) < max) {
                char piece[PIECE];
                int n = SSL_read(stream->ssl, piece, sizeof piece);
                if (n <= 0) {
                        state = state_after(stream, n);
                        break;
                }
                if (evbuffer_add(plain, piece, (size_t)n) < 0)
                        state = TLS_FAILED;
        }
        if (drain(stream, out) < 0)
                state = TLS_FAILED;
        ERR_clear_error();
        if (state == TLS_FAILED)
                *ret_reason = stream->refused ? REASON_SNI : REASON_TLS_GUEST;
        return state;
}

int tls_stream_write(struct tls_stream *stream, struct evbuffer *plain, struct evbuffer *out, size_t max)
{
        ERR_clear_error();
        while (evbuffer_get_length(plain) > 0 && evbuffer_get_length(out) < max) {
                char piece[PIECE];
                int n = evbuffer_remove(plain, piece, sizeof piece);
                if (n <= 0 || SSL_write(stream->ssl, piece, n) != n || drain(stream, out) < 0)
                        return -EIO;
        }
        return 0;
}

void tls_stream_close(struct tls_stream *stream, struct evbuffer *out)
{
        ERR_clear_error();
        if (SSL_is_init_finished(stream->ssl))
                (void)SSL_shutdown(stream->ssl);
        (void)drain(stream, out);
        ERR_clear_error();
}
