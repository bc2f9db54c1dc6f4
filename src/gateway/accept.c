/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/accept.h"

#include "util/parse.h"

#include <strings.h>

static const struct {
        enum entry_kind kind;
        bool html;
        const char *accepted; /* what clients write */
        const char *answered;
} forms[] = {
    [FORM_PYPI_HTML] = {ENTRY_PYPI, true, "text/html", "text/html; charset=utf-8"},
    [FORM_PYPI_V1_HTML] = {ENTRY_PYPI, true, "application/vnd.pypi.simple.v1+html",
        "application/vnd.pypi.simple.v1+html"},
    [FORM_PYPI_V1_JSON] = {ENTRY_PYPI, false, "application/vnd.pypi.simple.v1+json",
        "application/vnd.pypi.simple.v1+json"},
    [FORM_NPM_SHORT] = {ENTRY_NPM, false, "application/vnd.npm.install-v1+json",
        "application/vnd.npm.install-v1+json"},
    [FORM_NPM_FULL] = {ENTRY_NPM, false, "application/json", "application/json"},
};

/* The weight of one element "type; q=0.5"; 1 where it says nothing, 0 where it can't be read. */
static double weight(const char *element, size_t size)
{
        char text[16];
        const char *at = memmem(element, size, "q=", 2);
        if (!at)
                return 1;
        size_t length = 0, rest = size - (size_t)(at + 2 - element);
        while (length < rest && length < sizeof text - 1 && strchr("0123456789.", at[2 + length]))
                length++;
        memcpy(text, at + 2, length);
        text[length] = '\0';
        double value;
        return parse_decimal(text, &value) && value <= 1 ? value : 0;
}

static bool names_type(const char *element, size_t size, const char *type)
{
        size_t length = strlen(type);
        if (size < length || strncasecmp(element, type, length) != 0)
                return false;
        return size == length || strchr("; \t", element[length]) != NULL;
}

enum page_form accept_form(enum entry_kind kind, const char *accept)
{
        enum page_form best = kind == ENTRY_NPM ? FORM_NPM_FULL : FORM_PYPI_HTML;
        double best_weight = 0;
        while (*accept) {
                accept += strspn(accept, ", \t");
                size_t size = strcspn(accept, ",");
                for (size_t form = 0; form < ARRAY_SIZE(forms); form++) {
                        if (forms[form].kind != kind || !names_type(accept, size, forms[form].accepted))
                                continue;
                        double here = weight(accept, size);
                        if (here > best_weight) {
                                best = (enum page_form)form;
                                best_weight = here;
                        }
                }
                accept += size;
        }
        return best;
}

const char *accept_media_type(enum page_form form)
{
        return forms[form].answered;
}

bool accept_is_html(enum page_form form)
{
        return forms[form].html;
}
