/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/collect.h"

#include "sandbox/output_dir.h"
#include "util/sha256.h"

static bool is_unchanged_input(const struct execution_request *request, const char *path, size_t path_size,
    const void *data, size_t size)
{
        for (size_t i = 0; i < request->file_count; i++) {
                const struct input_file *input = &request->files[i];
                if (strlen(input->path) == path_size && memcmp(input->path, path, path_size) == 0)
                        return input->size == size && (size == 0 || memcmp(input->data, data, size) == 0);
        }
        return false;
}

static int list_file(
    struct result *result, const char *path, size_t path_size, const void *data, size_t size)
{
        if ((result->file_count & (result->file_count - 1)) == 0) {
                size_t room = result->file_count > 0 ? 2 * result->file_count : 1;
                struct run_file *bigger = reallocarray(result->files, room, sizeof *bigger);
                if (!bigger)
                        return -ENOMEM;
                result->files = bigger;
        }
        struct run_file *file = &result->files[result->file_count];
        *file = (struct run_file){.path = malloc(path_size + 1), .path_size = path_size, .size = size};
        if (!file->path)
                return -ENOMEM;
        memcpy(file->path, path, path_size);
        file->path[path_size] = '\0';
        sha256_hex(size > 0 ? data : "", size, file->sha256);
        result->file_count++;
        return 0;
}

int collect_file(struct result *result, const struct execution_request *request,
    const struct container_event *event, struct error *err)
{
        const char *path = event->file.path;
        size_t path_size = event->file.path_size;
        const void *data = event->file.size > 0 ? event->file.data : "";
        size_t size = event->file.size;

        if (is_unchanged_input(request, path, path_size, data, size))
                return 0;
        if (list_file(result, path, path_size, data, size) < 0)
                return error_oom(err);
        if (request->output_dirfd < 0)
                return 0;
        return output_dir_write(request->output_dirfd, path, path_size, event->file.mode, data, size, err);
}
