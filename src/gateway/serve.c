/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/serve.h"

#include "gateway/accept.h"
#include "gateway/index.h"

#include <search.h>

/* A page that was asked for in this run. */
struct page {
        char *key; /* "ENTRY NAME" or "ENTRY NAME full" */
        struct job *job;
        bool ready;
        bool missing; /* the upstream knew nothing of it, and is not asked again */
        struct index_page text;
};

/* A fetch under way: of a page or of a file. */
struct job {
        struct gateway *gateway;
        const struct index_entry *entry;
        struct waiters waiters;

        struct page *page;
        char *name;
        bool full;
        struct strbuf body;

        struct listed_file *file;
        struct cache_writer *writer;

        struct job *next, *previous;
};

static void serve_page(struct gateway *gateway, struct connection *connection);
static void serve_file(struct gateway *gateway, struct connection *connection);

static struct upstream *upstream_of(const struct gateway *gateway, const struct index_entry *entry)
{
        return gateway->upstreams[entry - gateway->config->entries];
}

/* ---- Jobs and who waits for them ---- */

static struct job *job_new(struct gateway *gateway, const struct index_entry *entry)
{
        struct job *job = calloc(1, sizeof *job);
        if (!job)
                return NULL;
        job->gateway = gateway;
        job->entry = entry;
        job->next = gateway->jobs;
        if (job->next)
                job->next->previous = job;
        gateway->jobs = job;
        return job;
}

static void job_free(struct job *job)
{
        if (job->page)
                job->page->job = NULL;
        if (job->file)
                job->file->job = NULL;
        if (job->next)
                job->next->previous = job->previous;
        if (job->previous)
                job->previous->next = job->next;
        else
                job->gateway->jobs = job->next;
        cache_writer_free(job->writer);
        strbuf_clear(&job->body);
        free(job->name);
        free(job);
}

/* Ends the job, and lets those who waited go on or be told why not. */
static void job_end(struct job *job, enum reason reason)
{
        struct gateway *gateway = job->gateway;
        struct waiters waiters = {};
        while (job->waiters.first)
                waiters_add(&waiters, waiters_take(&job->waiters));
        job_free(job);
        for (struct connection *connection = waiters_take(&waiters); connection;
             connection = waiters_take(&waiters)) {
                if (reason == REASON_NONE)
                        serve(gateway, connection);
                else
                        connection_refuse(connection, reason);
        }
}

void serve(struct gateway *gateway, struct connection *connection)
{
        if (connection_route(connection)->kind == ROUTE_PAGE)
                serve_page(gateway, connection);
        else
                serve_file(gateway, connection);
}

/* ---- Pages ---- */

static int compare_pages(const void *a, const void *b)
{
        return strcmp(((const struct page *)a)->key, ((const struct page *)b)->key);
}

static void free_page(void *node)
{
        struct page *page = node;
        index_page_clear(&page->text);
        free(page->key);
        free(page);
}

static int page_key(const struct index_entry *entry, const char *name, bool full, char **ret)
{
        char *key = NULL;
        if (asprintf(&key, "%s %s%s", entry->name, name, full ? " full" : "") < 0)
                return -ENOMEM;
        *ret = key;
        return 0;
}

static struct page *find_page(
    struct gateway *gateway, const struct index_entry *entry, const char *name, bool full)
{
        struct page wanted = {};
        if (page_key(entry, name, full, &wanted.key) < 0)
                return NULL;
        void *const *found = tfind(&wanted, (void *const *)&gateway->pages, compare_pages);
        free(wanted.key);
        return found ? *(struct page *const *)found : NULL;
}

/* A page that was not asked for before. The name counts, unless its other form was. */
static enum reason add_page(
    struct gateway *gateway, const struct index_entry *entry, const char *name, bool full, struct page **ret)
{
        if (!find_page(gateway, entry, name, !full)) {
                enum reason reason = budget_name(&gateway->budget, name);
                if (reason != REASON_NONE)
                        return reason;
        }
        struct page *page = calloc(1, sizeof *page);
        if (!page)
                return REASON_INTERNAL;
        if (page_key(entry, name, full, &page->key) < 0 || !tsearch(page, &gateway->pages, compare_pages)) {
                free_page(page);
                return REASON_INTERNAL;
        }
        *ret = page;
        return REASON_NONE;
}

static enum reason take_page_bytes(void *context, const void *data, size_t size)
{
        struct job *job = context;
        int r = strbuf_append(&job->body, data, size);
        return r == 0 ? REASON_NONE : r == -E2BIG ? REASON_TOO_LARGE : REASON_INTERNAL;
}

static void report_page(const struct job *job, const struct fetch_end *end, const struct index_page *text)
{
        events_emit(job->gateway->events,
            json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "event", "page", "entry", job->entry->name, "name",
                job->name, "bytes", (json_int_t)end->bytes, "files", (json_int_t)text->files, "dropped",
                (json_int_t)text->dropped));
}

static void page_done(void *context, const struct fetch_end *end)
{
        struct job *job = context;
        struct page *page = job->page;
        enum reason reason = end->reason;
        if (reason == REASON_NONE) {
                struct index_source source = {
                    .entry = job->entry,
                    .name = job->name,
                    .url = end->url,
                    .media_type = end->media_type,
                    .base_url = job->gateway->config->base_url,
                    .full = job->full,
                };
                struct index_page text;
                reason = index_read(
                    &source, strbuf_text(&job->body), job->body.size, &job->gateway->listing, &text);
                if (reason == REASON_NONE) {
                        page->text = text;
                        page->ready = true;
                        report_page(job, end, &text);
                }
        } else if (reason == REASON_MISSING) {
                page->missing = true;
                budget_miss(&job->gateway->budget);
        }
        job_end(job, reason);
}

static const char *upstream_accept(const struct index_entry *entry, bool full)
{
        if (entry->kind == ENTRY_PYPI)
                return "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "
                       "text/html;q=0.1";
        return full ? "application/json"
                    : "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8";
}

/* Where the upstream has it: the name's characters are harmless but for the slash of a scope. */
static int page_url(const struct index_entry *entry, const char *name, char **ret)
{
        const char *slash = strchr(name, '/');
        char *url = NULL;
        int n;
        if (entry->kind == ENTRY_PYPI)
                n = asprintf(&url, "%s%s/", entry->url, name);
        else if (slash)
                n = asprintf(&url, "%s%.*s%%2f%s", entry->url, (int)(slash - name), name, slash + 1);
        else
                n = asprintf(&url, "%s%s", entry->url, name);
        if (n < 0)
                return -ENOMEM;
        *ret = url;
        return 0;
}

static enum reason fetch_page(
    struct gateway *gateway, const struct index_entry *entry, const char *name, bool full, struct page *page)
{
        _cleanup_(freep) char *url = NULL;
        struct job *job = job_new(gateway, entry);
        if (!job)
                return REASON_INTERNAL;
        job->page = page;
        job->full = full;
        job->name = strdup(name);
        job->body = (struct strbuf)STRBUF_INIT(gateway->config->limits.index_bytes);
        if (!job->name || page_url(entry, name, &url) < 0) {
                job_free(job);
                return REASON_INTERNAL;
        }
        struct fetch_request request = {
            .url = url,
            .accept = upstream_accept(entry, full),
            .compressed = true,
            .max_bytes = gateway->config->limits.index_bytes,
            .context = job,
            .take = take_page_bytes,
            .done = page_done,
        };
        enum reason reason = fetch_start(upstream_of(gateway, entry), &request);
        if (reason != REASON_NONE) {
                job_free(job);
                return reason;
        }
        page->job = job;
        return REASON_NONE;
}

/* The page, ready; or NULL, and the connection waits for it or was refused. */
static struct page *get_page(struct gateway *gateway, struct connection *connection, bool full)
{
        const struct route *route = connection_route(connection);
        struct page *page = find_page(gateway, route->entry, route->name, full);
        enum reason reason = REASON_NONE;
        if (!page)
                reason = add_page(gateway, route->entry, route->name, full, &page);
        if (reason == REASON_NONE && page->ready)
                return page;
        if (reason == REASON_NONE && page->missing)
                reason = REASON_MISSING;
        if (reason == REASON_NONE && !page->job)
                reason = fetch_page(gateway, route->entry, route->name, full, page);
        if (reason == REASON_NONE && page->job)
                waiters_add(&page->job->waiters, connection);
        else
                connection_refuse(connection, reason != REASON_NONE ? reason : REASON_INTERNAL);
        return NULL;
}

static void serve_page(struct gateway *gateway, struct connection *connection)
{
        const char *accept = connection_request(connection)->accept;
        const struct index_entry *entry = connection_route(connection)->entry;
        enum page_form form = accept_form(entry->kind, accept);
        const struct page *page = get_page(gateway, connection, form == FORM_NPM_FULL);
        if (!page)
                return;
        const struct strbuf *text = accept_is_html(form) ? &page->text.html : &page->text.json;
        connection_answer_memory(connection, accept_media_type(form), strbuf_text(text), text->size);
}

/* ---- Files ---- */

static enum reason take_file_bytes(void *context, const void *data, size_t size)
{
        struct job *job = context;
        return cache_writer_append(job->writer, data, size) == 0 ? REASON_NONE : REASON_INTERNAL;
}

static void file_done(void *context, const struct fetch_end *end)
{
        struct job *job = context;
        enum reason reason = end->reason;
        if (reason == REASON_MISSING)
                reason = REASON_UPSTREAM; /* it was listed */
        if (reason == REASON_NONE) {
                int r = cache_writer_commit(job->writer, &job->file->fd, &job->file->size);
                reason = r == 0 ? REASON_NONE : r == -EBADMSG ? REASON_HASH : REASON_INTERNAL;
                if (reason == REASON_NONE)
                        cache_trim(job->gateway->cache);
        }
        job_end(job, reason);
}

static enum reason fetch_file(struct gateway *gateway, struct listed_file *file)
{
        struct job *job = job_new(gateway, file->entry);
        if (!job)
                return REASON_INTERNAL;
        job->file = file;
        struct fetch_request request = {
            .url = file->url,
            .max_bytes = gateway->config->limits.file_bytes,
            .context = job,
            .take = take_file_bytes,
            .done = file_done,
        };
        enum reason reason = REASON_INTERNAL;
        if (cache_writer_begin(gateway->cache, &file->digest, &job->writer) == 0)
                reason = fetch_start(upstream_of(gateway, file->entry), &request);
        if (reason != REASON_NONE) {
                job_free(job);
                return reason;
        }
        file->job = job;
        return REASON_NONE;
}

/* Opens it from the cache, or begins to fetch it. */
static enum reason get_file(struct gateway *gateway, struct listed_file *file)
{
        int fd;
        uint64_t size;
        enum reason reason = REASON_NONE;
        if (!file->counted)
                reason = budget_file(&gateway->budget, file->entry);
        if (reason != REASON_NONE)
                return reason;
        file->counted = true;
        if (cache_find(gateway->cache, &file->digest, &fd, &size) < 0)
                return fetch_file(gateway, file);
        reason = size <= gateway->config->limits.file_bytes
                     ? budget_bytes(&gateway->budget, file->entry, size)
                     : REASON_TOO_LARGE;
        if (reason != REASON_NONE) {
                closep(&fd);
                return reason;
        }
        file->fd = fd;
        file->size = size;
        return REASON_NONE;
}

static void serve_file(struct gateway *gateway, struct connection *connection)
{
        const struct route *route = connection_route(connection);
        struct listed_file *file = listing_find(&gateway->listing, route->path);
        if (!file) {
                /* Installing from a lock file asks for tarballs without asking for packuments first. */
                if (!route->name[0] || get_page(gateway, connection, false))
                        connection_refuse(connection, REASON_UNLISTED);
                return;
        }
        enum reason reason = REASON_NONE;
        if (file->fd < 0 && !file->job)
                reason = get_file(gateway, file);
        if (reason != REASON_NONE)
                connection_refuse(connection, reason);
        else if (file->fd >= 0)
                connection_answer_file(connection, file->fd, file->size);
        else if (file->job)
                waiters_add(&((struct job *)file->job)->waiters, connection);
        else
                connection_refuse(
                    connection, REASON_INTERNAL); /* it was over before it could be waited for */
}

void serve_clear(struct gateway *gateway)
{
        while (gateway->jobs)
                job_free(gateway->jobs);
        tdestroy(gateway->pages, free_page);
        gateway->pages = NULL;
}
