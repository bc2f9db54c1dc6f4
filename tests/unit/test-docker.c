/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the Docker backend that need no engine: parsers, addresses, what is asked for. */
#include "sandbox/docker/demux.h"
#include "sandbox/docker/endpoint.h"
#include "sandbox/docker/engine.h"
#include "sandbox/docker/frame_reader.h"
#include "sandbox/docker/image.h"
#include "sandbox/docker/profile.h"
#include "sandbox/docker/request.h"
#include "seccomp/table.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- The multiplexed stream ---- */

static const char pieces[] =
    "\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\3err\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\6 world";

/* Fed in steps of `step` bytes: both streams come out whole. */
static void demux_in_steps(size_t step)
{
        struct demux demux = {};
        char out[2][32] = {};
        size_t at = 0;
        while (at < sizeof pieces - 1) {
                const char *data = pieces + at;
                size_t size = MIN(step, sizeof pieces - 1 - at);
                at += size;
                enum demux_stream stream;
                const char *part;
                size_t part_size;
                int r;
                while ((r = demux_next(&demux, &data, &size, &stream, &part, &part_size)) > 0) {
                        char *into = out[stream == DEMUX_STDOUT ? 0 : 1];
                        memcpy(into + strlen(into), part, part_size);
                }
                assert_int_equal(r, 0);
                assert_int_equal(size, 0);
        }
        assert_string_equal(out[0], "hello world");
        assert_string_equal(out[1], "err");
}

static void demux_takes_streams_cut_anywhere(void **state)
{
        for (size_t step = 1; step <= sizeof pieces; step++)
                demux_in_steps(step);
}

static void demux_refuses_other_data(void **state)
{
        static const char *const bad[] = {"HTTP/1.1 500 Oh", "\4\0\0\0\0\0\0\1x", "\1\0\1\0\0\0\0\1x"};
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                struct demux demux = {};
                const char *data = bad[i], *part;
                size_t size = 9, part_size;
                enum demux_stream stream;
                assert_int_equal(demux_next(&demux, &data, &size, &stream, &part, &part_size), -EBADMSG);
        }
}

/* ---- Guest frames ---- */

static void frames_come_out_whole(void **state)
{
        char bytes[64];
        const struct guest_header first = {.size = 3, .type = 7}, second = {.size = 0, .type = 8};
        memcpy(bytes, &first, sizeof first);
        memcpy(bytes + sizeof first, "abc", 3);
        memcpy(bytes + sizeof first + 3, &second, sizeof second);
        size_t total = 2 * sizeof first + 3;
        for (size_t step = 1; step <= total; step++) {
                struct frame_reader reader = {};
                unsigned seen = 0;
                for (size_t at = 0; at < total; at += step) {
                        const char *data = bytes + at;
                        size_t size = MIN(step, total - at);
                        struct received_frame frame;
                        while (frame_reader_next(&reader, &data, &size, &frame) > 0) {
                                assert_int_equal(frame.type, seen == 0 ? 7 : 8);
                                assert_int_equal(frame.size, seen == 0 ? 3 : 0);
                                if (seen == 0)
                                        assert_memory_equal(frame.payload, "abc", 3);
                                seen++;
                        }
                }
                assert_int_equal(seen, 2);
                frame_reader_clear(&reader);
        }
}

static void frames_have_a_bound(void **state)
{
        const struct guest_header huge = {.size = GUEST_FRAME_MAX + 1, .type = 7};
        struct frame_reader reader = {};
        const char *data = (const char *)&huge;
        size_t size = sizeof huge;
        struct received_frame frame;
        assert_int_equal(frame_reader_next(&reader, &data, &size, &frame), -EBADMSG);
        frame_reader_clear(&reader);
}

/* ---- Addresses ---- */

static void endpoints(void **state)
{
        static const struct {
                const char *host, *base, *socket; /* base NULL: refused */
        } cases[] = {
            {"unix:///run/x.sock", "http://engine", "/run/x.sock"},
            {"tcp://h", "http://h:2375", NULL},
            {"tcp://h:99", "http://h:99", NULL},
            {"tcp://[::1]:99/", "http://[::1]:99", NULL},
            {"tcp://[::1]", "http://[::1]:2375", NULL},
            {"unix://relative", NULL, NULL},
            {"tcp://", NULL, NULL},
            {"tcp://h:1/path", NULL, NULL},
            {"tcp://user@h:1", NULL, NULL},
            {"ssh://h", NULL, NULL},
        };
        (void)unsetenv("DOCKER_CERT_PATH");
        (void)unsetenv("DOCKER_TLS_VERIFY");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(endpoint_clear) struct endpoint endpoint = {};
                _cleanup_(error_clear) struct error err = {};
                int r = endpoint_find(cases[i].host, &endpoint, &err);
                if (!cases[i].base) {
                        assert_true(r < 0);
                        assert_int_equal(err.code, ERROR_BACKEND);
                        assert_non_null(strstr(err.message, cases[i].host));
                        continue;
                }
                assert_int_equal(r, 0);
                assert_string_equal(endpoint.base_url, cases[i].base);
                assert_true((endpoint.socket_path != NULL) == (cases[i].socket != NULL));
                if (cases[i].socket)
                        assert_string_equal(endpoint.socket_path, cases[i].socket);
        }
}

static void the_policy_comes_before_the_environment(void **state)
{
        _cleanup_(endpoint_clear) struct endpoint policy = {}, environment = {}, usual = {};
        assert_int_equal(setenv("DOCKER_HOST", "unix:///from/environment", 1), 0);
        assert_int_equal(endpoint_find("unix:///from/policy", &policy, NULL), 0);
        assert_int_equal(endpoint_find(NULL, &environment, NULL), 0);
        (void)unsetenv("DOCKER_HOST");
        assert_int_equal(endpoint_find(NULL, &usual, NULL), 0);
        assert_string_equal(policy.socket_path, "/from/policy");
        assert_string_equal(environment.socket_path, "/from/environment");
        assert_string_equal(usual.socket_path, "/var/run/docker.sock");
}

static void tls_needs_all_three_files(void **state)
{
        _cleanup_(endpoint_clear) struct endpoint endpoint = {};
        _cleanup_(error_clear) struct error err = {};
        assert_int_equal(setenv("DOCKER_CERT_PATH", "/nonexistent", 1), 0);
        assert_true(endpoint_find("tcp://h:2376", &endpoint, &err) < 0);
        assert_non_null(strstr(err.message, "/nonexistent/ca.pem"));
        (void)unsetenv("DOCKER_CERT_PATH");
}

/* ---- The engine's words ---- */

static void refusals_keep_the_message(void **state)
{
        _cleanup_(error_clear) struct error err = {};
        static const char json[] = "{\"message\":\"no space left on device\"}";
        static const char page[] = "<html>\r\n502</html>";
        assert_true(engine_refusal(500, json, sizeof json - 1, "creating the container", &err) < 0);
        assert_string_equal(err.message,
            "docker: creating the container: the engine says: no space left on device (status 500)");
        assert_true(engine_refusal(502, page, sizeof page - 1, "x", &err) < 0);
        assert_non_null(strstr(err.message, "<html>  502</html> (status 502)"));
        assert_true(engine_refusal(502, NULL, 0, "x", &err) < 0);
}

static void build_answers(void **state)
{
        _cleanup_(error_clear) struct error err = {};
        static const char good[] = "{\"stream\":\"Step 1\\n\"}\r\n{\"aux\":{\"ID\":\"sha256:1\"}}\r\n";
        static const char bad[] = "{\"stream\":\"Step 1\\n\"}\r\n{\"error\":\"disk quota exceeded\"}\r\n";
        assert_int_equal(image_answer_error(good, sizeof good - 1, "x", &err), 0);
        assert_true(image_answer_error(bad, sizeof bad - 1, "x", &err) < 0);
        assert_non_null(strstr(err.message, "disk quota exceeded"));
}

static void dangerous_images(void **state)
{
        static const struct {
                const char *answer, *word; /* NULL: fine */
        } cases[] = {
            {"{\"Config\":{\"OnBuild\":[],\"Volumes\":null}}", NULL},
            {"{\"Config\":{}}", NULL},
            {"{\"Config\":{\"OnBuild\":[\"RUN x\"]}}", "ONBUILD"},
            {"{\"Config\":{\"Volumes\":{\"/data\":{}}}}", "volumes"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(error_clear) struct error err = {};
                json_t *answer = json_loads(cases[i].answer, 0, NULL);
                int r = image_check(answer, "img", &err);
                assert_true((r < 0) == (cases[i].word != NULL));
                if (cases[i].word)
                        assert_non_null(strstr(err.message, cases[i].word));
                json_decref(answer);
        }
}

/* ---- What is asked for ---- */

static json_t *create_request(void)
{
        const struct container_spec spec = {
            .trust_level = (char *)"untrusted",
            .limits = {.cpu_count = 1.5,
                .mem_limit = 64U << 20,
                .pids_limit = 20,
                .disk_limit = 8U << 20,
                .inode_limit = 100,
                .open_files = 64},
            .read_only = true,
            .no_new_privileges = true,
        };
        const struct docker_identity identity = {.id = "0123456789abcdef0123456789abcdef",
            .uid = 70000,
            .gid = 70000,
            .image = "x:1",
            .cpus = "0-1"};
        return docker_create_request(&spec, &identity);
}

static void requests_ask_for_every_wall(void **state)
{
        json_t *request = create_request();
        assert_non_null(request);
        const json_t *host = json_object_get(request, "HostConfig");
        static const struct {
                const char *member;
                json_int_t value;
        } numbers[] = {
            {"Memory", 64 << 20}, {"MemorySwap", 64 << 20}, {"PidsLimit", 21}, {"NanoCpus", 1500000000}};
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                assert_int_equal(
                    json_integer_value(json_object_get(host, numbers[i].member)), numbers[i].value);
        static const struct {
                const char *member, *value;
        } words[] = {{"NetworkMode", "none"}, {"IpcMode", "private"}, {"CgroupnsMode", "private"},
            {"CpusetCpus", "0-1"}};
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                assert_string_equal(
                    json_string_value(json_object_get(host, words[i].member)), words[i].value);
        assert_string_equal(json_string_value(json_array_get(json_object_get(host, "CapDrop"), 0)), "ALL");
        assert_int_equal(json_array_size(json_object_get(host, "CapAdd")), 0);
        assert_true(json_is_true(json_object_get(host, "ReadonlyRootfs")));
        assert_true(json_is_false(json_object_get(host, "Privileged")));
        assert_true(json_is_false(json_object_get(host, "OomKillDisable")));
        assert_string_equal(json_string_value(json_object_get(request, "User")), "70000:70000");
        const char *mount = json_string_value(json_object_get(json_object_get(host, "Tmpfs"), "/dev/shm"));
        assert_non_null(strstr(mount, "size=8388608"));
        assert_non_null(strstr(mount, "nr_inodes=102"));
        const json_t *options = json_object_get(host, "SecurityOpt");
        assert_string_equal(json_string_value(json_array_get(options, 0)), "no-new-privileges");
        assert_int_equal(strncmp(json_string_value(json_array_get(options, 1)), "seccomp={", 9), 0);
        json_decref(request);
}

static void contexts_are_tar_archives(void **state)
{
        _cleanup_(strbuf_clear) struct strbuf tar = STRBUF_INIT(IMAGE_CONTEXT_MAX);
        assert_int_equal(image_context("sha256:00ff", &tar), 0);
        assert_int_equal(tar.size % 512, 0);
        assert_string_equal(tar.data, "Dockerfile");
        assert_string_equal(tar.data + 257, "ustar");
        assert_int_equal(strncmp(tar.data + 512, "FROM sha256:00ff\nCOPY init ", 26), 0);
        assert_string_equal(tar.data + 1024, "init");
        assert_string_equal(tar.data + 1024 + 100, "0000555");
        unsigned sum = 0;
        for (size_t i = 0; i < 512; i++)
                sum += i >= 148 && i < 156 ? (unsigned)' ' : (unsigned)(unsigned char)tar.data[i];
        assert_int_equal(strtoul(tar.data + 148, NULL, 8), sum);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(demux_takes_streams_cut_anywhere),
            cmocka_unit_test(demux_refuses_other_data),
            cmocka_unit_test(frames_come_out_whole),
            cmocka_unit_test(frames_have_a_bound),
            cmocka_unit_test(endpoints),
            cmocka_unit_test(the_policy_comes_before_the_environment),
            cmocka_unit_test(tls_needs_all_three_files),
            cmocka_unit_test(refusals_keep_the_message),
            cmocka_unit_test(build_answers),
            cmocka_unit_test(dangerous_images),
            cmocka_unit_test(requests_ask_for_every_wall),
            cmocka_unit_test(contexts_are_tar_archives),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
