/* SPDX-License-Identifier: Apache-2.0 */
/* Which form of a page a client takes, by its Accept fields. */
#pragma once

#include "gateway/config.h"

enum page_form {
        FORM_PYPI_HTML,    /* text/html: what old and simple clients know */
        FORM_PYPI_V1_HTML, /* the same, under its own name */
        FORM_PYPI_V1_JSON,
        FORM_NPM_SHORT, /* what an installer needs */
        FORM_NPM_FULL,
};

/* Unknown and wild types mean the simplest form. */
enum page_form accept_form(enum entry_kind kind, const char *accept);

const char *accept_media_type(enum page_form form);
bool accept_is_html(enum page_form form);
