/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong with a call of the engine, in words for the person who has to mend it. */
#include "sandbox/docker/engine.h"

#include "sandbox/text.h"

#include <jansson.h>

/* Of an answer that is no JSON its start is shown: it says whose page it is. */
#define PAGE_SHOWN 256U

const char *engine_words(const char *text, size_t size, char *buffer, size_t buffer_size)
{
        char line[ENGINE_WORDS_MAX] = "";
        size_t length = MIN(text ? strnlen(text, size) : 0, sizeof line);
        for (size_t i = 0; i < length; i++)
                line[i] = (char)(strchr("\r\n\t", text[i]) ? ' ' : text[i]);
        while (length > 0 && line[length - 1] == ' ')
                length--;
        return text_escape(line, length, buffer, buffer_size);
}

/* ---- There was no answer ---- */

static int no_connection(CURL *easy, const struct endpoint *endpoint, struct error *err)
{
        long errnum = 0;
        (void)curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &errnum);
        if (errnum == EACCES || errnum == EPERM)
                return error_set(err, ERROR_BACKEND, (int)errnum,
                    "run as a user who may use that socket (group docker), or set docker.host",
                    "docker: connecting to %s", endpoint->text);
        if (errnum == 0)
                errnum =
                    endpoint->socket_path && access(endpoint->socket_path, F_OK) < 0 ? errno : ECONNREFUSED;
        return error_set(err, ERROR_BACKEND, (int)errnum,
            "start the Docker engine, or set docker.host or DOCKER_HOST to where it listens",
            "docker: no engine listens on %s", endpoint->text);
}

enum transfer_fault {
        FAULT_BROKEN, /* what the table does not name */
        FAULT_UNREACHABLE,
        FAULT_LATE,
        FAULT_MEMORY,
        FAULT_TLS,
        FAULT_TOO_LARGE,
        FAULT_NOT_HTTP,
};

static const struct {
        CURLcode code;
        enum transfer_fault fault;
} faults[] = {
    {CURLE_COULDNT_CONNECT, FAULT_UNREACHABLE},
    {CURLE_OPERATION_TIMEDOUT, FAULT_LATE},
    {CURLE_OUT_OF_MEMORY, FAULT_MEMORY},
    {CURLE_PEER_FAILED_VERIFICATION, FAULT_TLS},
    {CURLE_SSL_CERTPROBLEM, FAULT_TLS},
    {CURLE_SSL_CACERT_BADFILE, FAULT_TLS},
    {CURLE_SSL_CONNECT_ERROR, FAULT_TLS},
    {CURLE_SSL_CIPHER, FAULT_TLS},
    {CURLE_SSL_ISSUER_ERROR, FAULT_TLS},
    {CURLE_WRITE_ERROR, FAULT_TOO_LARGE}, /* our own receiver refused */
    {CURLE_UNSUPPORTED_PROTOCOL, FAULT_NOT_HTTP},
    {CURLE_WEIRD_SERVER_REPLY, FAULT_NOT_HTTP},
};

int engine_transfer_failed(
    CURL *easy, CURLcode code, const char *detail, const struct endpoint *endpoint, struct error *err)
{
        enum transfer_fault fault = FAULT_BROKEN;
        for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
                if (faults[i].code == code)
                        fault = faults[i].fault;
        char words[CURL_ERROR_SIZE + 8];
        if (!detail || !detail[0])
                detail = curl_easy_strerror(code);
        (void)engine_words(detail, CURL_ERROR_SIZE, words, sizeof words);
        switch (fault) {
        case FAULT_UNREACHABLE:
                return no_connection(easy, endpoint, err);
        case FAULT_LATE:
                return error_set(err, ERROR_BACKEND, ETIMEDOUT,
                    "see whether the engine is overloaded or hangs, or raise docker.call_timeout",
                    "docker: the engine at %s does not answer", endpoint->text);
        case FAULT_MEMORY:
                return error_oom(err);
        case FAULT_TLS:
                return error_set(err, ERROR_BACKEND, 0,
                    "see ca.pem, cert.pem and key.pem in DOCKER_CERT_PATH, and whether the engine speaks "
                    "TLS",
                    "docker: TLS with the engine at %s failed: %s", endpoint->text, words);
        case FAULT_TOO_LARGE:
                return error_set(err, ERROR_BACKEND, EMSGSIZE, "see docker.host: is it an engine?",
                    "docker: an answer of the engine at %s", endpoint->text);
        case FAULT_NOT_HTTP:
                return error_set(err, ERROR_BACKEND, EBADMSG, "see docker.host: is it an engine?",
                    "docker: what listens on %s speaks no HTTP", endpoint->text);
        case FAULT_BROKEN:
                break;
        }
        return error_set(err, ERROR_BACKEND, 0,
            endpoint->ca ? "see whether the engine was stopped, or does not take the certificate in "
                           "DOCKER_CERT_PATH"
                         : "see whether the engine was stopped, and whether docker.host is one without TLS",
            "docker: the connection to the engine at %s broke: %s", endpoint->text, words);
}

/* ---- The answer was no success ---- */

/* The fix that an HTTP status suggests; the engine's own words stand before it. */
static const char *status_hint(int status)
{
        if (status == 400)
                return "see whether this engine supports what is asked for: Docker 19.03 or newer does";
        if (status >= 300 && status < 400)
                return "see docker.host: an engine does not redirect";
        if (status == 401 || status == 403)
                return "see docker.host: this engine wants an authorisation that is not supported";
        if (status >= 500)
                return "see the engine's log";
        return "see whether somebody else works on this engine's containers and images";
}

int engine_refusal(int status, const char *body, size_t size, const char *what, struct error *err)
{
        json_error_t ignored;
        json_t *answer = size > 0 ? json_loadb(body, size, 0, &ignored) : NULL;
        const char *message = json_string_value(json_object_get(answer, "message"));
        char words[ENGINE_WORDS_MAX];
        if (message)
                (void)engine_words(message, strlen(message), words, sizeof words);
        else
                (void)engine_words(body, MIN(size, PAGE_SHOWN), words, sizeof words);
        json_decref(answer);
        return error_set(err, ERROR_BACKEND, 0, status_hint(status),
            "docker: %s: the engine says: %s (status %d)", what, words, status);
}

int engine_refused(const struct engine_reply *reply, const char *what, struct error *err)
{
        if (reply->status != 0)
                return engine_refusal(reply->status, reply->body, reply->size, what, err);
        int r = reply->error->errnum ? -reply->error->errnum : -EINVAL;
        if (err) {
                error_move(err, reply->error);
                (void)error_wrap(err, "%s", what);
        }
        return r;
}
