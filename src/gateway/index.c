/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/index.h"

#include "gateway/npm.h"
#include "gateway/pypi.h"

enum reason index_read(const struct index_source *source, const char *data, size_t size,
    struct listing *listing, struct index_page *ret)
{
        struct index_page page = {.json = STRBUF_INIT(INDEX_PAGE_MAX), .html = STRBUF_INIT(INDEX_PAGE_MAX)};
        int r = source->entry->kind == ENTRY_NPM ? npm_read(source, data, size, listing, &page)
                                                 : pypi_read(source, data, size, listing, &page);
        if (r < 0) {
                index_page_clear(&page);
                return r == -ENOMEM ? REASON_INTERNAL : REASON_INDEX;
        }
        *ret = page;
        return REASON_NONE;
}

void index_page_clear(struct index_page *page)
{
        strbuf_clear(&page->json);
        strbuf_clear(&page->html);
}
