/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over a directory of inputs, one after the other, in builds without a fuzzer. */
#include "util/fd.h"

#include <dirent.h>
#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (4U * 1024 * 1024)

static int run_file(int directory, const char *name)
{
        _cleanup_(closep) int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        _cleanup_(freep) char *data = NULL;
        size_t size;
        if (fd < 0 || fd_read_whole(fd, INPUT_MAX, &data, &size) < 0)
                return -EIO;
        return LLVMFuzzerTestOneInput((const uint8_t *)data, size);
}

int main(int argc, char **argv)
{
        unsigned count = 0;
        DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
        if (!directory) {
                (void)fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
                return 2;
        }
        for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
                if (entry->d_name[0] == '.')
                        continue;
                if (run_file(dirfd(directory), entry->d_name) != 0) {
                        (void)fprintf(stderr, "%s: failed\n", entry->d_name);
                        return 1;
                }
                count++;
        }
        (void)closedir(directory);
        (void)printf("%u inputs\n", count);
        return count > 0 ? 0 : 1;
}
