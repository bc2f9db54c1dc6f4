/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes text that came from a program or a caller harmless inside our own messages: what would move the
 * cursor, start an escape sequence, break the line or reorder the display is shown as \n, \x1b or \u202e
 * instead. A backslash stays as it is, so ordinary text is never changed.
 */
#pragma once

#include "util/strbuf.h"

/* Appends text[0…size-1] escaped. 0, or what strbuf_append() says; then a part may have been appended. */
int escape_append(struct strbuf *buf, const char *text, size_t size);
