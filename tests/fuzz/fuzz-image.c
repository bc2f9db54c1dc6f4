/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive as somebody hostile makes it. The first byte says what it is given as: a file to import, or one
 * of the JSON documents of a layout. Beside the tree lies a canary, which has to stay as it is, and above
 * all of it nothing may come to be.
 */
#include "importer/import.h"
#include "importer/layout.h"
#include "util/fd.h"
#include "util/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ENTRIES_AROUND 3 /* root, layout, canary */

static int make_directory(int above, const char *name)
{
        if (mkdirat(above, name, 0700) < 0)
                abort();
        return openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void write_file(int directory, const char *name, const void *data, size_t size)
{
        _cleanup_(closep) int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || fd_write_all(fd, data, size) < 0)
                abort();
}

static void check_around(int around)
{
        char text[16] = "";
        unsigned count = 0;
        DIR *listing = fdopendir(openat(around, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        for (const struct dirent *entry; listing && (entry = readdir(listing));)
                count += entry->d_name[0] != '.';
        if (!listing || count != ENTRIES_AROUND || fd_read_small(around, "canary", text, sizeof text) != 5 ||
            strcmp(text, "alive") != 0)
                abort();
        (void)closedir(listing);
}

static void import_one(int around, int root, int layout, const uint8_t *data, size_t size)
{
        struct setup_failure failure;
        struct import import = {.root = root, .layout = layout, .max_bytes = 1U << 20, .max_entries = 500};
        _cleanup_(closep) int file = memfd_create("archive", MFD_CLOEXEC);
        if (file < 0 || fd_write_all(file, data, size) < 0)
                abort();
        import.source = file;
        if (import_run(&import, &failure) == 0 &&
            (import.message.done.entries > 500 || import.message.done.bytes > 1U << 20))
                abort();
        check_around(around);
}

static void read_one(int layout, const char *mark, const char *name, const uint8_t *data, size_t size)
{
        struct setup_failure failure;
        _cleanup_(layout_clear) struct layout found = {};
        write_file(layout, mark, "{}", 2);
        write_file(layout, name, data, size);
        (void)layout_read(layout, &found, &failure);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0)
                return 0;
        char path[] = "/dev/shm/mai-fuzz-image-XXXXXX";
        if (!mkdtemp(path))
                abort();
        {
                _cleanup_(closep) int around = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                _cleanup_(closep) int root = make_directory(around, "root");
                _cleanup_(closep) int layout = make_directory(around, "layout");
                write_file(around, "canary", "alive", 5);
                if (data[0] == 'i')
                        read_one(layout, "oci-layout", "index.json", data + 1, size - 1);
                else if (data[0] == 'm')
                        read_one(layout, "manifest.json", "manifest.json", data + 1, size - 1);
                else
                        import_one(around, root, layout, data + 1, size - 1);
        }
        if (remove_tree(AT_FDCWD, path) < 0)
                abort();
        return 0;
}
