/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/docker/image.h"

#include "sandbox/docker/engine.h"
#include "sandbox/docker/request.h"
#include "util/sha256.h"

#define TAR_BLOCK 512U

extern const char embedded_init[];
extern const uint64_t embedded_init_size;

extern const char embedded_nss[];
extern const uint64_t embedded_nss_size;

#define NSS_MODULE "libnss_mai.so.2"

/* Names of users and hosts: by the image's own files, and then by our module (guest/nss.c). There is no
 * network to ask. */
static const char nss_configuration[] = "passwd: files mai\n"
                                        "group: files mai\n"
                                        "shadow: files\n"
                                        "hosts: files mai\n"
                                        "networks: files\n"
                                        "protocols: files\n"
                                        "services: files\n";

void image_init_program(const void **ret_data, size_t *ret_size)
{
        *ret_data = embedded_init;
        *ret_size = (size_t)embedded_init_size;
}

void image_derived_name(const char *base_id, char *ret, size_t size)
{
        SHA2_CTX context;
        char hex[SHA256_HEX_SIZE];
        const void *init;
        size_t init_size;
        image_init_program(&init, &init_size);
        SHA256Init(&context);
        SHA256Update(&context, (const uint8_t *)base_id, strlen(base_id) + 1);
        SHA256Update(&context, (const uint8_t *)init, init_size);
        SHA256Update(&context, (const uint8_t *)embedded_nss, (size_t)embedded_nss_size);
        SHA256Update(&context, (const uint8_t *)nss_configuration, sizeof nss_configuration);
        sha256_finish_hex(&context, hex);
        (void)snprintf(ret, size, "%s:%.32s", IMAGE_REPOSITORY, hex);
}

int image_check(const json_t *answer, const char *name, struct error *err)
{
        const json_t *config = json_object_get(answer, "Config");
        if (json_array_size(json_object_get(config, "OnBuild")) > 0)
                return error_set(err, ERROR_IMAGE, 0, "use an image without ONBUILD",
                    "image: \"%s\" has ONBUILD instructions, which would run outside any sandbox", name);
        if (json_object_size(json_object_get(config, "Volumes")) > 0)
                return error_set(err, ERROR_IMAGE, 0, "use an image without VOLUME",
                    "image: \"%s\" declares volumes, which would be writable without a limit", name);
        return 0;
}

/* A number in a tar header: octal digits and a NUL. */
static void tar_number(char *field, size_t size, uint64_t value)
{
        field[size - 1] = '\0';
        for (size_t i = size - 1; i-- > 0; value >>= 3)
                field[i] = (char)('0' + (value & 7));
}

/* One plain file of a ustar archive. */
static int tar_file(struct strbuf *tar, const char *name, unsigned mode, const void *data, size_t size)
{
        struct {
                char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
                    magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
        } header = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
        _Static_assert(sizeof header == TAR_BLOCK, "a tar header is one block");
        (void)snprintf(header.name, sizeof header.name, "%s", name);
        tar_number(header.mode, sizeof header.mode, mode);
        tar_number(header.uid, sizeof header.uid, 0);
        tar_number(header.gid, sizeof header.gid, 0);
        tar_number(header.size, sizeof header.size, size);
        tar_number(header.mtime, sizeof header.mtime, 0);
        memset(header.checksum, ' ', sizeof header.checksum);
        unsigned sum = 0;
        for (size_t i = 0; i < sizeof header; i++)
                sum += ((const unsigned char *)&header)[i];
        tar_number(header.checksum, sizeof header.checksum - 1, sum);

        static const char zeros[TAR_BLOCK];
        if (strbuf_append(tar, &header, sizeof header) < 0 || strbuf_append(tar, data, size) < 0)
                return -ENOMEM;
        size_t padding = (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
        return strbuf_append(tar, zeros, padding) < 0 ? -ENOMEM : 0;
}

int image_context(const char *base_id, struct strbuf *ret)
{
        static const char end[2 * TAR_BLOCK];
        char recipe[1024];
        const void *init;
        size_t init_size;
        image_init_program(&init, &init_size);
        /* Nothing of the base image runs: files are only copied. Where a C library looks for modules is its
         * maker's choice. */
        int length = snprintf(recipe, sizeof recipe,
            "FROM %s\n"
            "COPY init " DOCKER_INIT_PATH "\n"
            "COPY " NSS_MODULE " /usr/lib/" NSS_MODULE "\n"
            "COPY " NSS_MODULE " /usr/lib64/" NSS_MODULE "\n"
            "COPY nsswitch.conf /etc/nsswitch.conf\n"
            "LABEL " DOCKER_LABEL "base=%s\n",
            base_id, base_id);
        int r = tar_file(ret, "Dockerfile", 0644, recipe, (size_t)length);
        if (r == 0)
                r = tar_file(ret, "init", 0555, init, init_size);
        if (r == 0)
                r = tar_file(ret, NSS_MODULE, 0644, embedded_nss, (size_t)embedded_nss_size);
        if (r == 0)
                r = tar_file(ret, "nsswitch.conf", 0644, nss_configuration, sizeof nss_configuration - 1);
        if (r == 0)
                r = strbuf_append(ret, end, sizeof end) < 0 ? -ENOMEM : 0;
        return r;
}

int image_answer_error(const char *body, size_t size, const char *what, struct error *err)
{
        int r = 0;
        for (size_t at = 0; at < size && r == 0;) {
                json_error_t state;
                json_t *line = json_loadb(body + at, size - at, JSON_DISABLE_EOF_CHECK, &state);
                if (!line)
                        break; /* white space at the end, or cut off */
                const char *message = json_string_value(json_object_get(line, "error"));
                char words[ENGINE_WORDS_MAX];
                if (message)
                        r = error_set(err, ERROR_IMAGE, 0,
                            "see the engine's log, and whether its disk is full",
                            "docker: %s: the engine says: %s", what,
                            engine_words(message, strlen(message), words, sizeof words));
                at += (size_t)state.position;
                json_decref(line);
        }
        return r;
}
