/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of the web. A URL is asked for once a run, in full and at the gateway's own pace; who asks
 * again gets what came then. An answer is handed on when all of it is here: as it is, but for the fields,
 * of which a few known ones are taken over.
 */
#pragma once

#include "gateway/connection.h"

/* An answer of the web. */
struct web_answer;

/* Answers the request of the connection, now or later. */
void web_serve(struct gateway *gateway, struct connection *connection);

/* At the end: after the upstreams are gone, and so all fetches. */
void web_clear(struct gateway *gateway);
