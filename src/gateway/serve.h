/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a route to an answer. Pages are fetched once per run and name; files come from the cache or are
 * fetched, and are handed out only when all of their bytes are here and have the digest that a page of this
 * run named. Requests that want the same thing at once wait for one fetch.
 */
#pragma once

#include "gateway/connection.h"

/* Answers the request of the connection, now or later. */
void serve(struct gateway *gateway, struct connection *connection);

/* At the end: after the upstreams are gone, and so all fetches. */
void serve_clear(struct gateway *gateway);
