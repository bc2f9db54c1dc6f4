/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Python program says about itself in comments (PEP 723): a block of "# /// script", TOML behind "#
 * ", and "# ///". Its `dependencies` are requirements like any others.
 */
#pragma once

#include "layer/requirement.h"

/*
 * Adds what the header asks for to the set. Nothing happens if there is none; that costs one look through
 * the text. ERROR_INPUT begins with the name of the program.
 */
int script_header_read(
    const char *name, const char *text, size_t size, struct requirement_set *set, struct error *err);

/* The TOML of the header: 1 and *ret, 0 if there is none, -EEXIST if there are two, -ENOMEM. */
int script_header_find(const char *text, size_t size, struct strbuf *ret);
