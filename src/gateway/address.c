/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/address.h"

#include "util/parse.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* IPv4: everything but these is public. */
static const struct {
        const char *network;
        const char *why;
} special_v4[] = {
    {"0.0.0.0/8", "this network; 0.0.0.0 reaches the host itself"},
    {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "shared by carriers, and the metadata service of a cloud"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local: the metadata services of most clouds"},
    {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "protocol assignments"},
    {"192.0.2.0/24", "documentation"},
    {"192.88.99.0/24", "6to4 relays"},
    {"192.168.0.0/16", "private"},
    {"198.18.0.0/15", "benchmarks"},
    {"198.51.100.0/24", "documentation"},
    {"203.0.113.0/24", "documentation"},
    {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved, and broadcast"},
};

/* IPv6: only this is public, so loopback, mapped IPv4, NAT64, local and multicast addresses are not... */
static const char public_v6[] = "2000::/3";

/* ...and of it not these. */
static const struct {
        const char *network;
        const char *why;
} special_v6[] = {
    {"2001::/23", "protocol assignments: Teredo, ORCHID, benchmarks"},
    {"2001:db8::/32", "documentation"},
    {"2002::/16", "6to4: carries any IPv4 address"},
    {"3fff::/20", "documentation"},
};

bool network_parse(const char *text, struct network *ret)
{
        struct network network = {};
        char copy[INET6_ADDRSTRLEN + 8];
        if (strlen(text) >= sizeof copy)
                return false;
        memcpy(copy, text, strlen(text) + 1);
        char *slash = strchr(copy, '/');
        if (slash)
                *slash = '\0';
        network.family = strchr(copy, ':') ? AF_INET6 : AF_INET;
        if (inet_pton(network.family, copy, network.bytes) != 1)
                return false;
        uint64_t width = network.family == AF_INET ? 32 : 128, prefix = width;
        if (slash && (!parse_u64(slash + 1, &prefix) || prefix > width))
                return false;
        for (uint64_t bit = prefix; bit < width; bit++)
                if (network.bytes[bit / 8] & (0x80 >> (bit % 8)))
                        return false;
        network.prefix = (unsigned)prefix;
        *ret = network;
        return true;
}

/* The bytes of an address in network order; NULL for a family that is neither. */
static const uint8_t *address_bytes(const struct sockaddr *address)
{
        if (address->sa_family == AF_INET)
                return (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
        if (address->sa_family == AF_INET6)
                return (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        return NULL;
}

static bool in_network(const struct sockaddr *address, const struct network *network)
{
        const uint8_t *bytes = address_bytes(address);
        if (!bytes || address->sa_family != network->family)
                return false;
        unsigned whole = network->prefix / 8, rest = network->prefix % 8;
        if (memcmp(bytes, network->bytes, whole) != 0)
                return false;
        return rest == 0 || ((bytes[whole] ^ network->bytes[whole]) >> (8 - rest)) == 0;
}

static bool in_text(const struct sockaddr *address, const char *text)
{
        struct network network;
        return network_parse(text, &network) && in_network(address, &network);
}

bool address_is_public(const struct sockaddr *address)
{
        if (address->sa_family == AF_INET) {
                for (size_t i = 0; i < ARRAY_SIZE(special_v4); i++)
                        if (in_text(address, special_v4[i].network))
                                return false;
                return true;
        }
        if (address->sa_family != AF_INET6 || !in_text(address, public_v6))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(special_v6); i++)
                if (in_text(address, special_v6[i].network))
                        return false;
        return true;
}

bool address_in(const struct sockaddr *address, const struct network *networks, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (in_network(address, &networks[i]))
                        return true;
        return false;
}
