/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/fetch.h"

#include "gateway/url.h"
#include "util/defence.h"

#include <curl/curl.h>
#include <netdb.h>
#include <sys/socket.h>

#define REDIRECTS_MAX 5
#define HEADER_BYTES_MAX (64U << 10)
#define TRANSFERS_MAX 8

struct upstream {
        const struct index_entry *entry;
        struct budget *budget;
        struct event_base *base;
        struct event *timer;
        CURLM *multi;
        struct fetch *fetches;
};

struct fetch {
        struct upstream *upstream;
        struct fetch_request request;
        CURL *easy;
        struct curl_slist *fields;
        char *url;
        char *body;
        unsigned redirects;
        size_t header_bytes;
        bool head_whole; /* libcurl takes a head that breaks off for one that ends */
        uint64_t bytes;
        enum reason reason; /* why we ourselves ended it */
        struct fetch *next, *previous;
};

static struct fetch *fetch_free(struct fetch *fetch)
{
        if (!fetch)
                return NULL;
        if (fetch->easy) {
                (void)curl_multi_remove_handle(fetch->upstream->multi, fetch->easy);
                curl_easy_cleanup(fetch->easy);
        }
        curl_slist_free_all(fetch->fields);
        free(fetch->url);
        free((char *)fetch->request.accept);
        free(fetch->body);
        if (fetch->next)
                fetch->next->previous = fetch->previous;
        if (fetch->previous)
                fetch->previous->next = fetch->next;
        else if (fetch->upstream->fetches == fetch)
                fetch->upstream->fetches = fetch->next;
        free(fetch);
        return NULL;
}

/* ---- What libcurl asks in the course of a transfer ---- */

/*
 * Called with the address that is about to be dialled. No name is looked up again between here and
 * connect(), so there is nothing for a changing name to change.
 */
static curl_socket_t on_open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
        struct fetch *fetch = context;
        const struct index_entry *entry = fetch->upstream->entry;
        bool plain = strncmp(fetch->url, "http:", 5) == 0;
        bool named = address_in(&address->addr, entry->addresses, entry->address_count);
        /* Without TLS only to the networks that the policy names. Behind a proxy the proxy does the vetting.
         */
        bool allowed = entry->proxy || named || (!plain && address_is_public(&address->addr));
        if (!allowed || fetch->reason != REASON_NONE) {
                fetch->reason = REASON_ADDRESS;
                return CURL_SOCKET_BAD;
        }
        return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t on_header(char *data, size_t one, size_t size, void *context)
{
        struct fetch *fetch = context;
        fetch->header_bytes += size;
        if (size > 5 && memcmp(data, "HTTP/", 5) == 0)
                fetch->head_whole = false;
        else if (size == 2 && memcmp(data, "\r\n", 2) == 0)
                fetch->head_whole = true;
        if (fetch->header_bytes > HEADER_BYTES_MAX) {
                fetch->reason = REASON_TOO_LARGE;
                return 0;
        }
        if (fetch->request.field)
                fetch->request.field(fetch->request.context, data, size);
        return size;
}

static size_t on_data(char *data, size_t one, size_t size, void *context)
{
        struct fetch *fetch = context;
        long status = 0;
        fetch->reason = budget_bytes(fetch->upstream->budget, fetch->upstream->entry, size);
        fetch->bytes += size;
        if (fetch->reason == REASON_NONE && fetch->bytes > fetch->request.max_bytes)
                fetch->reason = REASON_TOO_LARGE;
        (void)curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
        if (fetch->reason == REASON_NONE && (status == 200 || fetch->request.as_is))
                fetch->reason = fetch->request.take(fetch->request.context, data, size);
        return fetch->reason == REASON_NONE ? size : 0;
}

/* ---- Beginning ---- */

static int add_raw_field(struct fetch *fetch, const char *field)
{
        struct curl_slist *longer = curl_slist_append(fetch->fields, field);
        if (!longer)
                return -ENOMEM;
        fetch->fields = longer;
        return 0;
}

static int add_field(struct fetch *fetch, const char *name, const char *value)
{
        _cleanup_(freep) char *field = NULL;
        if (asprintf(&field, "%s: %s", name, value) < 0) {
                field = NULL;
                return -ENOMEM;
        }
        return add_raw_field(fetch, field);
}

/* Credentials go to the host of the index and to no other. */
static bool is_own_host(const struct fetch *fetch)
{
        _cleanup_(freep) char *origin = NULL;
        return url_origin(fetch->url, &origin) == 0 &&
               strcmp(origin, fetch->upstream->entry->origins[0]) == 0;
}

/* Puts the handle's options anew: for the first request and for each redirect. */
static int prepare(struct fetch *fetch)
{
        const struct index_entry *entry = fetch->upstream->entry;
        const struct gateway_limits *limits = &fetch->upstream->budget->config->limits;
        CURL *easy = fetch->easy;
        CURLcode bad = CURLE_OK;

        curl_easy_reset(easy);
        curl_slist_free_all(fetch->fields);
        fetch->fields = NULL;
        fetch->header_bytes = 0;
        fetch->head_whole = false;
        int r = add_field(fetch, "Accept", fetch->request.accept ? fetch->request.accept : "*/*");
#define SET(option, value) bad = bad != CURLE_OK ? bad : curl_easy_setopt(easy, option, value)
        SET(CURLOPT_URL, fetch->url);
        SET(CURLOPT_PROTOCOLS_STR, "http,https");
        SET(CURLOPT_REDIR_PROTOCOLS_STR, "https");
        SET(CURLOPT_FOLLOWLOCATION, 0L);
        SET(CURLOPT_HTTPGET, 1L);
        SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        SET(CURLOPT_NOSIGNAL, 1L);
        SET(CURLOPT_USERAGENT, "mai-sandbox-gateway/" MAI_VERSION);
        SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
        SET(CURLOPT_PROXY, entry->proxy ? entry->proxy : ""); /* "": whatever the environment says */
        SET(CURLOPT_NOPROXY, "");
        SET(CURLOPT_SSL_VERIFYPEER, DEFENCE("web-verify") ? 1L : 0L);
        SET(CURLOPT_SSL_VERIFYHOST, DEFENCE("web-verify") ? 2L : 0L);
        SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
        struct curl_blob bundle = {entry->ca_data, entry->ca_size, CURL_BLOB_NOCOPY};
        SET(CURLOPT_CAINFO_BLOB, &bundle);
        SET(CURLOPT_PROXY_CAINFO_BLOB, &bundle);
        SET(CURLOPT_CAPATH, NULL);
        SET(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
        SET(CURLOPT_CONNECTTIMEOUT, (long)limits->connect_seconds);
        SET(CURLOPT_TIMEOUT, (long)limits->fetch_seconds);
        SET(CURLOPT_LOW_SPEED_LIMIT, (long)limits->stall_rate);
        SET(CURLOPT_LOW_SPEED_TIME, (long)limits->stall_seconds);
        SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)MIN(fetch->request.max_bytes, (uint64_t)INT64_MAX));
        SET(CURLOPT_ACCEPT_ENCODING, fetch->request.compressed ? "gzip" : NULL);
        SET(CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
        SET(CURLOPT_OPENSOCKETDATA, fetch);
        SET(CURLOPT_HEADERFUNCTION, on_header);
        SET(CURLOPT_HEADERDATA, fetch);
        SET(CURLOPT_WRITEFUNCTION, on_data);
        SET(CURLOPT_WRITEDATA, fetch);
        SET(CURLOPT_PRIVATE, fetch);
        if (fetch->request.head)
                SET(CURLOPT_NOBODY, 1L);
        if (fetch->body) {
                SET(CURLOPT_POST, 1L);
                SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)fetch->request.body_size);
                SET(CURLOPT_POSTFIELDS, fetch->body);
                if (r == 0)
                        r = add_field(fetch, "Content-Type", fetch->request.body_type);
                if (r == 0)
                        r = add_raw_field(fetch, "Expect:"); /* none */
        }
        if (is_own_host(fetch) && entry->login) {
                SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
                SET(CURLOPT_USERPWD, entry->login);
        }
        if (is_own_host(fetch) && entry->token && r == 0) {
                _cleanup_(freep) char *bearer = NULL;
                if (asprintf(&bearer, "Bearer %s", entry->token) < 0)
                        bearer = NULL;
                r = bearer ? add_field(fetch, "Authorization", bearer) : -ENOMEM;
        }
        SET(CURLOPT_HTTPHEADER, fetch->fields);
#undef SET
        return bad != CURLE_OK ? -EINVAL : r;
}

/* The request as it is now, first or redirected, goes out. */
static enum reason send_out(struct fetch *fetch)
{
        if (!entry_reaches(fetch->upstream->entry, fetch->url))
                return REASON_REDIRECT;
        enum reason reason = budget_fetch(fetch->upstream->budget);
        if (reason != REASON_NONE)
                return reason;
        if (prepare(fetch) < 0 || curl_multi_add_handle(fetch->upstream->multi, fetch->easy) != CURLM_OK)
                return REASON_INTERNAL;
        return REASON_NONE;
}

enum reason fetch_start(struct upstream *upstream, const struct fetch_request *request)
{
        struct fetch *fetch = calloc(1, sizeof *fetch);
        if (!fetch)
                return REASON_INTERNAL;
        fetch->upstream = upstream;
        fetch->request = *request;
        fetch->request.accept = request->accept ? strdup(request->accept) : NULL;
        fetch->url = strdup(request->url);
        if (request->body) {
                fetch->body = malloc(request->body_size + 1);
                if (fetch->body)
                        memcpy(fetch->body, request->body, request->body_size);
        }
        fetch->easy = curl_easy_init();
        fetch->next = upstream->fetches;
        if (fetch->next)
                fetch->next->previous = fetch;
        upstream->fetches = fetch;
        enum reason reason =
            fetch->url && fetch->easy && !request->body == !fetch->body ? send_out(fetch) : REASON_INTERNAL;
        if (reason != REASON_NONE)
                fetch_free(fetch);
        return reason;
}

/* ---- Ending ---- */

static const struct {
        CURLcode code;
        enum reason reason;
} failures[] = {
    {CURLE_PEER_FAILED_VERIFICATION, REASON_TLS},
    {CURLE_SSL_CONNECT_ERROR, REASON_TLS},
    {CURLE_SSL_CIPHER, REASON_TLS},
    {CURLE_SSL_ISSUER_ERROR, REASON_TLS},
    {CURLE_SSL_INVALIDCERTSTATUS, REASON_TLS},
    {CURLE_OPERATION_TIMEDOUT, REASON_TIMEOUT},
    {CURLE_FILESIZE_EXCEEDED, REASON_TOO_LARGE},
    {CURLE_OUT_OF_MEMORY, REASON_INTERNAL},
};

static enum reason reason_of(const struct fetch *fetch, CURLcode code, long status)
{
        if (fetch->reason != REASON_NONE && code != CURLE_OK)
                return fetch->reason;
        for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
                if (failures[i].code == code)
                        return failures[i].reason;
        if (code != CURLE_OK)
                return REASON_UPSTREAM;
        if (fetch->request.as_is)
                return REASON_NONE;
        if (status == 404 || status == 410)
                return REASON_MISSING;
        return status == 200 ? REASON_NONE : REASON_UPSTREAM;
}

/* Whether the transfer goes on at another place. A refusal to do so is left in fetch->reason. */
static bool redirect(struct fetch *fetch, long status)
{
        static const long statuses[] = {301, 302, 303, 307, 308};
        bool known = false;
        for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
                known |= statuses[i] == status;
        if (!known)
                return false;
        char *target = NULL, *url = NULL, *fragment = NULL;
        (void)curl_easy_getinfo(fetch->easy, CURLINFO_REDIRECT_URL, &target);
        fetch->reason = REASON_REDIRECT;
        if (!target || ++fetch->redirects > REDIRECTS_MAX || url_resolve(NULL, target, &url, &fragment) < 0)
                return false;
        free(fragment);
        /* From TLS to no TLS never: the origins of an entry all have its own scheme. */
        free(fetch->url);
        fetch->url = url;
        fetch->bytes = 0;
        (void)curl_multi_remove_handle(fetch->upstream->multi, fetch->easy);
        fetch->reason = send_out(fetch);
        return fetch->reason == REASON_NONE;
}

static void finish(struct fetch *fetch, CURLcode code)
{
        long status = 0;
        char *media_type = NULL;
        (void)curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
        if (code == CURLE_OK && !fetch->head_whole)
                code = CURLE_PARTIAL_FILE;
        if (code == CURLE_OK && !fetch->request.as_is && redirect(fetch, status))
                return;
        struct fetch_end end = {.url = fetch->url, .bytes = fetch->bytes, .status = status, .length = -1};
        if (fetch->request.as_is) {
                curl_off_t length = -1;
                (void)curl_easy_getinfo(fetch->easy, CURLINFO_REDIRECT_URL, (char **)&end.redirect);
                (void)curl_easy_getinfo(fetch->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
                end.length = length;
        }
        end.reason = fetch->reason != REASON_NONE ? fetch->reason : reason_of(fetch, code, status);
        (void)curl_easy_getinfo(fetch->easy, CURLINFO_CONTENT_TYPE, &media_type);
        end.media_type = media_type;
        void (*done)(void *, const struct fetch_end *) = fetch->request.done;
        done(fetch->request.context, &end);
        fetch_free(fetch);
}

static void finish_all(struct upstream *upstream)
{
        int left;
        for (CURLMsg *message = curl_multi_info_read(upstream->multi, &left); message;
             message = curl_multi_info_read(upstream->multi, &left)) {
                struct fetch *fetch = NULL;
                CURLcode code = message->data.result;
                if (message->msg != CURLMSG_DONE)
                        continue;
                (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&fetch);
                finish(fetch, code);
        }
}

/* ---- The event loop ---- */

static void on_timer(evutil_socket_t fd, short what, void *context)
{
        struct upstream *upstream = context;
        int running;
        (void)curl_multi_socket_action(upstream->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        finish_all(upstream);
}

static void on_ready(evutil_socket_t fd, short what, void *context)
{
        struct upstream *upstream = context;
        int running;
        int flags = (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0);
        (void)curl_multi_socket_action(upstream->multi, fd, flags, &running);
        finish_all(upstream);
}

static int on_timer_change(CURLM *multi, long milliseconds, void *context)
{
        struct upstream *upstream = context;
        if (milliseconds < 0)
                return event_del(upstream->timer);
        struct timeval time = {milliseconds / 1000, (milliseconds % 1000) * 1000};
        return event_add(upstream->timer, &time);
}

static int on_socket_change(CURL *easy, curl_socket_t fd, int wanted, void *context, void *socket_context)
{
        struct upstream *upstream = context;
        struct event *event = socket_context;
        if (event)
                event_free(event);
        (void)curl_multi_assign(upstream->multi, fd, NULL);
        if (wanted == CURL_POLL_REMOVE)
                return 0;
        short what = (short)(EV_PERSIST | (wanted & CURL_POLL_IN ? EV_READ : 0) |
                             (wanted & CURL_POLL_OUT ? EV_WRITE : 0));
        event = event_new(upstream->base, fd, what, on_ready, upstream);
        if (!event || event_add(event, NULL) < 0) {
                if (event)
                        event_free(event);
                return -1;
        }
        (void)curl_multi_assign(upstream->multi, fd, event);
        return 0;
}

int upstream_new(
    struct event_base *base, const struct index_entry *entry, struct budget *budget, struct upstream **ret)
{
        struct upstream *upstream = calloc(1, sizeof *upstream);
        if (!upstream)
                return -ENOMEM;
        *upstream = (struct upstream){.entry = entry, .budget = budget, .base = base};
        upstream->timer = event_new(base, -1, EV_TIMEOUT, on_timer, upstream);
        upstream->multi = curl_multi_init();
        if (!upstream->timer || !upstream->multi) {
                upstream_free(upstream);
                return -ENOMEM;
        }
        (void)curl_multi_setopt(upstream->multi, CURLMOPT_SOCKETFUNCTION, on_socket_change);
        (void)curl_multi_setopt(upstream->multi, CURLMOPT_SOCKETDATA, upstream);
        (void)curl_multi_setopt(upstream->multi, CURLMOPT_TIMERFUNCTION, on_timer_change);
        (void)curl_multi_setopt(upstream->multi, CURLMOPT_TIMERDATA, upstream);
        (void)curl_multi_setopt(upstream->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)TRANSFERS_MAX);
        (void)curl_multi_setopt(upstream->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
        *ret = upstream;
        return 0;
}

struct upstream *upstream_free(struct upstream *upstream)
{
        if (!upstream)
                return NULL;
        while (upstream->fetches)
                fetch_free(upstream->fetches);
        if (upstream->multi)
                (void)curl_multi_cleanup(upstream->multi);
        if (upstream->timer)
                event_free(upstream->timer);
        free(upstream);
        return NULL;
}
