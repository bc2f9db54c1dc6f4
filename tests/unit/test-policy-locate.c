/* SPDX-License-Identifier: Apache-2.0 */
/* Where the policy is looked for, and which files are not believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "policy/policy.h"
#include "util/fd.h"

#include <fcntl.h>
#include <sys/stat.h>

struct place {
        char directory[64];
        char file[128];
};

static void write_file(const char *path, const char *text)
{
        _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(fchmod(fd, 0644), 0);
        assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static int set_up(void **state)
{
        struct place *place = calloc(1, sizeof *place);
        assert_non_null(place);
        (void)snprintf(place->directory, sizeof place->directory, "/tmp/test-policy-XXXXXX");
        assert_non_null(mkdtemp(place->directory));
        (void)snprintf(place->file, sizeof place->file, "%s/sandbox.yaml", place->directory);
        write_file(place->file, "timeout: 5\n");
        assert_int_equal(unsetenv("MAI_SANDBOX_POLICY"), 0);
        assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
        *state = place;
        return 0;
}

static int tear_down(void **state)
{
        struct place *place = *state;
        char path[200];
        static const char *const names[] = {"sandbox.yaml", "link", ".config/mai-sandbox/sandbox.yaml",
            ".config/mai-sandbox", ".config", ""};
        assert_int_equal(chdir("/"), 0);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                (void)snprintf(path, sizeof path, "%s/%s", place->directory, names[i]);
                (void)remove(path);
        }
        free(place);
        return 0;
}

/* Loads and compares where from; NULL: refused, and the message has `part`. */
static void assert_load(const char *path, const char *from, const char *part)
{
        _cleanup_(error_clear) struct error err = {};
        struct policy *policy = NULL;
        int r = policy_load(path, &policy, &err);
        if (from) {
                if (r < 0)
                        fail_msg("%s", err.message);
                assert_string_equal(policy_path(policy), from);
        } else {
                assert_true(r < 0);
                assert_null(policy);
                assert_int_equal(err.code, ERROR_POLICY);
                if (!strstr(err.message, part))
                        fail_msg("expected %s\nfound %s", part, err.message);
        }
        policy_free(policy);
}

static const char *without_any(void)
{
        return access("/etc/mai-sandbox/sandbox.yaml", F_OK) == 0 ? "/etc/mai-sandbox/sandbox.yaml"
                                                                  : "built-in";
}

static void order(void **state)
{
        struct place *place = *state;
        char user[200];
        /* Not the current directory, nor one that a relative HOME or variable leads to. */
        assert_int_equal(chdir(place->directory), 0);
        assert_load(NULL, without_any(), NULL);
        (void)snprintf(user, sizeof user, "%s/.config", place->directory);
        assert_int_equal(mkdir(user, 0755), 0);
        (void)snprintf(user, sizeof user, "%s/.config/mai-sandbox", place->directory);
        assert_int_equal(mkdir(user, 0755), 0);
        (void)snprintf(user, sizeof user, "%s/.config/mai-sandbox/sandbox.yaml", place->directory);
        write_file(user, "timeout: 6\n");
        assert_int_equal(setenv("HOME", ".", 1), 0);
        assert_load(NULL, without_any(), NULL);
        assert_int_equal(setenv("MAI_SANDBOX_POLICY", "sandbox.yaml", 1), 0);
        assert_load(NULL, NULL, "not an absolute path");
        assert_int_equal(unsetenv("MAI_SANDBOX_POLICY"), 0);

        assert_int_equal(setenv("HOME", place->directory, 1), 0);
        assert_load(NULL, user, NULL);
        assert_int_equal(setenv("MAI_SANDBOX_POLICY", place->file, 1), 0);
        assert_load(NULL, place->file, NULL);
        assert_load("sandbox.yaml", "sandbox.yaml", NULL);

        /* A named file that is missing, or a bad one that is found, is no reason to take the next. */
        assert_int_equal(setenv("MAI_SANDBOX_POLICY", "/nonexistent/x", 1), 0);
        assert_load(NULL, NULL, "No such file");
        assert_load("/nonexistent/x", NULL, "No such file");
        assert_int_equal(unsetenv("MAI_SANDBOX_POLICY"), 0);
        write_file(user, "timeout: 0\n");
        assert_load(NULL, NULL, "sandbox.yaml:1:10: timeout");
}

static void files_that_are_not_believed(void **state)
{
        struct place *place = *state;
        assert_load(place->file, place->file, NULL);
        assert_int_equal(chmod(place->file, 0664), 0);
        assert_load(place->file, NULL, "written by its group or by others");
        assert_int_equal(chmod(place->file, 0646), 0);
        assert_load(place->file, NULL, "written by its group or by others");
        assert_int_equal(chmod(place->file, 0600), 0);
        assert_load(place->file, place->file, NULL);
        assert_load(place->directory, NULL, "not a regular file");
        assert_load("/dev/zero", NULL, "not a regular file");

        assert_int_equal(truncate(place->file, 1024 * 1024 + 1), 0);
        assert_load(place->file, NULL, "more than 1 MiB");
        assert_int_equal(truncate(place->file, 0), 0);
        assert_load(place->file, NULL, "empty file");

        /* Opening a FIFO must not wait for a writer. */
        assert_int_equal(unlink(place->file), 0);
        assert_int_equal(mkfifo(place->file, 0600), 0);
        assert_load(place->file, NULL, "not a regular file");
}

static void links_and_owners(void **state)
{
        struct place *place = *state;
        char link[128];
        (void)snprintf(link, sizeof link, "%s/link", place->directory);
        assert_int_equal(symlink(place->file, link), 0);
        assert_load(link, link, NULL);
        if (geteuid() != 0)
                skip(); /* only root can give files away */
        assert_int_equal(lchown(link, 12345, 12345), 0);
        assert_load(link, NULL, "symbolic link that belongs to someone else");
        assert_int_equal(chown(place->file, 12345, 12345), 0);
        assert_load(place->file, NULL, "belongs to someone else");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(order, set_up, tear_down),
            cmocka_unit_test_setup_teardown(files_that_are_not_believed, set_up, tear_down),
            cmocka_unit_test_setup_teardown(links_and_owners, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
