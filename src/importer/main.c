/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mai-sandbox-image: unpacks one image. A program of its own, so that no decompressor is in the process of
 * a run, and nothing that reads an archive has any privileges. Started by the library alone, see
 * protocol/importer.h.
 */
#include "importer/harden.h"
#include "importer/import.h"
#include "util/fd.h"
#include "util/parse.h"

#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>

static void send_message(const struct importer_message *message, void *user)
{
        (void)fd_send(IMPORTER_SOCKET_FD, message, sizeof *message, NULL, 0);
}

static int fail(const struct setup_failure *failure)
{
        struct importer_message message = {
            .version = IMPORTER_PROTOCOL_VERSION, .type = IMPORTER_FAILED, .failure = *failure};
        send_message(&message, NULL);
        return 1;
}

static int open_target(const char *name)
{
        return openat(IMPORTER_TARGET_FD, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int main(int argc, char **argv)
{
        struct setup_failure failure;
        struct import import = {.source = IMPORTER_SOURCE_FD, .progress = send_message};
        struct stat st;
        if (argc != 3 || !parse_u64(argv[1], &import.max_bytes) ||
            !parse_u64(argv[2], &import.max_entries) || import.max_bytes > (uint64_t)INT64_MAX / 4 ||
            fstat(IMPORTER_SOCKET_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
                static const char text[] =
                    "mai-sandbox-image: a part of mai-sandbox image, not for use by hand\n";
                (void)fd_write_all(STDERR_FILENO, text, sizeof text - 1);
                return 2;
        }
        import.root = open_target(IMPORTER_ROOT);
        import.layout = open_target(IMPORTER_LAYOUT);
        if (import.root < 0 || import.layout < 0 || fstat(import.source, &st) < 0) {
                (void)failure_set(&failure, errno, NULL, NULL, "opening where the image goes");
                return fail(&failure);
        }
        (void)close(IMPORTER_TARGET_FD);
        const int writable[] = {import.root, import.layout};
        umask(0);
        (void)setlocale(
            LC_CTYPE, "C.UTF-8"); /* names are UTF-8; others are taken as the bytes that they are */
        int r = harden(writable, ARRAY_SIZE(writable), S_ISDIR(st.st_mode) ? import.source : -1,
            import.max_bytes, &failure);
        if (r == 0)
                r = import_run(&import, &failure);
        if (r < 0)
                return fail(&failure);
        send_message(&import.message, NULL);
        return 0;
}
