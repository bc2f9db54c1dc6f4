/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/intake.h"

#include "gateway/connection.h"
#include "util/fd.h"

#include <event2/listener.h>

#define MESSAGE_MAX 64

struct intake {
        struct gateway *gateway;
        struct evconnlistener *listener;
        struct event *control;
};

static void on_accept(
    struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size, void *context)
{
        struct intake *intake = context;
        connection_new(intake->gateway, fd);
}

/* A message is a connection or several; what its bytes say does not matter. */
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
                connection_new(intake->gateway, fds[i]);
}

static bool is_listening(int fd)
{
        int on = 0;
        socklen_t size = sizeof on;
        return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == 0 && on;
}

int intake_new(struct gateway *gateway, int socket, int control, struct intake **ret)
{
        struct intake *intake = calloc(1, sizeof *intake);
        if (!intake)
                return -ENOMEM;
        intake->gateway = gateway;
        intake->control = event_new(gateway->base, control, EV_READ | EV_PERSIST, on_control, intake);
        int r = intake->control && event_add(intake->control, NULL) == 0 ? 0 : -ENOMEM;
        if (r == 0 && socket >= 0 && is_listening(socket)) {
                r = evutil_make_socket_nonblocking(socket) < 0 ? -errno : 0;
                intake->listener = r < 0 ? NULL
                                         : evconnlistener_new(gateway->base, on_accept, intake,
                                               LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE, 0, socket);
                if (r == 0 && !intake->listener)
                        r = -EINVAL;
        } else if (r == 0 && socket >= 0) {
                connection_new(gateway, socket);
        }
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
        if (intake->listener)
                evconnlistener_free(intake->listener);
        if (intake->control)
                event_free(intake->control);
        free(intake);
        return NULL;
}
