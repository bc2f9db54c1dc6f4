/* SPDX-License-Identifier: Apache-2.0 */
/* index.json names manifests, or further indexes; a manifest names a configuration and layers. */
#include "importer/layout_internal.h"

#define INDEX_DEPTH_MAX 4U
#define MANIFESTS_MAX 1024U

struct choice {
        unsigned found;
        char path[96], hex[SHA256_HEX_SIZE];
};

/* A part whose digest must be the one that it is named by. */
static int read_part(int directory, const json_t *descriptor, json_t **ret, char path[96],
    char hex[SHA256_HEX_SIZE], struct setup_failure *failure)
{
        const char *named;
        char seen[SHA256_HEX_SIZE];
        _cleanup_(json_decrefp) json_t *json = NULL;
        int r = layout_blob_path(descriptor, path, &named, failure);
        if (r == 0)
                r = layout_read_json(directory, path, &json, seen, failure);
        if (r < 0)
                return r;
        if (strcmp(seen, named) != 0)
                return failure_set(failure, 0, NULL, "get the image again",
                    "a part of the image has the digest sha256:%s and is named sha256:%s", seen, named);
        (void)snprintf(hex, SHA256_HEX_SIZE, "%s", named);
        *ret = TAKE_PTR(json);
        return 0;
}

/* Looks through an index for manifests of this machine. The depth is bounded. */
// NOLINTNEXTLINE(misc-no-recursion)
static int choose(
    int directory, const json_t *index, unsigned depth, struct choice *choice, struct setup_failure *failure)
{
        const json_t *manifests = json_object_get(index, "manifests");
        if (!json_is_array(manifests) || json_array_size(manifests) > MANIFESTS_MAX ||
            depth > INDEX_DEPTH_MAX)
                return failure_set(failure, 0, NULL, NULL, "the image's index makes no sense");
        for (size_t i = 0; i < json_array_size(manifests); i++) {
                const json_t *descriptor = json_array_get(manifests, i);
                const json_t *platform = json_object_get(descriptor, "platform");
                if (platform && !layout_runs_here(platform))
                        continue;
                char path[96], hex[SHA256_HEX_SIZE];
                _cleanup_(json_decrefp) json_t *part = NULL;
                int r = read_part(directory, descriptor, &part, path, hex, failure);
                if (r < 0)
                        return r;
                if (json_object_get(part, "manifests")) {
                        r = choose(directory, part, depth + 1, choice, failure);
                        if (r < 0)
                                return r;
                        continue;
                }
                if (choice->found > 0 && strcmp(choice->hex, hex) == 0)
                        continue; /* one image under two names */
                choice->found++;
                memcpy(choice->path, path, sizeof path);
                memcpy(choice->hex, hex, sizeof hex);
        }
        return 0;
}

static int open_layers(
    int directory, struct layout *layout, const json_t *layers, struct setup_failure *failure)
{
        if (json_array_size(layers) != layout->layer_count)
                return failure_set(failure, 0, NULL, NULL, "the image has %zu layers and %zu diff_ids",
                    json_array_size(layers), layout->layer_count);
        for (size_t i = 0; i < layout->layer_count; i++) {
                struct layout_layer *layer = &layout->layers[i];
                char path[96];
                const char *hex;
                const json_t *descriptor = json_array_get(layers, i);
                int r = layout_blob_path(descriptor, path, &hex, failure);
                if (r < 0)
                        return r;
                (void)snprintf(layer->packed, sizeof layer->packed, "%s", hex);
                layer->fd = layout_open_file(directory, path, &layer->size, failure);
                if (layer->fd < 0)
                        return layer->fd;
                json_int_t size = json_integer_value(json_object_get(descriptor, "size"));
                if (size < 0 || (uint64_t)size != layer->size)
                        return failure_set(failure, 0, NULL, "get the image again",
                            "layer %zu of the image has %llu bytes and not %lld", i + 1,
                            (unsigned long long)layer->size, (long long)size);
        }
        return 0;
}

int layout_read_oci(int directory, struct layout *layout, struct setup_failure *failure)
{
        _cleanup_(json_decrefp) json_t *index = NULL, *manifest = NULL, *config = NULL;
        char digest[SHA256_HEX_SIZE], path[96], hex[SHA256_HEX_SIZE];
        struct choice choice = {};
        layout->format = "oci";
        int r = layout_read_json(directory, "index.json", &index, digest, failure);
        if (r == 0)
                r = choose(directory, index, 0, &choice, failure);
        if (r < 0)
                return r;
        if (choice.found != 1)
                return failure_set(failure, 0, NULL,
                    choice.found ? "copy the one that you want: skopeo copy oci:DIR:TAG oci:OTHER"
                                 : "get the image for this machine",
                    "there are %u images for this machine in it", choice.found);
        r = layout_read_json(directory, choice.path, &manifest, digest, failure);
        if (r == 0)
                r = read_part(directory, json_object_get(manifest, "config"), &config, path, hex, failure);
        if (r == 0)
                r = layout_take_config(layout, config, failure);
        if (r == 0)
                r = open_layers(directory, layout, json_object_get(manifest, "layers"), failure);
        (void)snprintf(layout->digest, sizeof layout->digest, "sha256:%s", r == 0 ? hex : "");
        (void)snprintf(layout->manifest_digest, sizeof layout->manifest_digest, "sha256:%s", choice.hex);
        return r;
}
