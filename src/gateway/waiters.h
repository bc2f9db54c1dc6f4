/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that wait for the same thing. A connection waits for one thing at most. */
#pragma once

struct connection;

struct waiters {
        struct connection *first;
};

/* The connection's place in such a list. */
struct waiting {
        struct waiters *list;
        struct connection *next;
};

void waiters_add(struct waiters *waiters, struct connection *connection);

/* Takes one out, or NULL when there are no more. */
struct connection *waiters_take(struct waiters *waiters);

/* The connection is going away; what it waits for goes on. */
void waiters_forget(struct connection *connection);
