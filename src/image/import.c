/* SPDX-License-Identifier: Apache-2.0 */
#include "image/import.h"

#include "image/spawn.h"
#include "protocol/importer.h"
#include "util/fd.h"
#include "util/own_parts.h"
#include "util/remove_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* Beside each test build without a defence stands an importer without it. */
#ifdef MAI_DEFENCE_OFF
#define IMPORTER_FILE "image-without-" MAI_DEFENCE_OFF
#else
#define IMPORTER_FILE "mai-sandbox-image"
#endif

int image_import_open(const char *path, int *ret_fd, struct error *err)
{
        struct stat st;
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_set(err, ERROR_INPUT, errno, NULL, "opening %s", path);
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
                return error_set(err, ERROR_INPUT, 0, "save it to a file first",
                    "%s is neither a file nor a directory", path);
        *ret_fd = take_fd(&fd);
        return 0;
}

/* ---- Talking to it ---- */

static bool is_text(const char *text, size_t size)
{
        size_t n = strnlen(text, size);
        for (size_t i = 0; i < n; i++)
                if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~')
                        return false;
        return n < size;
}

/* It has read what a stranger wrote, and is believed as little. */
static int take_done(const struct importer_message *message, struct image_info *info, struct error *err)
{
        if (!is_text(message->done.format, sizeof message->done.format) ||
            !is_text(message->done.digest, sizeof message->done.digest) ||
            !is_text(message->done.manifest_digest, sizeof message->done.manifest_digest) ||
            !is_text(message->done.search_path, sizeof message->done.search_path) ||
            strncmp(message->done.digest, "sha256:", 7) != 0)
                return error_set(err, ERROR_IMAGE, EBADMSG, NULL, "the importer's answer makes no sense");
        memcpy(info->format, message->done.format, sizeof info->format);
        memcpy(info->digest, message->done.digest, sizeof info->digest);
        memcpy(info->manifest_digest, message->done.manifest_digest, sizeof info->manifest_digest);
        memcpy(info->search_path, message->done.search_path, sizeof info->search_path);
        info->layers = message->done.layers;
        info->size = message->done.bytes;
        info->files = message->done.entries;
        info->skipped = message->done.skipped;
        return 0;
}

static int take_failure(const struct importer_message *message, struct error *err)
{
        struct setup_failure known = message->failure;
        known.message[sizeof known.message - 1] = '\0';
        known.hint[sizeof known.hint - 1] = '\0';
        return error_set(err, ERROR_IMAGE, MAX(known.errnum, 0), known.hint[0] ? known.hint : NULL,
            "image: %s", known.message);
}

static int give_up(struct error *err)
{
        return error_set(err, ERROR_CANCELLED, ECANCELED, NULL, "importing the image");
}

/* Until it is done or has failed. */
static int follow(int socket, const struct image_import *import, struct image_info *info, struct error *err)
{
        for (;;) {
                struct importer_message message;
                int fds[FD_PASS_MAX];
                size_t n = 0;
                ssize_t size = fd_receive(socket, &message, sizeof message, fds, &n, NULL, 0);
                for (size_t i = 0; i < n; i++)
                        (void)close(fds[i]);
                if (size != (ssize_t)sizeof message || message.version != IMPORTER_PROTOCOL_VERSION)
                        return error_set(err, ERROR_IMAGE, 0, NULL,
                            "the importer ended without an answer; the archive may be made to crash it");
                switch (message.type) {
                case IMPORTER_DONE:
                        return take_done(&message, info, err);
                case IMPORTER_PROGRESS: {
                        const struct image_import_progress progress = {
                            .parts_done = message.progress.parts_done,
                            .parts = message.progress.parts,
                            .bytes_done = message.progress.bytes_done,
                            .bytes = message.progress.bytes};
                        if (import->progress && import->progress(&progress, import->user) != 0)
                                return give_up(err);
                        break;
                }
                default:
                        return take_failure(&message, err);
                }
        }
}

/* ---- Running it ---- */

static int run_importer(const struct image_import *import, const struct image_draft *draft,
    struct image_info *info, struct error *err)
{
        char path[PATH_MAX], bytes[24], entries[24];
        if (!own_part_find(IMPORTER_FILE, path))
                return error_set(err, ERROR_BACKEND, 0, "build it with libarchive (Debian: libarchive-dev)",
                    "image: " IMPORTER_FILE ", which unpacks images, is not installed");
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "making the importer's socket");
        _cleanup_(closep) int ours = pair[0];
        _cleanup_(closep) int theirs = pair[1];
        (void)snprintf(bytes, sizeof bytes, "%llu",
            (unsigned long long)(import->max_bytes ? import->max_bytes : IMAGE_BYTES_MAX));
        (void)snprintf(entries, sizeof entries, "%llu",
            (unsigned long long)(import->max_entries ? import->max_entries : IMAGE_ENTRIES_MAX));
        char *const argv[] = {(char *)IMPORTER_FILE, bytes, entries, NULL};
        char *const environment[] = {(char *)"LC_ALL=C.UTF-8", NULL};
        const int fds[] = {import->source, draft->fd, theirs};
        pid_t pid;
        int r = image_spawn(path, argv, environment, fds, ARRAY_SIZE(fds), STDERR_FILENO, &pid);
        if (r < 0)
                return error_set(err, ERROR_BACKEND, -r, NULL, "starting %s", path);
        close_and_forget(&theirs); /* its end is then the end of the stream */
        r = follow(ours, import, info, err);
        if (r < 0)
                (void)kill(pid, SIGKILL);
        int status = image_wait(pid);
        if (r == 0 && status != 0)
                return error_set(err, ERROR_IMAGE, 0, NULL, "the importer failed after its work");
        return r;
}

static int fill_draft(const struct image_import *import, const struct image_draft *draft,
    struct image_info *info, struct error *err)
{
        time_t now = time(NULL);
        struct tm utc;
        if (mkdirat(draft->fd, IMPORTER_ROOT, 0755) < 0 || mkdirat(draft->fd, IMPORTER_LAYOUT, 0700) < 0)
                return error_set(err, ERROR_IMAGE, errno, NULL, "making the image's directories");
        int r = run_importer(import, draft, info, err);
        if (r < 0)
                return r;
        r = remove_tree(draft->fd, IMPORTER_LAYOUT);
        if (r < 0)
                return error_set(err, ERROR_IMAGE, -r, NULL, "removing the archive's parts");
        (void)snprintf(info->name, sizeof info->name, "%s", import->name);
        if (gmtime_r(&now, &utc))
                (void)strftime(info->created, sizeof info->created, "%Y-%m-%dT%H:%M:%SZ", &utc);
        return 0;
}

int image_import(const struct image_store *store, const struct image_import *import, struct image_info *ret,
    struct error *err)
{
        struct image_draft draft = {.fd = -1};
        struct image_info info = {};
        image_store_prune(store);
        int r = image_draft_begin(store, &draft, err);
        if (r < 0)
                return r;
        r = fill_draft(import, &draft, &info, err);
        if (r == 0)
                r = image_draft_commit(store, &draft, &info, err);
        image_draft_drop(store, &draft);
        if (r == 0)
                *ret = info;
        return r;
}
