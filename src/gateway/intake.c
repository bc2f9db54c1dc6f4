/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/intake.h"

#include "gateway/connection.h"
#include "util/fd.h"

#include <event2/listener.h>

#define MESSAGE_MAX 64
#define LISTENERS_MAX 4

struct intake {
        struct gateway *gateway;
        struct evconnlistener *listeners[LISTENERS_MAX];
        size_t listener_count;
        struct event *control;
};

static void on_accept(
    struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size, void *context)
{
        struct intake *intake = context;
        connection_new(intake->gateway, fd);
}

static bool is_listening(int fd)
{
        int on = 0;
        socklen_t size = sizeof on;
        return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == 0 && on;
}

/* A listening socket, or one connection. Takes it over, also on failure. */
static int take_in(struct intake *intake, int fd)
{
        if (!is_listening(fd)) {
                connection_new(intake->gateway, fd);
                return 0;
        }
        struct evconnlistener *listener = NULL;
        if (intake->listener_count < LISTENERS_MAX && evutil_make_socket_nonblocking(fd) == 0)
                listener = evconnlistener_new(intake->gateway->base, on_accept, intake,
                    LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE, 0, fd);
        if (!listener) {
                (void)close(fd);
                return -EINVAL;
        }
        intake->listeners[intake->listener_count++] = listener;
        return 0;
}

/* What comes with a message is taken in; what its bytes say does not matter. */
static void on_control(evutil_socket_t fd, short what, void *context)
{
        struct intake *intake = context;
        char message[MESSAGE_MAX];
        int fds[FD_PASS_MAX];
        size_t count = 0;
        ssize_t n = fd_receive(fd, message, sizeof message, fds, &count, NULL, MSG_DONTWAIT);
        if (n == -EAGAIN || n == -EINTR || n == -EMSGSIZE)
                return;
        if (n <= 0) {
                (void)event_base_loopbreak(intake->gateway->base);
                return;
        }
        for (size_t i = 0; i < count; i++)
                (void)take_in(intake, fds[i]);
}

int intake_new(struct gateway *gateway, int socket, int control, struct intake **ret)
{
        struct intake *intake = calloc(1, sizeof *intake);
        if (!intake)
                return -ENOMEM;
        intake->gateway = gateway;
        intake->control = event_new(gateway->base, control, EV_READ | EV_PERSIST, on_control, intake);
        int r = intake->control && event_add(intake->control, NULL) == 0 ? 0 : -ENOMEM;
        if (r == 0 && socket >= 0)
                r = take_in(intake, socket);
        if (r < 0) {
                intake_free(intake);
                return r;
        }
        *ret = intake;
        return 0;
}

struct intake *intake_free(struct intake *intake)
{
        if (!intake)
                return NULL;
        for (size_t i = 0; i < intake->listener_count; i++)
                evconnlistener_free(intake->listeners[i]);
        if (intake->control)
                event_free(intake->control);
        free(intake);
        return NULL;
}
