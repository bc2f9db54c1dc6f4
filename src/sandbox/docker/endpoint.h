/* SPDX-License-Identifier: Apache-2.0 */
/* Where an engine listens, in the words of docker.host and DOCKER_HOST, and how to reach it. */
#pragma once

#include "util/error.h"

struct endpoint {
        char *text;        /* as it was given, for messages */
        char *socket_path; /* unix: the socket; NULL: TCP */
        char *base_url;    /* "http://engine", "https://host:2376": what requests' paths are put behind */
        char *ca, *cert, *key; /* TLS: PEM files; NULL: no TLS */
};

void endpoint_clear(struct endpoint *endpoint);

/*
 * `host` is the policy's docker.host or NULL; then $DOCKER_HOST counts, else the engine's usual socket. TLS
 * is used for tcp:// when $DOCKER_CERT_PATH names a directory with ca.pem, cert.pem and key.pem, or
 * $DOCKER_TLS_VERIFY is set (then ~/.docker). The certificate of the engine is always verified.
 */
int endpoint_find(const char *host, struct endpoint *ret, struct error *err);
