/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pypi.h"

#include "gateway/names.h"
#include "gateway/route.h"
#include "gateway/url.h"

#include <jansson.h>
#include <strings.h>

#define LINKS_MAX 50000
#define REQUIRES_PYTHON_MAX 256
#define YANKED_REASON_MAX 500

/* The two forms of a page, written link by link. */
struct pypi_pages {
        const struct index_source *source;
        struct listing *listing;
        struct index_page *page;
        json_t *files;
        size_t links;
};

/* A link that is taken: all of it checked. */
struct taken {
        const char *file;
        char path[ROUTE_PATH_MAX + 1];
        struct digest digest;
        bool has_metadata;
        struct digest metadata;
        const struct pypi_link *link;
};

/* Text of the upstream's that is shown: printable ASCII, short, or not at all. */
static const char *shown(const char *text, size_t max)
{
        if (!text || strlen(text) > max)
                return NULL;
        for (const char *c = text; *c; c++)
                if (*c < 0x20 || *c == 0x7f)
                        return NULL;
        return text;
}

static int append_escaped(struct strbuf *out, const char *text)
{
        int r = 0;
        for (; r == 0 && *text; text++) {
                const char *entity = *text == '&'   ? "&amp;"
                                     : *text == '<' ? "&lt;"
                                     : *text == '>' ? "&gt;"
                                     : *text == '"' ? "&quot;"
                                                    : NULL;
                r = entity ? strbuf_append_text(out, entity) : strbuf_append(out, text, 1);
        }
        return r;
}

static int append_attribute(struct strbuf *out, const char *name, const char *value)
{
        int r = strbuf_appendf(out, " %s=\"", name);
        if (r == 0)
                r = append_escaped(out, value);
        return r == 0 ? strbuf_append_text(out, "\"") : r;
}

static int write_html(struct strbuf *html, const struct taken *taken)
{
        const struct pypi_link *link = taken->link;
        int r = strbuf_appendf(html, "<a href=\"%s#sha256=%s\"", taken->path, digest_hex(&taken->digest));
        const char *requires_python = shown(link->requires_python, REQUIRES_PYTHON_MAX);
        if (r == 0 && requires_python)
                r = append_attribute(html, "data-requires-python", requires_python);
        if (r == 0 && taken->has_metadata)
                r = strbuf_appendf(html,
                    " data-dist-info-metadata=\"sha256=%1$s\" data-core-metadata=\"sha256=%1$s\"",
                    digest_hex(&taken->metadata));
        if (r == 0 && link->yanked) {
                const char *why = shown(link->yanked_reason, YANKED_REASON_MAX);
                r = append_attribute(html, "data-yanked", why ? why : "");
        }
        return r == 0 ? strbuf_appendf(html, ">%s</a><br>\n", taken->file) : r;
}

static json_t *sha256_object(const struct digest *digest)
{
        return json_pack("{s:s}", "sha256", digest_hex(digest));
}

static int write_json(json_t *files, const struct taken *taken)
{
        const struct pypi_link *link = taken->link;
        json_t *file = json_pack("{s:s, s:s, s:o}", "filename", taken->file, "url", taken->path, "hashes",
            sha256_object(&taken->digest));
        int r = file ? 0 : -1;
        const char *requires_python = shown(link->requires_python, REQUIRES_PYTHON_MAX);
        if (r == 0 && requires_python)
                r = json_object_set_new(file, "requires-python", json_string(requires_python));
        /* Not under its older name: pip before 23.1 stumbles over it (PEP 714). */
        if (r == 0 && taken->has_metadata)
                r = json_object_set_new(file, "core-metadata", sha256_object(&taken->metadata));
        if (r == 0 && link->yanked) {
                const char *why = shown(link->yanked_reason, YANKED_REASON_MAX);
                r = json_object_set_new(file, "yanked", why && why[0] ? json_string(why) : json_true());
        }
        if (r == 0 && link->has_size)
                r = json_object_set_new(file, "size", json_integer((json_int_t)link->size));
        const char *upload_time = shown(link->upload_time, 40);
        if (r == 0 && upload_time)
                r = json_object_set_new(file, "upload-time", json_string(upload_time));
        if (r != 0) {
                json_decref(file);
                return -ENOMEM;
        }
        return json_array_append_new(files, file) == 0 ? 0 : -ENOMEM;
}

/* Whether the entry hands out such a file. */
static bool offered(const struct index_source *source, const char *file, const struct pypi_link *link)
{
        if (!name_file(file) || !name_file_belongs(file, source->name))
                return false;
        if (!name_is_wheel(file) && !(source->entry->sdist && name_is_sdist(file)))
                return false;
        return !link->yanked || source->entry->yanked;
}

/* "sha256=HEX" as it stands in fragments. */
static bool digest_from_fragment(const char *fragment, struct digest *ret)
{
        return fragment && strncmp(fragment, "sha256=", 7) == 0 && digest_from_sha256_hex(fragment + 7, ret);
}

/* Puts the metadata of a wheel into the listing; what can't be listed is not announced. */
static int take_metadata(struct pypi_pages *pages, struct taken *taken, const char *url)
{
        if (!taken->link->metadata || !digest_from_sha256_hex(taken->link->metadata, &taken->metadata))
                return 0;
        char path[ROUTE_PATH_MAX + 16];
        _cleanup_(freep) char *metadata_url = NULL;
        const char *query = strchr(url, '?');
        size_t length = query ? (size_t)(query - url) : strlen(url);
        int n = snprintf(path, sizeof path, "%s.metadata", taken->path);
        if (n < 0 || n > ROUTE_PATH_MAX || strlen(taken->file) + 9 > FILE_NAME_MAX_BYTES)
                return 0;
        if (asprintf(&metadata_url, "%.*s.metadata%s", (int)length, url, query ? query : "") < 0) {
                metadata_url = NULL;
                return -ENOMEM;
        }
        int r = listing_add(pages->listing, pages->source->entry, path, metadata_url, &taken->metadata);
        taken->has_metadata = r == 0;
        return r == -EEXIST ? 0 : r;
}

int pypi_take(struct pypi_pages *pages, const char *base, const struct pypi_link *link)
{
        if (++pages->links > LINKS_MAX)
                return -E2BIG;
        const struct index_source *source = pages->source;
        _cleanup_(freep) char *url = NULL;
        _cleanup_(freep) char *fragment = NULL;
        _cleanup_(freep) char *name = NULL;
        pages->page->dropped++; /* until it is taken */

        int r = url_resolve(base, link->url, &url, &fragment);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (!link->file) {
                r = url_file_name(url, &name);
                if (r < 0)
                        return r == -ENOMEM ? r : 0;
        }
        struct taken taken = {.file = link->file ? link->file : name, .link = link};
        if (!offered(source, taken.file, link) || !entry_reaches(source->entry, url))
                return 0;
        if (!(link->sha256 ? digest_from_sha256_hex(link->sha256, &taken.digest)
                           : digest_from_fragment(fragment, &taken.digest)))
                return 0;
        if (!entry_offers_digest(source->entry, digest_hex(&taken.digest)))
                return 0;
        if (route_pypi_file(source->entry, digest_hex(&taken.digest), taken.file, taken.path) < 0)
                return 0;
        r = listing_add(pages->listing, source->entry, taken.path, url, &taken.digest);
        if (r < 0)
                return r;
        r = take_metadata(pages, &taken, url);
        if (r == 0)
                r = write_html(&pages->page->html, &taken);
        if (r == 0)
                r = write_json(pages->files, &taken);
        if (r < 0)
                return r;
        pages->page->dropped--;
        pages->page->files++;
        return 0;
}

static int dump(const char *data, size_t size, void *buffer)
{
        return strbuf_append(buffer, data, size);
}

/* Pages say by their media type which form they have; where that is missing, the first character does. */
static bool is_json(const struct index_source *source, const char *data, size_t size)
{
        if (source->media_type) {
                if (strncasecmp(source->media_type, "text/html", 9) == 0)
                        return false;
                if (strcasestr(source->media_type, "json"))
                        return true;
        }
        return size > 0 && data[0] == '{';
}

int pypi_read(const struct index_source *source, const char *data, size_t size, struct listing *listing,
    struct index_page *page)
{
        struct pypi_pages pages = {
            .source = source, .listing = listing, .page = page, .files = json_array()};
        if (!pages.files)
                return -ENOMEM;
        int r = strbuf_appendf(&page->html,
            "<!DOCTYPE html>\n<html><head><meta name=\"pypi:repository-version\" content=\"1.0\">"
            "<title>Links for %1$s</title></head><body>\n<h1>Links for %1$s</h1>\n",
            source->name);
        if (r == 0)
                r = is_json(source, data, size) ? pypi_read_json(&pages, source->url, data, size)
                                                : pypi_read_html(&pages, source->url, data, size);
        if (r == 0)
                r = strbuf_append_text(&page->html, "</body></html>\n");
        if (r < 0) {
                json_decref(pages.files);
                return r;
        }
        json_t *document = json_pack(
            "{s:{s:s}, s:s, s:o}", "meta", "api-version", "1.0", "name", source->name, "files", pages.files);
        if (!document)
                return -ENOMEM;
        r = json_dump_callback(document, dump, &page->json, JSON_COMPACT);
        json_decref(document);
        return r == 0 ? 0 : -E2BIG;
}
