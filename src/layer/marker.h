/* SPDX-License-Identifier: Apache-2.0 */
/* Environment markers of PEP 508: checked and put into one form here, evaluated by pip inside. */
#pragma once

#include "layer/scanner.h"
#include "util/error.h"
#include "util/strbuf.h"

/* Reads a marker up to the end of the text, and appends it with single spaces to `out`. */
int marker_parse(struct scanner *scanner, struct strbuf *out, struct error *err);
