/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/waiters.h"

#include "gateway/connection.h"

void waiters_add(struct waiters *waiters, struct connection *connection)
{
        struct waiting *waiting = connection_waiting(connection);
        waiting->list = waiters;
        waiting->next = waiters->first;
        waiters->first = connection;
}

struct connection *waiters_take(struct waiters *waiters)
{
        struct connection *connection = waiters->first;
        if (!connection)
                return NULL;
        struct waiting *waiting = connection_waiting(connection);
        waiters->first = waiting->next;
        *waiting = (struct waiting){};
        return connection;
}

void waiters_forget(struct connection *connection)
{
        struct waiting *waiting = connection_waiting(connection);
        if (!waiting->list)
                return;
        struct connection **at = &waiting->list->first;
        while (*at != connection)
                at = &connection_waiting(*at)->next;
        *at = waiting->next;
        *waiting = (struct waiting){};
}
