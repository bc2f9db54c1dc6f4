/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses an upstream may have. The address looked at is the very one that is then dialled, so a
 * name that means something else a moment later gains nothing.
 */
#pragma once

#include "util/common.h"

#include <sys/socket.h>

/* A network in CIDR notation. */
struct network {
        int family;        /* AF_INET or AF_INET6 */
        uint8_t bytes[16]; /* network order; 4 of them for AF_INET */
        unsigned prefix;
};

/* "10.0.0.0/8", "::1/128", or an address alone. Bits beyond the prefix have to be zero. */
bool network_parse(const char *text, struct network *ret);

/*
 * Whether the address lies on the public Internet, by the registries of special-purpose addresses: not
 * loopback, private, link-local (where clouds answer with credentials), shared, multicast, documentation,
 * translated or tunnelled.
 */
bool address_is_public(const struct sockaddr *address);

/* Whether one of the networks holds it. An IPv4 address in IPv6 clothes is only in IPv6 networks. */
bool address_in(const struct sockaddr *address, const struct network *networks, size_t count);
