/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the guest: heads are read one after the other, each gets one answer. Every refusal has
 * the same status, the same body, and ends the connection.
 */
#pragma once

#include "gateway/gateway.h"
#include "gateway/request.h"
#include "gateway/route.h"
#include "gateway/waiters.h"
#include "gateway/web_route.h"

/* Takes the descriptor over. */
void connection_new(struct gateway *gateway, int fd);

/* The request at hand, and where it was led. */
const struct request *connection_request(const struct connection *connection);
const struct route *connection_route(const struct connection *connection);

const struct web_target *connection_target(const struct connection *connection);

/* The body of a POST, all of it. */
const char *connection_body(const struct connection *connection, size_t *ret_size);

struct waiting *connection_waiting(struct connection *connection);

/* ---- Answers; each ends the request at hand. `cached`: nothing was fetched for it. ---- */

/* Memory that lives as long as the gateway does. */
void connection_answer_memory(
    struct connection *connection, const char *media_type, const char *data, size_t size);

/* A file; the descriptor stays the caller's. */
void connection_answer_file(struct connection *connection, int fd, uint64_t size);

/*
 * What a server of the web said: its status, its fields (each with its line's end), and `size` bytes of a
 * file, whose descriptor stays the caller's. `length`: what it says the size would be, for HEAD, or -1.
 */
void connection_answer_web(
    struct connection *connection, long status, const char *fields, int fd, uint64_t size, int64_t length);

/* The tunnel stands: what follows is TLS. */
void connection_answer_tunnel(struct connection *connection);

void connection_refuse(struct connection *connection, enum reason reason);

/* At the end of the gateway. */
void connection_free_all(struct gateway *gateway);
