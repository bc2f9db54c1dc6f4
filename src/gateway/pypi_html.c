/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PEP 503: the page of a project as HTML, by libxml2's HTML parser in its event form: no tree is built, so
 * nesting costs nothing.
 */
#include "gateway/pypi.h"

#include "gateway/url.h"

#include <libxml/HTMLparser.h>
#include <strings.h>

struct reader {
        struct pypi_pages *pages;
        char *base;
        bool base_seen;
        bool document_seen; /* some element at all: an empty or a binary answer is not a page */
        int status;
};

static const char *attribute(const xmlChar **attributes, const char *name)
{
        for (; attributes && attributes[0]; attributes += 2)
                if (strcasecmp((const char *)attributes[0], name) == 0)
                        return attributes[1] ? (const char *)attributes[1] : "";
        return NULL;
}

static const char *without_prefix(const char *text, const char *prefix)
{
        size_t length = strlen(prefix);
        return text && strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static void take_anchor(struct reader *reader, const xmlChar **attributes)
{
        const char *metadata = attribute(attributes, "data-core-metadata");
        if (!metadata)
                metadata = attribute(attributes, "data-dist-info-metadata");
        struct pypi_link link = {
            .url = attribute(attributes, "href"),
            .metadata = without_prefix(metadata, "sha256="),
            .requires_python = attribute(attributes, "data-requires-python"),
            .yanked_reason = attribute(attributes, "data-yanked"),
        };
        link.yanked = link.yanked_reason != NULL;
        if (link.url)
                reader->status = pypi_take(reader->pages, reader->base, &link);
}

/* The first <base> counts, and is itself relative to where the page came from. */
static void take_base(struct reader *reader, const xmlChar **attributes)
{
        const char *href = attribute(attributes, "href");
        _cleanup_(freep) char *url = NULL;
        _cleanup_(freep) char *fragment = NULL;
        if (!href || reader->base_seen)
                return;
        reader->base_seen = true;
        int r = url_resolve(reader->base, href, &url, &fragment);
        if (r < 0) {
                reader->status = r == -ENOMEM ? r : -EINVAL;
                return;
        }
        free(reader->base);
        reader->base = TAKE_PTR(url);
}

static void on_element(void *context, const xmlChar *name, const xmlChar **attributes)
{
        struct reader *reader = context;
        reader->document_seen = true;
        if (reader->status < 0)
                return;
        if (strcasecmp((const char *)name, "a") == 0)
                take_anchor(reader, attributes);
        else if (strcasecmp((const char *)name, "base") == 0)
                take_base(reader, attributes);
}

#define CHUNK (64U << 10)

int pypi_read_html(struct pypi_pages *pages, const char *base, const char *data, size_t size)
{
        struct reader reader = {.pages = pages, .base = strdup(base)};
        xmlSAXHandler handler = {.startElement = on_element};
        if (!reader.base)
                return -ENOMEM;
        htmlParserCtxtPtr parser =
            htmlCreatePushParserCtxt(&handler, &reader, NULL, 0, NULL, XML_CHAR_ENCODING_UTF8);
        if (!parser) {
                free(reader.base);
                return -ENOMEM;
        }
        (void)htmlCtxtUseOptions(
            parser, HTML_PARSE_NONET | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NODEFDTD);
        for (size_t at = 0; at < size && reader.status == 0; at += CHUNK)
                (void)htmlParseChunk(parser, data + at, (int)MIN(CHUNK, size - at), 0);
        if (reader.status == 0)
                (void)htmlParseChunk(parser, NULL, 0, 1);
        if (parser->myDoc)
                xmlFreeDoc(parser->myDoc);
        htmlFreeParserCtxt(parser);
        free(reader.base);
        if (reader.status < 0)
                return reader.status;
        return reader.document_seen ? 0 : -EINVAL;
}
