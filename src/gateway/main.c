/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mai-sandbox-gateway: the only way out of a container, for one run. It is started by a supervisor, never by
 * hand, and takes no arguments; docs/GATEWAY.md describes what it serves.
 *
 *   fd 3  where the guest's connections come from: a listening stream socket, or one connection (may be
 * closed) fd 4  control, SEQPACKET: more connections handed in; the gateway ends when the other side is
 * closed fd 5  configuration, JSON fd 6  events, one JSON object a line
 */
#include "gateway/connection.h"
#include "gateway/harden.h"
#include "gateway/intake.h"
#include "gateway/serve.h"
#include "gateway/tls.h"
#include "gateway/web.h"
#include "util/fd.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <libxml/parser.h>
#include <sys/stat.h>

enum {
        FD_SOCKET = 3,
        FD_CONTROL,
        FD_CONFIG,
        FD_EVENTS,
        FD_FIRST_FREE,
};

#define EVENTS_BEYOND_REQUESTS 4096

/* *ret_socket: the first of them, or -1 where it is closed. Asked before anything else is opened, which
 * could get its number. */
static int check_descriptors(int *ret_socket, struct error *err)
{
        for (int fd = FD_CONTROL; fd < FD_FIRST_FREE; fd++)
                if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
                        return error_set(err, ERROR_USAGE, errno,
                            "it is started by mai-sandbox, with descriptors 3 to 6", "descriptor %d", fd);
        *ret_socket = fcntl(FD_SOCKET, F_SETFD, FD_CLOEXEC) < 0 ? -1 : FD_SOCKET;
        return 0;
}

/* What the environment could say to the libraries (proxies, certificates, resolver options) is not for it to
 * say. */
static int forget_environment(void)
{
        return clearenv() == 0 && setenv("PATH", "/usr/bin:/bin", 1) == 0 ? 0 : -ENOMEM;
}

/* Each library does its global things, files read included, before the doors close. */
static int start_libraries(struct error *err)
{
        xmlInitParser();
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                return error_set(err, ERROR_INTERNAL, 0, NULL, "starting libcurl");
        return 0;
}

/* The host of a connection that begins with TLS. */
static bool admits_host(void *context, const char *host)
{
        const struct gateway *gateway = context;
        return web_lists(gateway->config, true, host, 443);
}

/* What only entries of kind web need. */
static int open_web(struct gateway *gateway, struct error *err)
{
        if (!config_has_web(gateway->config))
                return 0;
        int r = authority_new(&gateway->authority, err);
        if (r == 0 && tls_server_new(gateway->authority, admits_host, gateway, &gateway->tls) < 0)
                r = error_oom(err);
        return r;
}

static int open_gateway(struct gateway *gateway, struct error *err)
{
        const struct gateway_config *config = gateway->config;
        gateway->base = event_base_new();
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
        gateway->upstreams = calloc(config->entry_count, sizeof *gateway->upstreams);
        int r = gateway->base && gateway->upstreams ? budget_init(&gateway->budget, config) : -ENOMEM;
        if (r == 0)
                r = events_new(gateway->base, FD_EVENTS,
                    2 * config->limits.requests + EVENTS_BEYOND_REQUESTS, &gateway->events);
        for (size_t i = 0; r == 0 && i < config->entry_count; i++)
                r = upstream_new(
                    gateway->base, &config->entries[i], &gateway->budget, &gateway->upstreams[i]);
        return r < 0 ? error_set(err, ERROR_INTERNAL, -r, NULL, "setting up the gateway")
                     : open_web(gateway, err);
}

static void close_gateway(struct gateway *gateway)
{
        connection_free_all(gateway);
        for (size_t i = 0; gateway->upstreams && i < gateway->config->entry_count; i++)
                upstream_free(gateway->upstreams[i]);
        free(gateway->upstreams);
        serve_clear(gateway);
        web_clear(gateway);
        tls_server_free(gateway->tls);
        authority_free(gateway->authority);
        listing_clear(&gateway->listing);
        events_free(gateway->events);
        cache_close(gateway->cache);
        budget_clear(&gateway->budget);
        if (gateway->base)
                event_base_free(gateway->base);
}

static void report_ready(struct gateway *gateway, const struct hardening *hardening)
{
        json_t *degraded = json_array();
        if (hardening->landlock_abi == 0)
                (void)json_array_append_new(degraded, json_string("landlock"));
        for (size_t i = 0; i < gateway->config->entry_count; i++)
                if (gateway->config->entries[i].proxy) /* its addresses are the proxy's to vet */
                        (void)json_array_append_new(
                            degraded, json_sprintf("addresses: %s", gateway->config->entries[i].name));
        events_emit(gateway->events,
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:b, s:i, s:o, s:s?}", "event", "ready", "version",
                MAI_VERSION, "uid", (json_int_t)hardening->uid, "gid", (json_int_t)hardening->gid,
                "capabilities", (json_int_t)hardening->capabilities, "no_new_privs", hardening->no_new_privs,
                "seccomp", hardening->seccomp, "landlock_abi", hardening->landlock_abi, "degraded", degraded,
                "authority", gateway->authority ? authority_pem(gateway->authority) : NULL));
}

static void report_end(struct gateway *gateway)
{
        const struct budget *budget = &gateway->budget;
        events_end(gateway->events,
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                "event", "end", "requests", (json_int_t)budget->requests, "served",
                (json_int_t)gateway->verdicts[VERDICT_SERVED], "denied",
                (json_int_t)gateway->verdicts[VERDICT_DENIED], "missing",
                (json_int_t)gateway->verdicts[VERDICT_MISSING], "failed",
                (json_int_t)gateway->verdicts[VERDICT_FAILED], "names", (json_int_t)budget->names,
                "name_bytes", (json_int_t)budget->name_bytes, "misses", (json_int_t)budget->misses,
                "fetches", (json_int_t)budget->fetches, "files", (json_int_t)budget->files, "urls",
                (json_int_t)budget->urls, "url_bytes", (json_int_t)budget->url_bytes, "bytes",
                (json_int_t)budget->bytes, "sent_bytes", (json_int_t)budget->sent_bytes, "received_bytes",
                (json_int_t)budget->received_bytes));
}

static int run(struct error *err)
{
        _cleanup_(config_clear) struct gateway_config config = {};
        _cleanup_(close_gateway) struct gateway gateway = {.config = &config};
        struct hardening hardening = {};
        struct intake *intake = NULL;
        int socket = -1;
        int r = check_descriptors(&socket, err);
        if (r == 0 && forget_environment() < 0)
                r = error_oom(err);
        if (r == 0)
                r = config_read(FD_CONFIG, &config, err);
        if (r == 0)
                r = start_libraries(err);
        if (r == 0)
                r = cache_open(config.cache_directory, config.cache_bytes, getuid() == 0 ? config.uid : 0,
                    config.gid, &gateway.cache, err);
        if (r == 0)
                r = open_gateway(&gateway, err);
        if (r == 0)
                r = harden(&config, cache_directory(gateway.cache), &hardening, err);
        if (r < 0)
                return r;
        (void)close(FD_CONFIG);
        cache_trim(gateway.cache);
        report_ready(&gateway, &hardening);
        r = intake_new(&gateway, socket, FD_CONTROL, &intake);
        if (r < 0)
                return error_set(err, ERROR_INTERNAL, -r, NULL, "taking connections");
        (void)event_base_dispatch(gateway.base);
        intake_free(intake);
        connection_free_all(&gateway);
        report_end(&gateway);
        return 0;
}

int main(int argc, char **argv)
{
        _cleanup_(error_clear) struct error err = {};
        umask(077);
        if (argc == 2 && strcmp(argv[1], "--version") == 0) {
                (void)printf("mai-sandbox-gateway %s\n", MAI_VERSION);
                return 0;
        }
        if (run(&err) < 0) {
                (void)fprintf(stderr, "mai-sandbox-gateway: %s%s%s\n",
                    err.message ? err.message : "out of memory", err.hint ? "; " : "",
                    err.hint ? err.hint : "");
                return 1;
        }
        return 0;
}
