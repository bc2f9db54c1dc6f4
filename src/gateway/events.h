/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway tells its supervisor: one JSON object a line, bounded in length and number. A reader
 * that is slow holds nothing up: what can't be kept is counted and said at the end.
 */
#pragma once

#include "util/common.h"

#include <event2/event.h>
#include <jansson.h>

struct events;

int events_new(struct event_base *base, int fd, uint64_t max_events, struct events **ret);

/* Takes the reference; NULL (an allocation that failed) counts as dropped. */
void events_emit(struct events *events, json_t *event);

/* The last one: says "dropped" too, and waits a second at most for the reader. */
void events_end(struct events *events, json_t *event);

struct events *events_free(struct events *events);
