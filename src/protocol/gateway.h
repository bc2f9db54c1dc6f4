/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program finds the gateway: an address of its container's own loopback interface. */
#pragma once

#define GATEWAY_PORT 8199
#define GATEWAY_BASE_URL "http://127.0.0.1:8199"

/* Connections that wait to be taken, and bytes that a connection holds in each direction: what a program can
 * make the kernel keep for it on the gateway's side. */
#define GATEWAY_BACKLOG 64
#define GATEWAY_SOCKET_BYTES (256 << 10)
