/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/attach.h"
#include "util/parse.h"

#include <sys/epoll.h>

#define HEAD_MAX 16384U
#define REFUSAL_MAX 16384U

static const char not_an_engine[] = "see docker.host: is it an engine?";
static const char attaching[] = "attaching to the container";

int attach_open(
    struct attach *attach, struct engine *engine, const char *id, uint32_t tag, struct error *err)
{
        attach->engine = engine;
        attach->tag = tag;
        attach->request = (struct strbuf)STRBUF_INIT(4096);
        attach->head = (struct strbuf)STRBUF_INIT(HEAD_MAX);
        attach->refusal = (struct strbuf)STRBUF_INIT(REFUSAL_MAX);
        attach->buffer = malloc(ATTACH_READ_SIZE);
        const char *host = strstr(engine->endpoint->base_url, "//");
        if (!attach->buffer ||
            strbuf_appendf(&attach->request,
                "POST /v1.%u/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\n"
                "Host: %s\r\n"
                "Connection: Upgrade\r\n"
                "Upgrade: tcp\r\n"
                "Content-Length: 0\r\n"
                "\r\n",
                engine->api, id, host ? host + 2 : "engine") < 0)
                return error_oom(err);
        attach->easy = engine_handle(engine, attach->detail);
        if (!attach->easy || curl_easy_setopt(attach->easy, CURLOPT_CONNECT_ONLY, 1L) != CURLE_OK ||
            curl_multi_add_handle(engine->multi, attach->easy) != CURLM_OK)
                return error_oom(err);
        attach->state = ATTACH_CONNECTING;
        return 0;
}

void attach_close(struct attach *attach)
{
        if (attach->socket >= 0)
                (void)epoll_ctl(attach->engine->epoll, EPOLL_CTL_DEL, attach->socket, NULL);
        if (attach->easy) {
                (void)curl_multi_remove_handle(attach->engine->multi, attach->easy);
                curl_easy_cleanup(attach->easy); /* closes the connection */
        }
        strbuf_clear(&attach->request);
        strbuf_clear(&attach->head);
        strbuf_clear(&attach->refusal);
        strbuf_clear(&attach->out);
        free(attach->buffer);
        *attach = (struct attach)ATTACH_INIT;
}

static void watch(struct attach *attach, bool writes)
{
        struct epoll_event event = {
            .events = EPOLLIN | (writes ? (uint32_t)EPOLLOUT : 0U), .data.u64 = (uint64_t)attach->tag << 32};
        if (attach->socket < 0 || attach->watching_writes == writes)
                return;
        attach->watching_writes = writes;
        (void)epoll_ctl(attach->engine->epoll, EPOLL_CTL_MOD, attach->socket, &event);
}

int attach_write(struct attach *attach, const void *data, size_t size)
{
        return strbuf_append(&attach->out, data, size);
}

size_t attach_backlog(const struct attach *attach)
{
        return attach->out.size - attach->out_at;
}

/* Sends from `from`. 1: all sent; 0: the connection takes no more now. */
static int send_some(struct attach *attach, const struct strbuf *from, size_t *at, struct error *err)
{
        while (*at < from->size) {
                size_t sent = 0;
                CURLcode code = curl_easy_send(attach->easy, from->data + *at, from->size - *at, &sent);
                if (code == CURLE_AGAIN)
                        return 0;
                if (code != CURLE_OK)
                        return engine_transfer_failed(
                            attach->easy, code, attach->detail, attach->engine->endpoint, err);
                *at += sent;
        }
        return 1;
}

/* The connection is there once libcurl has its socket; it says so by ending the transfer. */
static int check_connected(struct attach *attach, struct error *err)
{
        curl_socket_t fd = CURL_SOCKET_BAD;
        if (attach->engine->plain_failed == attach->easy) {
                (void)engine_transfer_failed(
                    attach->easy, attach->engine->plain_code, attach->detail, attach->engine->endpoint, err);
                return error_wrap(err, attaching);
        }
        if (curl_easy_getinfo(attach->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD)
                return 0;
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.u64 = (uint64_t)attach->tag << 32};
        if (epoll_ctl(attach->engine->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
                return error_set(err, ERROR_BACKEND, errno, NULL, "watching the container's streams");
        attach->socket = fd;
        attach->watching_writes = true;
        attach->state = ATTACH_HEAD;
        return 0;
}

static int refused(struct attach *attach, struct error *err)
{
        return engine_refusal(attach->status, attach->refusal.data, attach->refusal.size, attaching, err);
}

/* Takes what has come of a refusal's body. Engines send it behind the head, and then close. */
static int take_refusal(struct attach *attach, struct error *err)
{
        size_t room = MIN((size_t)REFUSAL_MAX, attach->refusal_size) - attach->refusal.size;
        if (strbuf_append(&attach->refusal, attach->in, MIN(attach->in_size, room)) < 0)
                return error_oom(err);
        bool whole = attach->in_size >= room;
        attach->in_size = 0;
        return whole ? refused(attach, err) : 0;
}

int attach_late(struct attach *attach, struct error *err)
{
        if (attach->state == ATTACH_REFUSED)
                return refused(attach, err);
        return error_set(err, ERROR_BACKEND, ETIMEDOUT,
            "see whether the engine is overloaded or hangs, or raise docker.call_timeout",
            "docker: %s: the engine at %s does not answer", attaching, attach->engine->endpoint->text);
}

/* What the head of an answer says of the size of its body. */
static size_t body_size(const char *head)
{
        static const char name[] = "\r\ncontent-length:";
        const char *at = strcasestr(head, name);
        int64_t size;
        if (!at || parse_integers(at + sizeof name - 1 + strspn(at + sizeof name - 1, " "), &size, 1) != 1 ||
            size < 0)
                return SIZE_MAX;
        return (size_t)size;
}

/* Takes bytes of the answer's head until it is whole. What is behind it belongs to the stream. */
static int take_head(struct attach *attach, struct error *err)
{
        while (attach->in_size > 0) {
                if (strbuf_append(&attach->head, attach->in, 1) < 0)
                        return error_set(err, ERROR_BACKEND, EBADMSG, not_an_engine,
                            "docker: %s: the engine's answer has no end", attaching);
                attach->in++;
                attach->in_size--;
                const struct strbuf *head = &attach->head;
                if (head->size < 4 || memcmp(head->data + head->size - 4, "\r\n\r\n", 4) != 0)
                        continue;
                /* "HTTP/1.1 101 ..." */
                int64_t status = 0;
                if (head->size < 12 || memcmp(head->data, "HTTP/1.", 7) != 0 ||
                    parse_integers(head->data + 8, &status, 1) != 1)
                        return error_set(err, ERROR_BACKEND, EBADMSG, not_an_engine,
                            "docker: %s: the answer is not HTTP", attaching);
                if (status == 101 || status == 200) {
                        attach->state = ATTACH_OPEN;
                        return 0;
                }
                attach->status = (int)status;
                attach->refusal_size = body_size(strbuf_text(&attach->head));
                attach->state = ATTACH_REFUSED;
                return take_refusal(attach, err);
        }
        return 0;
}

static int receive(struct attach *attach, struct error *err)
{
        size_t got = 0;
        CURLcode code = curl_easy_recv(attach->easy, attach->buffer, ATTACH_READ_SIZE, &got);
        if (code == CURLE_AGAIN)
                return 0;
        if (code != CURLE_OK || got == 0) {
                if (attach->state == ATTACH_REFUSED)
                        return refused(attach, err);
                if (attach->state != ATTACH_OPEN)
                        return error_set(err, ERROR_BACKEND, EPIPE, "see the engine's log",
                            "docker: %s: the engine closed the connection", attaching);
                attach->state = ATTACH_ENDED;
                (void)epoll_ctl(attach->engine->epoll, EPOLL_CTL_DEL, attach->socket, NULL);
                attach->socket = -1;
                return 0;
        }
        attach->in = attach->buffer;
        attach->in_size = got;
        return 1;
}

int attach_process(struct attach *attach, struct error *err)
{
        int r = 0;
        if (attach->state == ATTACH_CONNECTING)
                r = check_connected(attach, err);
        if (r == 0 && attach->state == ATTACH_HEAD) {
                r = send_some(attach, &attach->request, &attach->request_at, err);
                if (r == 1) {
                        watch(attach, false);
                        r = 0;
                }
                while (r == 0 && attach->state == ATTACH_HEAD) {
                        r = receive(attach, err);
                        if (r <= 0)
                                break;
                        r = take_head(attach, err);
                }
        }
        while (r == 0 && attach->state == ATTACH_REFUSED) {
                r = receive(attach, err);
                if (r <= 0)
                        break;
                r = take_refusal(attach, err);
        }
        if (r == 0 && attach->state == ATTACH_OPEN && attach_backlog(attach) > 0) {
                r = send_some(attach, &attach->out, &attach->out_at, err);
                if (r >= 0)
                        watch(attach, r == 0);
                if (r == 1)
                        attach->out.size = attach->out_at = 0;
        }
        return r < 0 ? r : 0;
}

int attach_read(struct attach *attach, enum demux_stream *ret_stream, const char **ret_data,
    size_t *ret_size, struct error *err)
{
        if (attach->state != ATTACH_OPEN)
                return 0;
        for (;;) {
                int r = demux_next(
                    &attach->demux, &attach->in, &attach->in_size, ret_stream, ret_data, ret_size);
                if (r < 0)
                        return error_set(err, ERROR_BACKEND, -r, not_an_engine,
                            "docker: the engine sent a malformed stream");
                if (r > 0)
                        return r;
                r = receive(attach, err);
                if (r <= 0)
                        return r;
        }
}
