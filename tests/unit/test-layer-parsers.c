/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements as people write them: names, files, lock files, script headers. */
#include "layer/requirements_file.h"
#include "layer/script_header.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B64 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C64_UPPER "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"
#define C64 "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static void requirements_have_one_form(void **state)
{
        static const struct {
                const char *text, *form;
        } cases[] = {
            {"numpy", "numpy"},
            {"  Foo_Bar.baz--q ", "foo-bar-baz-q"},
            {"a>=1", "a>=1"},
            {"a >= 1 , < 2", "a>=1,<2"},
            {"a (>=1,<2)", "a>=1,<2"},
            {"a()", NULL},
            {"a[x]", "a[x]"},
            {"a [ Y_z , b , b ] ~= 1.0", "a[b,y-z]~=1.0"},
            {"a[]", "a"},
            {"a[x", NULL},
            {"a[x y]", NULL},
            {"a==1.*", "a==1.*"},
            {"a===1+local", "a===1+local"},
            {"a=1", NULL},
            {"a==", NULL},
            {"a==-1", NULL},
            {"a 1.0", NULL},
            {"a==1 b==2", NULL},
            {"", NULL},
            {"-r other.txt", NULL},
            {"--index-url=http://x", NULL},
            {"_a", NULL},
            {"a-", NULL},
            {"a @ https://example.org/a.whl", NULL},
            {"a@file:///etc/passwd", NULL},
            {"https://example.org/a.whl", NULL},
            {"./a", NULL},
            {"../a", NULL},
            {"/a", NULL},
            {"a/b", NULL},
            {"a-1.0-py3-none-any.whl", NULL},
            {"a.TAR.GZ", NULL},
            {"git+https://example.org/a", NULL},
            {"$HOME", NULL},
            {"${HOME}", NULL},
            {"a==${V}", NULL},
            {"a\n--pre", NULL},
            {"a; python_version<'3.12'", "a ; python_version < \"3.12\""},
            {"a>=1;(os_name=='nt' or sys_platform not  in \"linux\")and extra=='x'",
                "a>=1 ; ( os_name == \"nt\" or sys_platform not in \"linux\" ) and extra == \"x\""},
            {"a;'3' in python_version", "a ; \"3\" in python_version"},
            {"a; python_version", NULL},
            {"a; python_version < 3", NULL},
            {"a; nothing == '1'", NULL},
            {"a; python_version == '$HOME'", NULL},
            {"a; python_version == 'x\\'", NULL},
            {"a; (os_name == 'x'", NULL},
            {"a; os_name == 'x')", NULL},
            {"a; os_name not 'x'", NULL},
            {"a;", NULL},
            {"a ; os_name == 'x' --hash=sha256:1", NULL},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(requirement_clear) struct requirement requirement = {};
                _cleanup_(error_clear) struct error err = {};
                int r = requirement_parse(cases[i].text, strlen(cases[i].text), &requirement, &err);
                if (!cases[i].form) {
                        if (r == 0)
                                fail_msg("\"%s\" was taken as \"%s\"", cases[i].text, requirement.text);
                        assert_int_equal(err.code, ERROR_INPUT);
                        assert_non_null(err.hint);
                        continue;
                }
                if (r < 0)
                        fail_msg("\"%s\": %s", cases[i].text, err.message);
                assert_string_equal(requirement.text, cases[i].form);
                /* What it gives is read as itself. */
                _cleanup_(requirement_clear) struct requirement again = {};
                assert_int_equal(
                    requirement_parse(requirement.text, strlen(requirement.text), &again, &err), 0);
                assert_string_equal(again.text, requirement.text);
        }
}

static void what_is_too_large_is_refused(void **state)
{
        char text[4096];
        _cleanup_(requirement_clear) struct requirement requirement = {};
        _cleanup_(error_clear) struct error err = {};
        memset(text, 'a', sizeof text);
        assert_int_equal(requirement_parse(text, REQUIREMENT_NAME_MAX, &requirement, &err), 0);
        assert_true(requirement_parse(text, REQUIREMENT_NAME_MAX + 1, &requirement, &err) < 0);
        memcpy(text, "a==", 3);
        assert_true(requirement_parse(text, sizeof text, &requirement, &err) < 0);

        _cleanup_(strbuf_clear) struct strbuf deep = STRBUF_INIT(1000);
        assert_int_equal(strbuf_append_text(&deep, "a;"), 0);
        for (int i = 0; i < 400; i++)
                assert_int_equal(strbuf_append_text(&deep, "("), 0);
        assert_true(requirement_parse(strbuf_text(&deep), deep.size, &requirement, &err) < 0);
}

/* Reads a requirements file; what pip would get, or the message of the error. */
static char *read_file(const char *text, int *ret_status, bool *ret_hashes)
{
        _cleanup_(requirement_set_clear) struct requirement_set set = {};
        _cleanup_(error_clear) struct error err = {};
        _cleanup_(strbuf_clear) struct strbuf out = STRBUF_INIT(1U << 20);
        int r = requirements_file_read("r.txt", text, strlen(text), &set, &err);
        if (r == 0)
                r = requirement_set_settle(&set, &err);
        *ret_status = r;
        *ret_hashes = set.require_hashes;
        if (r < 0)
                return strdup(err.message);
        assert_int_equal(requirement_set_format(&set, &out), 0);
        char *formatted = strbuf_take(&out);
        return formatted ? formatted : strdup("");
}

static void files_are_read_as_pip_reads_them(void **state)
{
        static const struct {
                const char *text, *form; /* NULL: refused, and */
                const char *message;     /* this is in the message */
                bool hashes;
        } cases[] = {
            {"", "", NULL, false},
            {"# nothing\n\n   \n", "", NULL, false},
            {"b\na # why\nB==1\n", "a\nb\nb==1\n", NULL, false},
            {"a\r\nb\r\n", "a\nb\n", NULL, false},
            {"\xef\xbb\xbf"
             "a\n",
                "a\n", NULL, false},
            {"a>=1,\\\n  <2\n", "a>=1,<2\n", NULL, false},
            {"a \\\n# gone\nb\n", "a\nb\n", NULL, false},
            {"a\\", NULL, "r.txt:1", false},
            {"a --hash=sha256:" A64 "\n", "a --hash=sha256:" A64 "\n", NULL, true},
            {"a \\\n  --hash=sha256:" B64 " \\\n  --hash sha256:" A64 "\n",
                "a --hash=sha256:" A64 " --hash=sha256:" B64 "\n", NULL, true},
            {"a --hash=sha256:" C64_UPPER "\n", "a --hash=sha256:" C64 "\n", NULL, true},
            {"a --hash=sha256:" A64 "\nA --hash=sha256:" B64 "\n",
                "a --hash=sha256:" A64 " --hash=sha256:" B64 "\n", NULL, true},
            {"--require-hashes\na --hash=sha256:" A64 "\n", "a --hash=sha256:" A64 "\n", NULL, true},
            {"--require-hashes\na\n", NULL, "\"a\" has no hash", false},
            {"a --hash=sha256:" A64 "\nb\n", NULL, "\"b\" has no hash", false},
            {"a --hash=md5:" A64 "\n", NULL, "r.txt:1", false},
            {"a --hash=sha256:12\n", NULL, "no SHA-256", false},
            {"a --hash\n", NULL, "--hash", false},
            {"a --global-option=x\n", NULL, "--global-option", false},
            {"a\n\n-r other.txt\n", NULL, "r.txt:3: the option -r", false},
            {"-e .\n", NULL, "-e", false},
            {"-c constraints.txt\n", NULL, "-c", false},
            {"--index-url https://example.org\n", NULL, "--index-url", false},
            {"--extra-index-url=https://example.org\n", NULL, "--extra-index-url can't", false},
            {"--find-links /\n", NULL, "--find-links", false},
            {"--trusted-host x\n", NULL, "--trusted-host", false},
            {"--pre\n", NULL, "--pre", false},
            {"a @ https://example.org/a.whl\n", NULL, "URL", false},
            {"a\n./b\n", NULL, "r.txt:2: \"./b\"", false},
            {"a\x1b[2J\n", NULL, "\"a?[2J\"", false},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                int status;
                bool hashes;
                _cleanup_(freep) char *got = read_file(cases[i].text, &status, &hashes);
                assert_non_null(got);
                if (cases[i].form) {
                        assert_string_equal(got, cases[i].form);
                        assert_int_equal(status, 0);
                        assert_int_equal(hashes, cases[i].hashes);
                } else {
                        if (status == 0 || !strstr(got, cases[i].message))
                                fail_msg("\"%s\": %s", cases[i].text, got);
                }
        }
}

/* The TOML of a program's header; NULL: none. */
static char *header(const char *text, int *ret_status)
{
        struct strbuf toml = STRBUF_INIT(1U << 16);
        *ret_status = script_header_find(text, strlen(text), &toml);
        char *found = *ret_status > 0 ? strbuf_take(&toml) : NULL;
        strbuf_clear(&toml);
        return found;
}

static void headers_are_found_where_pep_723_says(void **state)
{
        static const struct {
                const char *text, *toml;
                int status;
        } cases[] = {
            {"print(1)\n", NULL, 0},
            {"# /// script\n# a = 1\n# ///\n", "a = 1\n", 1},
            {"#!/usr/bin/python3\n\n# /// script\n#\n# a = 1\n# ///\nprint(1)\n", "\na = 1\n", 1},
            {"# /// script\n# a = 1\n# ///", "a = 1\n", 1},
            {"# /// script\r\n# a = 1\r\n# ///\r\n", "a = 1\n", 1},
            {"# /// script\n# ///\n", NULL, 0},
            {"# /// script\n# a = 1\n", NULL, 0},
            {"# /// script\n# a = 1\nprint(1)\n# ///\n", NULL, 0},
            {"# /// script\n#a = 1\n# ///\n", NULL, 0},
            {" # /// script\n# a = 1\n# ///\n", NULL, 0},
            {"# /// script \n# a = 1\n# ///\n", NULL, 0},
            {"# /// scripts\n# a = 1\n# ///\n", NULL, 0},
            {"# /// script\n# a = 1\n# ///\n# b = 2\n# ///\n", "a = 1\n///\nb = 2\n", 1},
            {"# /// other\n# /// script\n# a = 1\n# ///\n", NULL, 0},
            {"# /// other\n# x\n# ///\n\n# /// script\n# a = 1\n# ///\n", "a = 1\n", 1},
            {"# /// script\n# a = 1\n# ///\n\n# /// script\n# b = 1\n# ///\n", NULL, -EEXIST},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                int status;
                _cleanup_(freep) char *toml = header(cases[i].text, &status);
                if (status != cases[i].status)
                        fail_msg("\"%s\": %d", cases[i].text, status);
                if (cases[i].toml)
                        assert_string_equal(toml, cases[i].toml);
        }
}

static void headers_ask_for_packages(void **state)
{
        static const char program[] = "# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n"
                                      "#   \"Requests<3\", # the old one\n#   'rich[x]',\n# ]\n"
                                      "# [tool.y]\n# z = 1\n# ///\nimport requests\n";
        _cleanup_(requirement_set_clear) struct requirement_set set = {};
        _cleanup_(error_clear) struct error err = {};
        assert_int_equal(script_header_read("main.py", program, sizeof program - 1, &set, &err), 0);
        assert_int_equal(set.count, 2);
        assert_string_equal(set.items[0].text, "requests<3");
        assert_string_equal(set.items[1].text, "rich[x]");
        assert_string_equal(set.requires_python, ">=3.11");

        static const char *const bad[] = {"dependencies = 'x'", "dependencies = [1]",
            "dependencies = ['./x']", "dependencies = ['a @ https://example.org/a.whl']",
            "requires-python = 3", "requires-python = '3'", "requires-python = '>=3; os_name==\"x\"'",
            "dependencies = ["};
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_(freep) char *text = NULL;
                assert_true(asprintf(&text, "# /// script\n# %s\n# ///\n", bad[i]) > 0);
                error_clear(&err);
                assert_true(script_header_read("main.py", text, strlen(text), &set, &err) < 0);
                assert_int_equal(err.code, ERROR_INPUT);
                assert_memory_equal(err.message, "main.py: ", 9);
        }
}

static int read_lock(const char *text, bool sdist, char **ret, struct error *err)
{
        _cleanup_(requirement_set_clear) struct requirement_set set = {};
        _cleanup_(strbuf_clear) struct strbuf out = STRBUF_INIT(1U << 16);
        int r = pylock_read("pylock.toml", text, strlen(text), sdist, &set, err);
        if (r == 0)
                r = requirement_set_settle(&set, err);
        if (r < 0)
                return r;
        assert_true(set.locked && set.require_hashes);
        assert_int_equal(requirement_set_format(&set, &out), 0);
        *ret = strbuf_take(&out);
        return 0;
}

#define LOCK "lock-version = '1.0'\ncreated-by = 'test'\n"
#define WHEEL(hash) "[[packages.wheels]]\nurl = 'https://x/y.whl'\nhashes = { sha256 = '" hash "' }\n"

static void locks_are_requirements_with_hashes(void **state)
{
        _cleanup_(error_clear) struct error err = {};
        _cleanup_(freep) char *text = NULL;
        assert_int_equal(read_lock(LOCK "[[packages]]\nname = 'B_b'\nversion = '2'\n" WHEEL(B64) WHEEL(
                                       A64) "[[packages]]\nname = 'a'\nversion = '1'\n"
                                            "marker = \"python_version >= '3'\"\n"
                                            "[packages.sdist]\nhashes = {sha256 = '" C64 "'}\n" WHEEL(A64),
                             false, &text, &err),
            0);
        assert_string_equal(text, "a==1 ; python_version >= \"3\" --hash=sha256:" A64 "\n"
                                  "b-b==2 --hash=sha256:" A64 " --hash=sha256:" B64 "\n");

        _cleanup_(freep) char *with_source = NULL;
        static const char source_only[] =
            LOCK "[[packages]]\nname = 'a'\nversion = '1'\nsdist = {hashes = {sha256 = '" C64 "'}}\n";
        assert_int_equal(read_lock(source_only, true, &with_source, &err), 0);
        assert_string_equal(with_source, "a==1 --hash=sha256:" C64 "\n");

        static const struct {
                const char *text, *message;
        } bad[] = {
            {source_only, "allow_sdist"},
            {"", "lock-version"},
            {"lock-version = '2.0'\n", "lock-version"},
            {"lock-version = 1.0\n", "lock-version"},
            {LOCK "packages = 1\n", "packages"},
            {LOCK "[[packages]]\nversion = '1'\n", "without a name"},
            {LOCK "[[packages]]\nname = 'a'\n" WHEEL(A64), "no version"},
            {LOCK "[[packages]]\nname = 'a'\nversion = '1'\n", "no files"},
            {LOCK "[[packages]]\nname = 'a'\nversion = '1'\n[[packages.wheels]]\nhashes = {md5 = '1'}\n",
                "sha256"},
            {LOCK "[[packages]]\nname = 'a'\nversion = '1'\n" WHEEL("12"), "sha256"},
            {LOCK "[[packages]]\nname = 'a'\nversion = '1'\n[packages.vcs]\ntype = 'git'\n", "vcs"},
            {LOCK "[[packages]]\nname = 'a'\nversion = '1'\n[packages.archive]\nurl = 'x'\n", "archive"},
            {LOCK "[[packages]]\nname = 'a'\nversion = '1'\n[packages.directory]\npath = 'x'\n",
                "directory"},
            {LOCK "[[packages]]\nname = 'a'\nversion = '1'\nmarker = \"'x' in extras\"\n" WHEEL(A64),
                "extras"},
            {LOCK "[[packages]]\nname = 'a'\nversion = '1 --pre'\n" WHEEL(A64), "package 1"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                char *unused = NULL;
                error_clear(&err);
                if (read_lock(bad[i].text, false, &unused, &err) == 0 ||
                    !strstr(err.message, bad[i].message) || strncmp(err.message, "pylock.toml", 11) != 0)
                        fail_msg("\"%s\": %s", bad[i].text, err.message ? err.message : unused);
        }
}

static void lock_files_go_by_their_name(void **state)
{
        assert_true(pylock_is_name("pylock.toml"));
        assert_true(pylock_is_name("/a/b/pylock.toml"));
        assert_true(pylock_is_name("pylock.dev.toml"));
        assert_false(pylock_is_name("pylock..toml"));
        assert_false(pylock_is_name("pylock.a.b.toml"));
        assert_false(pylock_is_name("xpylock.toml"));
        assert_false(pylock_is_name("pylock.toml/requirements.txt"));
        assert_false(pylock_is_name("requirements.txt"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(requirements_have_one_form),
            cmocka_unit_test(what_is_too_large_is_refused),
            cmocka_unit_test(files_are_read_as_pip_reads_them),
            cmocka_unit_test(headers_are_found_where_pep_723_says),
            cmocka_unit_test(headers_ask_for_packages),
            cmocka_unit_test(locks_are_requirements_with_hashes),
            cmocka_unit_test(lock_files_go_by_their_name),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
