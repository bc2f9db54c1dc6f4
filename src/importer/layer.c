/* SPDX-License-Identifier: Apache-2.0 */
#include "importer/layer.h"

#define BUFFER_SIZE (256U << 10)

/* libarchive's reason, if it has one. */
static int fail_read(struct archive *archive, struct setup_failure *failure)
{
        const char *why = archive_error_string(archive);
        return failure_set(failure, 0, NULL, "look at it with tar -tf", "the archive can't be read: %.150s",
            why ? why : "no reason is known");
}

static la_ssize_t read_packed(struct archive *archive, void *user, const void **ret)
{
        struct layer *layer = user;
        ssize_t n;
        do
                n = read(layer->fd, layer->in, BUFFER_SIZE);
        while (n < 0 && errno == EINTR);
        if (n < 0) {
                archive_set_error(archive, errno, "%s", strerror(errno));
                return -1;
        }
        layer->ended = n == 0;
        SHA256Update(&layer->packed, (const uint8_t *)layer->in, (size_t)n);
        if (layer->progress)
                layer->progress((uint64_t)n, layer->user);
        *ret = layer->in;
        return n;
}

static la_ssize_t read_plain(struct archive *archive, void *user, const void **ret)
{
        struct layer *layer = user;
        la_ssize_t n = archive_read_data(layer->outer, layer->out, BUFFER_SIZE);
        if (n < 0) {
                archive_set_error(archive, EIO, "%s", archive_error_string(layer->outer));
                return -1;
        }
        layer->plain_bytes += (uint64_t)n;
        if (layer->plain_bytes > layer->max_plain_bytes) {
                archive_set_error(archive, EFBIG,
                    "it has more than %llu bytes when decompressed (--max-size)",
                    (unsigned long long)layer->max_plain_bytes);
                return -1;
        }
        SHA256Update(&layer->plain, (const uint8_t *)layer->out, (size_t)n);
        *ret = layer->out;
        return n;
}

/* Decompressing: one of the usual ways at most, all of them in this process. */
static int open_outer(struct layer *layer, struct setup_failure *failure)
{
        struct archive_entry *ignored;
        struct archive *outer = layer->outer;
        if (archive_read_support_filter_gzip(outer) != ARCHIVE_OK ||
            archive_read_support_filter_zstd(outer) != ARCHIVE_OK ||
            archive_read_support_filter_xz(outer) != ARCHIVE_OK ||
            archive_read_support_filter_bzip2(outer) != ARCHIVE_OK ||
            archive_read_support_format_raw(outer) != ARCHIVE_OK ||
            archive_read_open(outer, layer, NULL, read_packed, NULL) != ARCHIVE_OK ||
            archive_read_next_header(outer, &ignored) != ARCHIVE_OK)
                return fail_read(outer, failure);
        /* The last one is "none". Bombs are packed twice. */
        if (archive_filter_count(outer) > 2)
                return failure_set(
                    failure, 0, NULL, "decompress it once", "the archive is compressed more than once");
        return 0;
}

int layer_open(struct layer *layer, int fd, uint64_t max_plain_bytes, struct setup_failure *failure)
{
        layer->fd = fd;
        layer->max_plain_bytes = max_plain_bytes;
        SHA256Init(&layer->packed);
        SHA256Init(&layer->plain);
        layer->in = malloc(BUFFER_SIZE);
        layer->out = malloc(BUFFER_SIZE);
        layer->outer = archive_read_new();
        layer->inner = archive_read_new();
        if (!layer->in || !layer->out || !layer->outer || !layer->inner)
                return failure_set(failure, ENOMEM, NULL, NULL, "reading the archive");
        int r = open_outer(layer, failure);
        if (r < 0)
                return r;
        if (archive_read_support_format_tar(layer->inner) != ARCHIVE_OK ||
            archive_read_open(layer->inner, layer, NULL, read_plain, NULL) != ARCHIVE_OK)
                return fail_read(layer->inner, failure);
        return 0;
}

void layer_close(struct layer *layer)
{
        if (layer->inner)
                (void)archive_read_free(layer->inner);
        if (layer->outer)
                (void)archive_read_free(layer->outer);
        free(layer->in);
        free(layer->out);
        *layer = (struct layer){.fd = -1};
}

int layer_next(struct layer *layer, struct archive_entry **ret, struct setup_failure *failure)
{
        int r = archive_read_next_header(layer->inner, ret);
        if (r == ARCHIVE_EOF)
                return 0;
        return r == ARCHIVE_OK || r == ARCHIVE_WARN ? 1 : fail_read(layer->inner, failure);
}

int layer_finish(struct layer *layer, char packed[SHA256_HEX_SIZE], char plain[SHA256_HEX_SIZE],
    struct setup_failure *failure)
{
        const void *data;
        la_ssize_t n;
        while ((n = read_plain(layer->inner, layer, &data)) > 0) {
        }
        if (n < 0)
                return fail_read(layer->inner, failure);
        while (!layer->ended && (n = read_packed(layer->outer, layer, &data)) > 0) {
        }
        if (n < 0)
                return fail_read(layer->outer, failure);
        sha256_finish_hex(&layer->packed, packed);
        sha256_finish_hex(&layer->plain, plain);
        return 0;
}
