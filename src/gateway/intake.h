/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How connections come in: accepted from a listening socket, or handed over one by one on the control
 * socket, whose closing also ends the gateway.
 */
#pragma once

#include "gateway/gateway.h"

/* `socket`: listening, or one connection that is already there, or -1. `control`: SEQPACKET. */
int intake_new(struct gateway *gateway, int socket, int control, struct intake **ret);
struct intake *intake_free(struct intake *intake);
