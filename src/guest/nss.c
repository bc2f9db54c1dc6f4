/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnss_mai.so.2: what a C library asks for names in containers that an engine builds, where no file of the
 * root can be ours: the engine leaves /etc/hosts empty in a container without a network, and the user is
 * another one in each container. Answers "localhost", and the name of the program's own user and group; of
 * everything else it knows nothing.
 *
 * It is loaded into programs, by whatever libc is in the image: so it calls nothing of it, and needs no
 * other library.
 */
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define NAME "sandbox"
#define HOME "/tmp/home" /* GUEST_HOME of guest/init.h */
#define SHELL "/bin/sh"

/* Names that the C library makes up; no header declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORTED __attribute__((visibility("default"), used))

/* ---- What would be libc's ---- */

static bool same(const char *a, const char *b)
{
        while (*a && *a == *b) {
                a++;
                b++;
        }
        return *a == *b;
}

static long own_id(long number)
{
        long result;
#if defined(__x86_64__)
        __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
        register long x8 __asm__("x8") = number;
        register long x0 __asm__("x0");
        __asm__ volatile("svc 0" : "=r"(x0) : "r"(x8) : "memory");
        result = x0;
#endif
        return result;
}

/* Room in the caller's buffer, aligned for anything. */
struct room {
        char *at, *end;
};

static struct room room_of(char *buffer, size_t size)
{
        const uintptr_t align = _Alignof(max_align_t);
        uintptr_t skip = (align - (uintptr_t)buffer % align) % align;
        return (struct room){buffer + (skip < size ? skip : size), buffer + size};
}

static void *take(struct room *room, size_t size)
{
        size = (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
        if ((size_t)(room->end - room->at) < size)
                return NULL;
        void *taken = room->at;
        room->at += size;
        return taken;
}

static char *take_text(struct room *room, const char *text)
{
        size_t size = 0;
        while (text[size++])
                ;
        char *copy = take(room, size);
        for (size_t i = 0; copy && i < size; i++)
                ((volatile char *)copy)[i] = text[i]; /* volatile: or the compiler makes a memcpy of it */
        return copy;
}

static enum nss_status too_small(int *errnop)
{
        *errnop = ERANGE;
        return NSS_STATUS_TRYAGAIN;
}

static enum nss_status unknown(int *errnop)
{
        *errnop = ENOENT;
        return NSS_STATUS_NOTFOUND;
}

/* ---- The user ---- */

static enum nss_status fill_user(struct passwd *ret, char *buffer, size_t size, int *errnop)
{
        struct room room = room_of(buffer, size);
        ret->pw_name = take_text(&room, NAME);
        ret->pw_passwd = take_text(&room, "x");
        ret->pw_gecos = take_text(&room, "");
        ret->pw_dir = take_text(&room, HOME);
        ret->pw_shell = take_text(&room, SHELL);
        ret->pw_uid = (uid_t)own_id(SYS_getuid);
        ret->pw_gid = (gid_t)own_id(SYS_getgid);
        return ret->pw_shell ? NSS_STATUS_SUCCESS : too_small(errnop);
}

EXPORTED enum nss_status _nss_mai_getpwuid_r(
    uid_t uid, struct passwd *ret, char *buffer, size_t size, int *errnop)
{
        return (long)uid == own_id(SYS_getuid) ? fill_user(ret, buffer, size, errnop) : unknown(errnop);
}

EXPORTED enum nss_status _nss_mai_getpwnam_r(
    const char *name, struct passwd *ret, char *buffer, size_t size, int *errnop)
{
        return same(name, NAME) ? fill_user(ret, buffer, size, errnop) : unknown(errnop);
}

static enum nss_status fill_group(struct group *ret, char *buffer, size_t size, int *errnop)
{
        struct room room = room_of(buffer, size);
        char **members = take(&room, sizeof *members);
        ret->gr_name = take_text(&room, NAME);
        ret->gr_passwd = take_text(&room, "x");
        ret->gr_gid = (gid_t)own_id(SYS_getgid);
        ret->gr_mem = members;
        if (!members || !ret->gr_passwd)
                return too_small(errnop);
        members[0] = NULL;
        return NSS_STATUS_SUCCESS;
}

EXPORTED enum nss_status _nss_mai_getgrgid_r(
    gid_t gid, struct group *ret, char *buffer, size_t size, int *errnop)
{
        return (long)gid == own_id(SYS_getgid) ? fill_group(ret, buffer, size, errnop) : unknown(errnop);
}

EXPORTED enum nss_status _nss_mai_getgrnam_r(
    const char *name, struct group *ret, char *buffer, size_t size, int *errnop)
{
        return same(name, NAME) ? fill_group(ret, buffer, size, errnop) : unknown(errnop);
}

/* ---- The loopback interface ---- */

static enum nss_status fill_host(const void *address, int family, struct hostent *ret, char *buffer,
    size_t size, int *errnop, int *h_errnop)
{
        struct room room = room_of(buffer, size);
        int length = family == AF_INET6 ? 16 : 4;
        char **lists = take(&room, 3 * sizeof *lists);
        volatile char *copy = take(&room, 16);
        char *name = take_text(&room, "localhost");
        if (!name) {
                *h_errnop = NETDB_INTERNAL;
                return too_small(errnop);
        }
        for (int i = 0; i < length; i++)
                copy[i] = ((const char *)address)[i];
        lists[0] = (char *)copy;
        lists[1] = lists[2] = NULL;
        ret->h_name = name;
        ret->h_aliases = lists + 2;
        ret->h_addrtype = family;
        ret->h_length = length;
        ret->h_addr_list = lists;
        *h_errnop = NETDB_SUCCESS;
        return NSS_STATUS_SUCCESS;
}

static const unsigned char loopback4[4] = {127, 0, 0, 1};
static const unsigned char loopback6[16] = {[15] = 1};

static enum nss_status no_host(int *errnop, int *h_errnop)
{
        *h_errnop = HOST_NOT_FOUND;
        return unknown(errnop);
}

EXPORTED enum nss_status _nss_mai_gethostbyname3_r(const char *name, int family, struct hostent *ret,
    char *buffer, size_t size, int *errnop, int *h_errnop, int32_t *ttl, char **canonical)
{
        if ((family != AF_INET && family != AF_INET6) || !same(name, "localhost"))
                return no_host(errnop, h_errnop);
        enum nss_status status = fill_host(
            family == AF_INET ? loopback4 : loopback6, family, ret, buffer, size, errnop, h_errnop);
        if (status == NSS_STATUS_SUCCESS && ttl)
                *ttl = 0;
        if (status == NSS_STATUS_SUCCESS && canonical)
                *canonical = ret->h_name;
        return status;
}

EXPORTED enum nss_status _nss_mai_gethostbyname2_r(
    const char *name, int family, struct hostent *ret, char *buffer, size_t size, int *errnop, int *h_errnop)
{
        return _nss_mai_gethostbyname3_r(name, family, ret, buffer, size, errnop, h_errnop, NULL, NULL);
}

EXPORTED enum nss_status _nss_mai_gethostbyname_r(
    const char *name, struct hostent *ret, char *buffer, size_t size, int *errnop, int *h_errnop)
{
        return _nss_mai_gethostbyname2_r(name, AF_INET, ret, buffer, size, errnop, h_errnop);
}

EXPORTED enum nss_status _nss_mai_gethostbyaddr_r(const void *address, socklen_t length, int family,
    struct hostent *ret, char *buffer, size_t size, int *errnop, int *h_errnop)
{
        const unsigned char *known = family == AF_INET6 ? loopback6 : loopback4;
        if (!(family == AF_INET && length == 4) && !(family == AF_INET6 && length == 16))
                return no_host(errnop, h_errnop);
        for (socklen_t i = 0; i < length; i++)
                if (((const unsigned char *)address)[i] != known[i])
                        return no_host(errnop, h_errnop);
        return fill_host(known, family, ret, buffer, size, errnop, h_errnop);
}
