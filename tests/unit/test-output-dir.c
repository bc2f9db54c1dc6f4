/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile names, and an output directory full of traps: nothing outside it changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sandbox/output_dir.h"
#include "util/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

struct place {
        char root[64]; /* holds out/ and secret */
        int rootfd, outfd;
};

static int set_up(void **state)
{
        struct place *place = calloc(1, sizeof *place);
        (void)snprintf(place->root, sizeof place->root, "/tmp/mai-test-XXXXXX");
        assert_non_null(mkdtemp(place->root));
        place->rootfd = open(place->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(mkdirat(place->rootfd, "out", 0700), 0);
        place->outfd = openat(place->rootfd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int fd = openat(place->rootfd, "secret", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_int_equal(fd_write_all(fd, "secret", 6), 0);
        (void)close(fd);
        *state = place;
        return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        return remove(path);
}

static int tear_down(void **state)
{
        struct place *place = *state;
        (void)close(place->rootfd);
        (void)close(place->outfd);
        (void)nftw(place->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        free(place);
        return 0;
}

static int put(struct place *place, const char *path, const char *text)
{
        return output_dir_write(place->outfd, path, strlen(path), 0644, text, strlen(text), NULL);
}

static void assert_holds(int dirfd, const char *path, const char *text)
{
        char buffer[64];
        assert_int_equal(fd_read_small(dirfd, path, buffer, sizeof buffer), strlen(text));
        assert_string_equal(buffer, text);
}

static void plain_files(void **state)
{
        struct place *place = *state;
        assert_int_equal(put(place, "a.txt", "one"), 0);
        assert_int_equal(put(place, "d/e/f.txt", "two"), 0);
        assert_int_equal(put(place, "new\nline\xff", "three"), 0);
        assert_int_equal(put(place, "..hidden", "four"), 0);
        assert_int_equal(put(place, "a.txt", "again"), 0);
        assert_holds(place->outfd, "a.txt", "again");
        assert_holds(place->outfd, "d/e/f.txt", "two");
        assert_holds(place->outfd, "new\nline\xff", "three");
        assert_int_equal(output_dir_write(place->outfd, "run.sh", 6, 06755, "", 0, NULL), 0);
        struct stat st;
        assert_int_equal(fstatat(place->outfd, "run.sh", &st, 0), 0);
        assert_int_equal(st.st_mode & 07111, 0111);
}

static void names_that_lead_out(void **state)
{
        struct place *place = *state;
        static const char *const names[] = {
            "", "/", "/etc/x", "..", "../secret", "a/../../secret", ".", "./a", "a//b", "a/", "a/.."};
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                assert_true(put(place, names[i], "bad") < 0);
        assert_true(output_dir_write(place->outfd, "a\0b", 3, 0644, "", 0, NULL) < 0);
        char longer[300];
        memset(longer, 'n', sizeof longer);
        assert_int_equal(
            output_dir_write(place->outfd, longer, sizeof longer, 0644, "", 0, NULL), -ENAMETOOLONG);
        char deep[2 * 100];
        for (size_t i = 0; i < sizeof deep; i++)
                deep[i] = i % 2 ? '/' : 'd';
        assert_int_equal(output_dir_write(place->outfd, deep, sizeof deep - 1, 0644, "", 0, NULL), -ELOOP);
        assert_holds(place->rootfd, "secret", "secret");
        _cleanup_(error_clear) struct error err = {};
        assert_true(output_dir_write(place->outfd, "x\x1b/..", 5, 0644, "", 0, &err) < 0);
        assert_int_equal(err.code, ERROR_OUTPUT);
        assert_non_null(strstr(err.message, "\"x\\x1b/..\""));
}

static void traps(void **state)
{
        struct place *place = *state;
        assert_int_equal(symlinkat("../secret", place->outfd, "link"), 0);
        assert_int_equal(symlinkat("..", place->outfd, "dirlink"), 0);
        assert_int_equal(mkfifoat(place->outfd, "fifo", 0600), 0);
        assert_int_equal(linkat(place->rootfd, "secret", place->outfd, "hard", 0), 0);
        assert_int_equal(mkdirat(place->outfd, "dir", 0700), 0);

        assert_int_equal(put(place, "link", "bad"), -EEXIST);
        assert_true(put(place, "dirlink/secret", "bad") < 0);
        assert_int_equal(put(place, "fifo", "bad"), -EEXIST); /* and does not wait for a reader */
        assert_true(put(place, "fifo/x", "bad") < 0);
        assert_int_equal(put(place, "dir", "bad"), -EISDIR);
        assert_int_equal(put(place, "hard", "mine"), 0); /* replaced, not written through */
        assert_holds(place->outfd, "hard", "mine");
        assert_holds(place->rootfd, "secret", "secret");

        /* No temporary file stays. */
        unsigned entries = 0;
        DIR *dir = fdopendir(dup(place->outfd));
        for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
                entries += strncmp(entry->d_name, ".mai-output", 11) == 0;
        (void)closedir(dir);
        assert_int_equal(entries, 0);
}

static void opening(void **state)
{
        struct place *place = *state;
        char path[128];
        int fd = -1;
        _cleanup_(error_clear) struct error err = {};
        (void)snprintf(path, sizeof path, "%s/out/new/er", place->root);
        assert_int_equal(output_dir_open(path, &fd, &err), 0);
        (void)close(fd);
        assert_int_equal(output_dir_open(path, &fd, &err), 0);
        (void)close(fd);
        (void)snprintf(path, sizeof path, "%s/secret", place->root);
        fd = -7;
        assert_true(output_dir_open(path, &fd, &err) < 0);
        assert_int_equal(fd, -7);
        assert_int_equal(err.code, ERROR_OUTPUT);
        assert_true(output_dir_open("", &fd, &err) < 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(plain_files, set_up, tear_down),
            cmocka_unit_test_setup_teardown(names_that_lead_out, set_up, tear_down),
            cmocka_unit_test_setup_teardown(traps, set_up, tear_down),
            cmocka_unit_test_setup_teardown(opening, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
