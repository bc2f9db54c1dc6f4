/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/engine.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "util/clock.h"
#include "util/parse.h"

/* The largest answer that is read: an engine has no reason to send more, and could be anybody. */
#define ANSWER_MAX (16U << 20)
#define CONNECT_MSEC 10000L

struct call {
        struct call *next; /* of the engine's calls */
        struct engine *engine;
        CURL *easy;
        struct curl_slist *headers;
        struct strbuf answer;
        unsigned api;
        bool head_whole; /* libcurl takes a head that breaks off for one that ends */
        char detail[CURL_ERROR_SIZE];
        engine_data *data;
        engine_done *done;
        void *user;
};

/* ---- libcurl's descriptors and time-outs, in the caller's epoll set ---- */

/* `user` holds the tag: the set is shared with descriptors that are not ours. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
        struct engine *engine = user;
        struct epoll_event event = {
            .events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U),
            .data.u64 = (uint64_t)engine->tag << 32 | (uint32_t)fd,
        };
        if (what == CURL_POLL_REMOVE)
                (void)epoll_ctl(engine->epoll, EPOLL_CTL_DEL, fd, NULL);
        else if (epoll_ctl(engine->epoll, EPOLL_CTL_MOD, fd, &event) < 0)
                (void)epoll_ctl(engine->epoll, EPOLL_CTL_ADD, fd, &event);
        return 0;
}

static int on_timer(CURLM *multi, long msec, void *user)
{
        struct engine *engine = user;
        /* A time of 0 would disarm the timer; and this may not call back into libcurl. */
        struct itimerspec when = {};
        if (msec > 0) {
                when.it_value.tv_sec = msec / 1000;
                when.it_value.tv_nsec = (msec % 1000) * 1000000L;
        } else if (msec == 0) {
                when.it_value.tv_nsec = 1;
        }
        (void)timerfd_settime(engine->timer, 0, &when, NULL);
        return 0;
}

int engine_open(struct engine *engine, const struct endpoint *endpoint, int epoll, uint32_t tag,
    long call_msec, struct error *err)
{
        struct engine opened = {
            .endpoint = endpoint, .epoll = epoll, .tag = tag, .timer = -1, .call_msec = call_msec};
        opened.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        struct epoll_event event = {
            .events = EPOLLIN, .data.u64 = (uint64_t)tag << 32 | (uint32_t)opened.timer};
        if (opened.timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, opened.timer, &event) < 0) {
                closep(&opened.timer);
                return error_set(err, ERROR_BACKEND, errno, "raise the open files limit (ulimit -n)",
                    "opening descriptors");
        }
        opened.multi = curl_multi_init();
        if (!opened.multi) {
                closep(&opened.timer);
                return error_oom(err);
        }
        *engine = opened;
        (void)curl_multi_setopt(engine->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        (void)curl_multi_setopt(engine->multi, CURLMOPT_SOCKETDATA, engine);
        (void)curl_multi_setopt(engine->multi, CURLMOPT_TIMERFUNCTION, on_timer);
        (void)curl_multi_setopt(engine->multi, CURLMOPT_TIMERDATA, engine);
        return 0;
}

/* ---- One call ---- */

static void call_end(struct call *call)
{
        for (struct call **at = &call->engine->first; *at; at = &(*at)->next)
                if (*at == call) {
                        *at = call->next;
                        break;
                }
        if (call->easy) {
                (void)curl_multi_remove_handle(call->engine->multi, call->easy);
                curl_easy_cleanup(call->easy);
        }
        curl_slist_free_all(call->headers);
        strbuf_clear(&call->answer);
        free(call);
}

static size_t on_body(char *data, size_t one, size_t size, void *user)
{
        struct call *call = user;
        long status = 0;
        int r;
        (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        if (call->data && status == 200)
                r = call->data(call->user, data, size);
        else
                r = strbuf_append(&call->answer, data, size);
        return r != 0 ? 0 : size; /* 0: libcurl gives up */
}

/* The value of a line of an answer's head, if it is of that name; else NULL. */
static const char *head_value(const char *line, const char *name)
{
        size_t size = strlen(name);
        if (strncasecmp(line, name, size) != 0 || line[size] != ':')
                return NULL;
        return line + size + 1 + strspn(line + size + 1, " ");
}

/* "Api-Version: 1.41": the minor version; "Server: Docker/20.10.24 (linux)": the first word. */
static size_t on_head(char *data, size_t one, size_t size, void *user)
{
        struct call *call = user;
        char line[128];
        if (size > 5 && memcmp(data, "HTTP/", 5) == 0)
                call->head_whole = false;
        else if (size == 2 && memcmp(data, "\r\n", 2) == 0)
                call->head_whole = true;
        (void)snprintf(line, sizeof line, "%.*s", (int)MIN(size, sizeof line - 1), data);
        const char *value = head_value(line, "api-version");
        int64_t minor;
        if (value && strncmp(value, "1.", 2) == 0 && parse_integers(value + 2, &minor, 1) == 1 &&
            minor >= 0 && minor < UINT16_MAX)
                call->api = (unsigned)minor;
        value = head_value(line, "server");
        if (value) {
                char *server = call->engine->server;
                (void)snprintf(
                    server, sizeof call->engine->server, "%.*s", (int)strcspn(value, " \r\n"), value);
                for (char *at = server; *at; at++)
                        if (*at < '!' || *at > '~')
                                *at = '?';
        }
        return size;
}

CURL *engine_handle(struct engine *engine, char *detail)
{
        const struct endpoint *endpoint = engine->endpoint;
        CURL *easy = curl_easy_init();
        if (!easy)
                return NULL;
        bool good = curl_easy_setopt(easy, CURLOPT_URL, endpoint->base_url) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail) == CURLE_OK &&
                    curl_easy_setopt(
                        easy, CURLOPT_CONNECTTIMEOUT_MS, MIN(CONNECT_MSEC, engine->call_msec)) == CURLE_OK &&
                    /* An engine is where docker.host says: no proxy of the environment, no way round. */
                    curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
        if (good && endpoint->socket_path)
                good = curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint->socket_path) == CURLE_OK;
        if (good && endpoint->ca)
                good = curl_easy_setopt(easy, CURLOPT_CAINFO, endpoint->ca) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_SSLCERT, endpoint->cert) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_SSLKEY, endpoint->key) == CURLE_OK &&
                       /* Or a locked key would be asked for on the terminal. */
                       curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "") == CURLE_OK;
        if (!good) {
                curl_easy_cleanup(easy);
                return NULL;
        }
        return easy;
}

static bool prepare(struct call *call, const struct engine_request *request)
{
        struct engine *engine = call->engine;
        _cleanup_(strbuf_clear) struct strbuf url = STRBUF_INIT(8192);
        if (strbuf_append_text(&url, engine->endpoint->base_url) < 0 ||
            (!request->bare && strbuf_appendf(&url, "/v1.%u", engine->api) < 0) ||
            strbuf_append_text(&url, request->path) < 0)
                return false;
        call->easy = engine_handle(engine, call->detail);
        if (!call->easy)
                return false;
        CURL *easy = call->easy;
        bool good =
            curl_easy_setopt(easy, CURLOPT_URL, strbuf_text(&url)) == CURLE_OK &&
            curl_easy_setopt(easy, CURLOPT_PRIVATE, call) == CURLE_OK &&
            curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
            curl_easy_setopt(easy, CURLOPT_WRITEDATA, call) == CURLE_OK &&
            curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head) == CURLE_OK &&
            curl_easy_setopt(easy, CURLOPT_HEADERDATA, call) == CURLE_OK &&
            (request->data
                    ? curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, ENGINE_STALL_SEC) == CURLE_OK &&
                          curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L) == CURLE_OK
                    : curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                          request->limit_msec > 0 ? request->limit_msec : engine->call_msec) == CURLE_OK);
        if (good && (request->body || strcmp(request->method, "POST") == 0)) {
                char type[128];
                (void)snprintf(type, sizeof type, "Content-Type: %s",
                    request->content_type ? request->content_type : "application/json");
                call->headers = curl_slist_append(NULL, type);
                /* No "Expect: 100-continue": it costs a round trip, and nobody asks. */
                struct curl_slist *longer =
                    call->headers ? curl_slist_append(call->headers, "Expect:") : NULL;
                good = longer && curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers) == CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size) ==
                           CURLE_OK &&
                       curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body ? request->body : "") ==
                           CURLE_OK;
        }
        return good && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK;
}

int engine_call(struct engine *engine, const struct engine_request *request, struct error *err)
{
        struct call *call = malloc(sizeof *call);
        if (!call)
                return error_oom(err);
        *call = (struct call){
            .engine = engine,
            .answer = STRBUF_INIT(ANSWER_MAX),
            .data = request->data,
            .done = request->done,
            .user = request->user,
        };
        if (!prepare(call, request) || curl_multi_add_handle(engine->multi, call->easy) != CURLM_OK) {
                call_end(call);
                return error_oom(err);
        }
        call->next = engine->first;
        engine->first = call;
        engine->calls++;
        return 0;
}

/* ---- Ends ---- */

static void finish(struct engine *engine, CURL *easy, CURLcode code)
{
        struct call *call = NULL;
        (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&call);
        if (!call) {
                /* A plain connection: whoever made it looks after it. */
                if (code != CURLE_OK) {
                        engine->plain_failed = easy;
                        engine->plain_code = code;
                }
                return;
        }
        _cleanup_(error_clear) struct error err = {};
        long status = 0;
        if (code == CURLE_OK && !call->head_whole)
                code = CURLE_PARTIAL_FILE;
        if (code == CURLE_OK)
                (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        else
                (void)engine_transfer_failed(easy, code, call->detail, engine->endpoint, &err);
        const struct engine_reply reply = {
            .status = (int)status,
            .body = strbuf_text(&call->answer),
            .size = call->answer.size,
            .api = call->api,
            .error = &err,
        };
        engine->calls--;
        call->done(call->user, &reply);
        call_end(call);
}

void engine_process(struct engine *engine, int fd, uint32_t events)
{
        int running;
        if (fd == engine->timer) {
                uint64_t expirations;
                (void)read(fd, &expirations, sizeof expirations);
                fd = -1;
        }
        int mask = (events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                   (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) | (events & EPOLLERR ? CURL_CSELECT_ERR : 0);
        (void)curl_multi_socket_action(
            engine->multi, fd < 0 ? CURL_SOCKET_TIMEOUT : fd, fd < 0 ? 0 : mask, &running);
        CURLMsg *message;
        int left;
        while ((message = curl_multi_info_read(engine->multi, &left)) != NULL)
                if (message->msg == CURLMSG_DONE)
                        finish(engine, message->easy_handle, message->data.result);
}

void engine_settle(struct engine *engine, unsigned msec)
{
        uint64_t deadline = clock_now() + msec * NSEC_PER_MSEC;
        while (engine->calls > 0) {
                uint64_t now = clock_now();
                struct epoll_event ready;
                if (now >= deadline)
                        return;
                int n = epoll_wait(engine->epoll, &ready, 1, (int)((deadline - now) / NSEC_PER_MSEC) + 1);
                if (n > 0 && ready.data.u64 >> 32 == engine->tag)
                        engine_process(engine, (int)(uint32_t)ready.data.u64, ready.events);
                else if (n > 0 || (n < 0 && errno != EINTR))
                        return; /* somebody else's descriptor: not to be waited for here */
        }
}

void engine_close(struct engine *engine)
{
        if (engine->multi) {
                while (engine->first)
                        call_end(engine->first);
                (void)curl_multi_cleanup(engine->multi);
        }
        close_and_forget(&engine->timer);
        *engine = (struct engine)ENGINE_INIT;
}
