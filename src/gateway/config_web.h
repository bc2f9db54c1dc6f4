/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the configuration that is about entries of kind web. */
#pragma once

#include "gateway/config.h"

/*
 * Turns the entry's `urls` into prefixes and origins; says which keys do not go with its kind. Also to be
 * called for entries of other kinds, which have none of these keys.
 */
int config_settle_web(struct index_entry *entry, struct error *err);
