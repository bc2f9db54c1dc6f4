/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/endpoint.h"

#include "sandbox/text.h"

#define DEFAULT_SOCKET "/var/run/docker.sock"
#define TEXT_SHOWN 512
#define SOCKET_PATH_MAX 107 /* what sockaddr_un takes */

void endpoint_clear(struct endpoint *endpoint)
{
        free(endpoint->text);
        free(endpoint->socket_path);
        free(endpoint->base_url);
        free(endpoint->ca);
        free(endpoint->cert);
        free(endpoint->key);
        *endpoint = (struct endpoint){};
}

/* The directory of client certificates, or NULL: no TLS. Caller frees. */
static int certificate_directory(char **ret, struct error *err)
{
        const char *given = getenv("DOCKER_CERT_PATH");
        const char *verify = getenv("DOCKER_TLS_VERIFY");
        const char *home = getenv("HOME");
        char *path = NULL;
        if (given && given[0])
                path = strdup(given);
        else if (!verify || !verify[0]) {
                *ret = NULL;
                return 0;
        } else if (!home || !home[0])
                return error_set(err, ERROR_BACKEND, 0, "set DOCKER_CERT_PATH",
                    "DOCKER_TLS_VERIFY is set, but neither DOCKER_CERT_PATH nor HOME is");
        else if (asprintf(&path, "%s/.docker", home) < 0)
                path = NULL;
        if (!path)
                return error_oom(err);
        *ret = path;
        return 0;
}

static int find_certificates(struct endpoint *endpoint, struct error *err)
{
        _cleanup_(freep) char *directory = NULL;
        int r = certificate_directory(&directory, err);
        if (r < 0 || !directory)
                return r;
        const struct {
                char **path;
                const char *name;
        } files[] = {{&endpoint->ca, "ca.pem"}, {&endpoint->cert, "cert.pem"}, {&endpoint->key, "key.pem"}};
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                if (asprintf(files[i].path, "%s/%s", directory, files[i].name) < 0) {
                        *files[i].path = NULL;
                        return error_oom(err);
                }
                if (access(*files[i].path, R_OK) < 0)
                        return error_set(err, ERROR_BACKEND, errno,
                            "put ca.pem, cert.pem and key.pem there, or set DOCKER_CERT_PATH",
                            "docker.host: TLS needs %s", *files[i].path);
        }
        return 0;
}

static int find_tcp(const char *address, struct endpoint *endpoint, struct error *err)
{
        size_t size = strcspn(address, "/?#@ ");
        if (size == 0 || (address[size] != '\0' && strcmp(address + size, "/") != 0))
                return error_set(err, ERROR_BACKEND, 0, "give it as tcp://host:port",
                    "docker.host: \"%s\" is no address of an engine", endpoint->text);
        int r = find_certificates(endpoint, err);
        if (r < 0)
                return r;
        bool tls = endpoint->ca != NULL;
        /* Is there a port behind the name or the bracketed address? */
        const char *last = memrchr(address, ':', size);
        const char *bracket = memrchr(address, ']', size);
        bool port = last && (!bracket || last > bracket);
        if (asprintf(&endpoint->base_url, "%s://%.*s%s", tls ? "https" : "http", (int)size, address,
                port  ? ""
                : tls ? ":2376"
                      : ":2375") < 0) {
                endpoint->base_url = NULL;
                return error_oom(err);
        }
        return 0;
}

int endpoint_find(const char *host, struct endpoint *ret, struct error *err)
{
        _cleanup_(endpoint_clear) struct endpoint endpoint = {};
        const char *environment = getenv("DOCKER_HOST");
        const char *text = host && host[0]                 ? host
                           : environment && environment[0] ? environment
                                                           : "unix://" DEFAULT_SOCKET;
        static const char unix_prefix[] = "unix://", tcp_prefix[] = "tcp://";
        char shown[TEXT_SHOWN];
        endpoint.text = strdup(text_escape(text, strlen(text), shown, sizeof shown));
        if (!endpoint.text)
                return error_oom(err);
        if (strncmp(text, unix_prefix, sizeof unix_prefix - 1) == 0) {
                const char *path = text + sizeof unix_prefix - 1;
                if (path[0] != '/' || strlen(path) > SOCKET_PATH_MAX)
                        return error_set(err, ERROR_BACKEND, 0, "give it as unix:///path/of/the.sock",
                            "docker.host: \"%s\" is no path of a socket", endpoint.text);
                endpoint.socket_path = strdup(path);
                endpoint.base_url = strdup("http://engine");
                if (!endpoint.socket_path || !endpoint.base_url)
                        return error_oom(err);
        } else if (strncmp(text, tcp_prefix, sizeof tcp_prefix - 1) == 0) {
                int r = find_tcp(text + sizeof tcp_prefix - 1, &endpoint, err);
                if (r < 0)
                        return r;
        } else {
                return error_set(err, ERROR_BACKEND, 0, "use unix:///path or tcp://host:port",
                    "docker.host: \"%s\" is no address of an engine", endpoint.text);
        }
        *ret = endpoint;
        endpoint = (struct endpoint){};
        return 0;
}
