/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the container manager, which keep their ledger in a place of their own. */
#pragma once

#include "sandbox/container_manager.h"

/* Gives the manager a ledger before it opens one. The manager closes it. */
void container_manager_use_ledger(struct container_manager *manager, struct ledger *ledger);
