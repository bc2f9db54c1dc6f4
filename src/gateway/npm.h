/* SPDX-License-Identifier: Apache-2.0 */
/* Packuments of npm registries. */
#pragma once

#include "gateway/index.h"

/* 0, -EINVAL when it is not a packument of that package, -E2BIG, -ENOMEM. */
int npm_read(const struct index_source *source, const char *data, size_t size, struct listing *listing,
    struct index_page *page);
