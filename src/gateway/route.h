/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a target to what it asks for. The places there are:
 *
 *     /ENTRY/simple/NAME/          pypi: the page of a project
 *     /ENTRY/files/SHA256/FILE     pypi: a file that a page listed; FILE.metadata too
 *     /ENTRY/NAME                  npm: the packument; NAME is name, @scope/name or @scope%2fname
 *     /ENTRY/NAME/-/FILE           npm: a tarball that a packument listed
 */
#pragma once

#include "gateway/config.h"
#include "gateway/names.h"
#include "gateway/reason.h"

enum route_kind {
        ROUTE_PAGE,
        ROUTE_FILE,
};

#define ROUTE_PATH_MAX 512

struct route {
        const struct index_entry *entry;
        enum route_kind kind;
        char name[NAME_MAX_BYTES + 1]; /* in normal form; "" for files of a Python index */
        char path[ROUTE_PATH_MAX + 1]; /* of a file, in the one normal form in which it is listed */
};

enum reason route_parse(const struct gateway_config *config, const char *target, struct route *ret);

/* The normal paths of files: what pages link to. -E2BIG when it would not fit. */
int route_pypi_file(
    const struct index_entry *entry, const char *sha256, const char *file, char ret[ROUTE_PATH_MAX + 1]);
int route_npm_file(
    const struct index_entry *entry, const char *name, const char *file, char ret[ROUTE_PATH_MAX + 1]);
