/* SPDX-License-Identifier: Apache-2.0 */
#include "importer/layout_internal.h"

#include "util/fd.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

/* Manifests and configurations are a few KiB. */
#define JSON_MAX (4U << 20)

void layout_clear(struct layout *layout)
{
        for (size_t i = 0; i < layout->layer_count; i++)
                close_and_forget(&layout->layers[i].fd);
        free(layout->layers);
        *layout = (struct layout){};
}

int layout_open_file(int directory, const char *path, uint64_t *ret_size, struct setup_failure *failure)
{
        /* `docker save` used to write links from one layer to an equal one, so links within are followed. */
        struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
            .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
        struct stat st;
        _cleanup_(closep) int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
        if (fd < 0 || fstat(fd, &st) < 0)
                return failure_set(failure, errno, NULL, "make the archive or the layout anew",
                    "opening \"%.120s\" of the image", path);
        if (!S_ISREG(st.st_mode))
                return failure_set(
                    failure, 0, NULL, NULL, "\"%.120s\" of the image is no regular file", path);
        *ret_size = (uint64_t)st.st_size;
        return take_fd(&fd);
}

int layout_read_json(int directory, const char *path, json_t **ret, char digest[SHA256_HEX_SIZE],
    struct setup_failure *failure)
{
        uint64_t ignored;
        _cleanup_(closep) int fd = layout_open_file(directory, path, &ignored, failure);
        if (fd < 0)
                return fd;
        _cleanup_(freep) char *text = NULL;
        size_t size;
        int r = fd_read_whole(fd, JSON_MAX, &text, &size);
        if (r < 0)
                return failure_set(failure, -r, NULL, NULL, "reading \"%.120s\" of the image", path);
        json_error_t why;
        json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
        if (!json)
                return failure_set(
                    failure, 0, NULL, NULL, "\"%.80s\" of the image is no JSON: %.100s", path, why.text);
        sha256_hex(text, size, digest);
        *ret = json;
        return 0;
}

bool layout_is_digest(const char *hex)
{
        return strlen(hex) == SHA256_HEX_SIZE - 1 && strspn(hex, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}

int layout_blob_path(
    const json_t *descriptor, char ret[96], const char **ret_hex, struct setup_failure *failure)
{
        const char *digest = json_string_value(json_object_get(descriptor, "digest"));
        if (!digest || strncmp(digest, "sha256:", 7) != 0 || !layout_is_digest(digest + 7))
                return failure_set(failure, 0, NULL, NULL,
                    "the image names a part by \"%.80s\", which is no sha256", digest ? digest : "nothing");
        *ret_hex = digest + 7;
        (void)snprintf(ret, 96, "blobs/sha256/%s", *ret_hex);
        return 0;
}

/* This machine's name in the words of the registry world. */
static void own_architecture(char ret[66])
{
        static const char *const names[][2] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "386"},
            {"ppc64le", "ppc64le"}, {"s390x", "s390x"}, {"riscv64", "riscv64"}};
        struct utsname host;
        const char *name = uname(&host) < 0 ? "unknown" : host.machine;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcmp(name, names[i][0]) == 0)
                        name = names[i][1];
        (void)snprintf(ret, 66, "%s", name);
}

bool layout_runs_here(const json_t *platform)
{
        const char *os = json_string_value(json_object_get(platform, "os"));
        const char *architecture = json_string_value(json_object_get(platform, "architecture"));
        char own[66];
        own_architecture(own);
        return os && architecture && strcmp(os, "linux") == 0 && strcmp(architecture, own) == 0;
}

/* Directories by absolute paths and nothing else, or it is as if it said nothing. */
static void take_search_path(struct layout *layout, const char *value)
{
        if (strlen(value) >= sizeof layout->search_path)
                return;
        for (const char *at = value;;) {
                if (*at != '/')
                        return;
                for (; *at && *at != ':'; at++)
                        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
                                return;
                if (!*at++)
                        break;
        }
        (void)snprintf(layout->search_path, sizeof layout->search_path, "%s", value);
}

int layout_take_config(struct layout *layout, const json_t *config, struct setup_failure *failure)
{
        if (!layout_runs_here(config)) {
                const char *os = json_string_value(json_object_get(config, "os"));
                const char *architecture = json_string_value(json_object_get(config, "architecture"));
                char own[66];
                own_architecture(own);
                return failure_set(failure, 0, NULL, "get the image for this machine",
                    "the image is for %.40s/%.40s, and this is linux/%.40s", os ? os : "?",
                    architecture ? architecture : "?", own);
        }
        const json_t *ids = json_object_get(json_object_get(config, "rootfs"), "diff_ids");
        size_t count = json_array_size(ids);
        if (count == 0 || count > LAYOUT_LAYERS_MAX)
                return failure_set(failure, 0, NULL, NULL, "the image has %zu layers; 1 to %u can be", count,
                    LAYOUT_LAYERS_MAX);
        layout->layers = calloc(count, sizeof *layout->layers);
        if (!layout->layers)
                return failure_set(failure, ENOMEM, NULL, NULL, "reading the image's configuration");
        layout->layer_count = count;
        for (size_t i = 0; i < count; i++)
                layout->layers[i].fd = -1;
        for (size_t i = 0; i < count; i++) {
                const char *id = json_string_value(json_array_get(ids, i));
                if (!id || strncmp(id, "sha256:", 7) != 0 || !layout_is_digest(id + 7))
                        return failure_set(failure, 0, NULL, NULL, "a diff_id of the image is no sha256");
                (void)snprintf(layout->layers[i].plain, sizeof layout->layers[i].plain, "%s", id + 7);
        }
        const json_t *environment = json_object_get(json_object_get(config, "config"), "Env");
        for (size_t i = 0; i < json_array_size(environment); i++) {
                const char *assignment = json_string_value(json_array_get(environment, i));
                if (assignment && strncmp(assignment, "PATH=", 5) == 0)
                        take_search_path(layout, assignment + 5);
        }
        return 0;
}

bool layout_is_one(int directory)
{
        struct stat st;
        return fstatat(directory, LAYOUT_OCI_MARK, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
               fstatat(directory, LAYOUT_DOCKER_MARK, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int layout_read(int directory, struct layout *ret, struct setup_failure *failure)
{
        struct stat st;
        /* Where it is both, as of late, the OCI form has the digests. */
        bool oci = fstatat(directory, LAYOUT_OCI_MARK, &st, AT_SYMLINK_NOFOLLOW) == 0;
        return oci ? layout_read_oci(directory, ret, failure) : layout_read_docker(directory, ret, failure);
}
