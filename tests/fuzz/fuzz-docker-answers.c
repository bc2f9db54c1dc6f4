/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of an engine: refusals, the account of an image, of a container, of a build, of a pull. The first
 * byte says which. What must hold: no crash, no leak; an error has its code and a message that is bounded
 * and without control characters; an account that is not what was asked for is never taken for it.
 */
#include "sandbox/docker/container.h"

#include "sandbox/docker/image.h"
#include "sandbox/docker/json_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGE_MAX 1500U

static void must(bool condition)
{
        if (!condition)
                abort();
}

static void must_be_clear(const struct error *err)
{
        must(err->code != ERROR_NONE && err->message && strlen(err->message) < MESSAGE_MAX);
        for (const char *at = err->message; *at; at++)
                must((unsigned char)*at >= ' ' && *at != 0x7f);
}

static void refusal(const char *body, size_t size)
{
        _cleanup_(error_clear) struct error err = {};
        must(engine_refusal(500, body, size, "doing something", &err) < 0);
        must_be_clear(&err);
        must(err.hint != NULL);
}

static void image(const char *body, size_t size)
{
        _cleanup_(error_clear) struct error err = {};
        json_error_t ignored;
        json_t *account = json_loadb(body, size, 0, &ignored);
        if (image_check(account, "an-image", &err) < 0)
                must_be_clear(&err);
        json_decref(account);
}

static void build(const char *body, size_t size)
{
        _cleanup_(error_clear) struct error err = {};
        if (image_answer_error(body, size, "building", &err) < 0)
                must_be_clear(&err);
}

static void lines(const char *body, size_t size)
{
        struct json_lines reader = JSON_LINES_INIT;
        json_t *object;
        while (json_lines_next(&reader, &body, &size, &object) > 0) {
                must(json_is_object(object));
                json_decref(object);
        }
        json_lines_clear(&reader);
}

/* The init's account says nothing good, so that whatever the engine says, no gate may open. */
static void account(const char *body, size_t size)
{
        _cleanup_(error_clear) struct error err = {};
        struct guest_evidence guest = {.dumpable = 1};
        const struct container_spec spec = {
            .limits = {.mem_limit = 1 << 20, .pids_limit = 10, .disk_limit = 1 << 20, .inode_limit = 100},
            .read_only = true};
        struct container c = {.spec = &spec, .guest_evidence = &guest};
        c.inspected = strndup(body, size);
        c.version = strndup(body, size);
        must(evidence_gather(&c, &err) < 0);
        must_be_clear(&err);
        free(c.inspected);
        free(c.version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static void (*const readers[])(const char *body, size_t size) = {
            refusal, image, build, lines, account};
        if (size < 1)
                return 0;
        readers[data[0] % ARRAY_SIZE(readers)]((const char *)data + 1, size - 1);
        return 0;
}
