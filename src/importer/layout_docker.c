/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.json is a list of images; each names its configuration and its layers by their paths. */
#include "importer/layout_internal.h"

/* A path that names a digest ("HEX.json", "blobs/sha256/HEX") must be right about it. */
static int check_name(const char *path, const char *seen, struct setup_failure *failure)
{
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        char hex[SHA256_HEX_SIZE];
        (void)snprintf(hex, sizeof hex, "%.*s", (int)strcspn(name, "."), name);
        if (layout_is_digest(hex) && strcmp(hex, seen) != 0)
                return failure_set(failure, 0, NULL, "get the image again",
                    "\"%.80s\" of the image has the digest sha256:%s", path, seen);
        return 0;
}

int layout_read_docker(int directory, struct layout *layout, struct setup_failure *failure)
{
        _cleanup_(json_decrefp) json_t *images = NULL, *config = NULL;
        char digest[SHA256_HEX_SIZE];
        layout->format = "docker";
        int r = layout_read_json(directory, LAYOUT_DOCKER_MARK, &images, digest, failure);
        if (r < 0)
                return r;
        if (json_array_size(images) != 1)
                return failure_set(failure, 0, NULL, "save one image at a time",
                    "there are %zu images in it", json_array_size(images));
        const json_t *image = json_array_get(images, 0);
        const char *path = json_string_value(json_object_get(image, "Config"));
        const json_t *layers = json_object_get(image, "Layers");
        if (!path)
                return failure_set(failure, 0, NULL, NULL, "the image names no configuration");
        r = layout_read_json(directory, path, &config, digest, failure);
        if (r == 0)
                r = check_name(path, digest, failure);
        if (r == 0)
                r = layout_take_config(layout, config, failure);
        if (r < 0)
                return r;
        if (json_array_size(layers) != layout->layer_count)
                return failure_set(failure, 0, NULL, NULL, "the image has %zu layers and %zu diff_ids",
                    json_array_size(layers), layout->layer_count);
        for (size_t i = 0; i < layout->layer_count; i++) {
                const char *name = json_string_value(json_array_get(layers, i));
                if (!name)
                        return failure_set(failure, 0, NULL, NULL, "a layer of the image has no name");
                layout->layers[i].fd = layout_open_file(directory, name, &layout->layers[i].size, failure);
                if (layout->layers[i].fd < 0)
                        return layout->layers[i].fd;
        }
        (void)snprintf(layout->digest, sizeof layout->digest, "sha256:%s", digest);
        return 0;
}
