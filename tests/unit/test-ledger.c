/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger-common.h"

#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>

#define ID "00112233445566778899aabbccddeeff"

static const struct record_data sample = {
    .id = ID,
    .backend = "native",
    .trust_level = "untrusted",
    .boot_id = "2b1e6ae3-1f0c-4a4c-9b1c-0123456789ab",
    .started_at = "2024-05-06T07:08:09.123456Z",
    .slot = 65535,
    .pid = 4194303,
    .micro_cpus = 1500000,
    .memory = UINT64_MAX,
    .ticket = 7,
    .level_concurrency = 3,
    .share_micro_cpus = 2000000,
    .share_memory = 1 << 30,
    .deadline = 12345678901234,
};

static void record_text(void **state)
{
        char text[RECORD_TEXT_MAX];
        struct record_data back = {};
        int size = record_format(RECORD_CONTAINER, &sample, text);
        assert_int_equal(size, strlen(text));
        assert_int_equal(record_parse(RECORD_CONTAINER, text, &back), 0);
        assert_string_equal(back.id, sample.id);
        assert_string_equal(back.boot_id, sample.boot_id);
        assert_string_equal(back.trust_level, sample.trust_level);
        assert_true(back.memory == UINT64_MAX && back.slot == 65535 && back.pid == 4194303);
        assert_int_equal(back.micro_cpus, 1500000);
        assert_int_equal(back.ticket, 0); /* not part of it */

        /*
         * Cut at any place, or with any one byte changed to a
         * letter that fits nowhere: damaged, output untouched.
         */
        for (int i = 0; i < size; i++) {
                char bad[RECORD_TEXT_MAX];
                struct record_data untouched = {.slot = 99};
                memcpy(bad, text, (size_t)size + 1);
                bad[i] = '\0';
                assert_int_equal(record_parse(RECORD_CONTAINER, bad, &untouched), -EBADMSG);
                assert_int_equal(untouched.slot, 99);
        }
        char longer[RECORD_TEXT_MAX + 8];
        (void)snprintf(longer, sizeof longer, "%s\n", text);
        assert_int_equal(record_parse(RECORD_CONTAINER, longer, &back), -EBADMSG);
        assert_int_equal(record_parse(RECORD_WAITING, text, &back), -EBADMSG);

        assert_true(record_format(RECORD_WAITING, &sample, text) > 0);
        assert_int_equal(record_parse(RECORD_WAITING, text, &back), 0);
        assert_true(back.ticket == 7 && back.deadline == sample.deadline && back.share_memory == 1 << 30);

        struct record_data newline = sample;
        newline.trust_level[3] = '\n';
        assert_int_equal(record_format(RECORD_CONTAINER, &newline, text), -EINVAL);
}

static void record_names(void **state)
{
        char name[RECORD_NAME_SIZE];
        struct record_data data = {};
        record_name_format(RECORD_CONTAINER, &sample, name);
        assert_string_equal(name, ID ".65535.native");
        assert_int_equal(record_name_parse(name, &data), RECORD_CONTAINER);
        assert_string_equal(data.id, ID);
        assert_string_equal(data.backend, "native");
        assert_int_equal(data.slot, 65535);
        record_name_format(RECORD_WAITING, &sample, name);
        assert_string_equal(name, "waiting.7");
        assert_int_equal(record_name_parse(name, &data), RECORD_WAITING);
        assert_int_equal(data.ticket, 7);
        static const char *const others[] = {".", "..", "lock", "new", "", "waiting.", "waiting.-1",
            "waiting.1x", "waiting.18446744073709551615", ID, ID ".1", ID ".1.", ID "..native",
            ID ".65536.native", ID ".123456.native", ID ".1.Native", ID ".1.a/b", ID ".1.abcdefghijklmnop",
            ID "0.1.native", "00112233445566778899aabbccddeefg.1.native",
            "00112233445566778899AABBCCDDEEFF.1.native"};
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                assert_int_equal(record_name_parse(others[i], &data), RECORD_OTHER);
}

static void life_of_an_entry(void **state)
{
        struct ledger *ledger = open_ledger();
        struct stat st;
        assert_int_equal(fstat(ledger->dirfd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        struct ledger_claim small = CLAIM;
        small.cpus = 0.25;
        struct ledger_entry *a = claim_or_fail(ledger, small);
        struct ledger_entry *b = claim_or_fail(ledger, small);
        struct ledger_entry *c = claim_or_fail(ledger, small);
        assert_int_equal(strspn(ledger_entry_id(a), "0123456789abcdef"), 32);
        assert_string_not_equal(ledger_entry_id(a), ledger_entry_id(b));
        assert_int_equal(ledger_entry_slot(a), 0);
        assert_int_equal(ledger_entry_slot(b), 1);
        assert_int_equal(ledger_entry_slot(c), 2);
        assert_true(ledger_entry_waited(a) == 0);
        assert_int_equal(count_files(""), 3);
        b = ledger_release(b);
        b = claim_or_fail(ledger, small);
        assert_int_equal(ledger_entry_slot(b), 1); /* the smallest free one */
        assert_null(ledger_release(a));
        assert_null(ledger_release(b));
        assert_null(ledger_release(c));
        assert_null(ledger_release(NULL));
        assert_int_equal(count_files(""), 0);
        assert_null(ledger_close(ledger));
}

static int see(const struct ledger_record *record, void *user)
{
        struct ledger_record **next = user;
        *(*next)++ = *record;
        return 0;
}

static int stop(const struct ledger_record *record, void *user)
{
        ++*(unsigned *)user;
        return 17;
}

static void listing(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_claim claim = CLAIM;
        claim.cpus = 0.5;
        claim.trust_level = "trusted";
        struct ledger_entry *live = claim_or_fail(ledger, claim);
        struct ledger_entry *dead = claim_or_fail(ledger, CLAIM);
        char dead_id[LEDGER_ID_SIZE];
        memcpy(dead_id, ledger_entry_id(dead), sizeof dead_id);
        dead = ledger_abandon(dead);
        struct ledger_record records[4];
        struct ledger_record *end = records;
        assert_int_equal(ledger_each(ledger, see, &end, NULL), 0);
        assert_int_equal(end - records, 2);
        assert_string_equal(records[0].id, ledger_entry_id(live)); /* by age */
        assert_true(records[0].live && records[0].same_boot && records[0].cpus == 0.5);
        assert_int_equal(records[0].pid, getpid());
        assert_int_equal(records[0].memory, 1 << 20);
        assert_string_equal(records[0].trust_level, "trusted");
        assert_string_equal(records[0].backend, "native");
        assert_int_equal(strlen(records[0].started_at), 27);
        assert_string_equal(records[1].id, dead_id);
        assert_false(records[1].live);
        unsigned visits = 0;
        assert_int_equal(ledger_each(ledger, stop, &visits, NULL), 17);
        assert_int_equal(visits, 1);
        (void)ledger_release(live);
        (void)ledger_close(ledger);
}

struct cleaning {
        unsigned calls;
        int answer;
        struct ledger_record last;
};

static int clean(const struct ledger_record *record, void *user)
{
        struct cleaning *cleaning = user;
        cleaning->calls++;
        cleaning->last = *record;
        return cleaning->answer;
}

static void dead_holder(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_claim all = CLAIM;
        all.cpus = 2;
        struct holder holder = start_holder(all);
        holder_ready(&holder);
        struct ledger_claim reject = all;
        reject.queue_when_full = false;
        claim_and_fail(ledger, reject, -1, ERROR_BUSY, NULL);
        assert_false(ledger_saw_dead(ledger));
        struct cleaning cleaning = {.answer = -EBUSY};
        unsigned cleaned = 7;
        assert_int_equal(ledger_each_dead(ledger, clean, &cleaning, &cleaned, NULL), 0);
        assert_int_equal(cleaning.calls + cleaned, 0);

        kill_holder(&holder);
        struct ledger_entry *entry = claim_or_fail(ledger, reject); /* the dead one does not count… */
        assert_int_equal(ledger_entry_slot(entry), 1);              /* …but keeps its slot */
        assert_true(ledger_saw_dead(ledger));
        assert_int_equal(ledger_each_dead(ledger, clean, &cleaning, &cleaned, NULL), 0);
        assert_int_equal(cleaning.calls, 1);
        assert_int_equal(cleaned, 0); /* could not be removed: kept */
        assert_int_equal(count_files(""), 2);
        assert_true(cleaning.last.same_boot && !cleaning.last.live && cleaning.last.slot == 0);
        assert_int_equal(cleaning.last.pid, holder.pid);

        cleaning.answer = 0;
        assert_int_equal(ledger_each_dead(ledger, clean, &cleaning, &cleaned, NULL), 0);
        assert_int_equal(cleaning.calls, 2);
        assert_int_equal(cleaned, 1);
        assert_int_equal(count_files(""), 1);
        (void)ledger_release(entry);
        (void)ledger_close(ledger);
}

/* While one cleans a dead record, another must not. */
static int clean_inside(const struct ledger_record *record, void *user)
{
        struct ledger *other = open_ledger();
        struct cleaning cleaning = {};
        assert_int_equal(ledger_each_dead(other, clean, &cleaning, NULL, NULL), 0);
        assert_int_equal(cleaning.calls, 0);
        (void)ledger_close(other);
        return 0;
}

static void cleaned_once(void **state)
{
        struct ledger *ledger = open_ledger();
        (void)ledger_abandon(claim_or_fail(ledger, CLAIM));
        unsigned cleaned = 0;
        assert_int_equal(ledger_each_dead(ledger, clean_inside, NULL, &cleaned, NULL), 0);
        assert_int_equal(cleaned, 1);
        (void)ledger_close(ledger);
}

static void damaged_records(void **state)
{
        struct ledger *ledger = open_ledger();
        char text[RECORD_TEXT_MAX];
        (void)record_format(RECORD_CONTAINER, &sample, text);
        write_file(ID ".3.native", "");
        write_file("10112233445566778899aabbccddeeff.4.docker", "mai-sandbox record 1\nid=");
        write_file("20112233445566778899aabbccddeeff.5.native", text); /* says it is another */
        write_file("waiting.5", "nonsense");
        write_file("new", "half a rec");
        write_file("stranger", "not ours");
        assert_int_equal(
            symlinkat("/dev/zero", ledger->dirfd, "30112233445566778899aabbccddeeff.6.native"), 0);
        assert_int_equal(mkfifoat(ledger->dirfd, "40112233445566778899aabbccddeeff.7.native", 0600), 0);
        assert_int_equal(mkdirat(ledger->dirfd, "50112233445566778899aabbccddeeff.8.native", 0700), 0);

        struct ledger_entry *entry = claim_or_fail(ledger, CLAIM);
        assert_int_equal(ledger_entry_slot(entry), 0);
        assert_int_equal(count_files("waiting"), 0);
        assert_int_equal(count_files("new"), 0);
        assert_int_equal(count_files("stranger"), 1);

        struct ledger_record records[16];
        struct ledger_record *end = records;
        assert_int_equal(ledger_each_dead(ledger, see, &end, NULL, NULL), 0);
        unsigned seen = 0;
        for (struct ledger_record *record = records; record < end; record++) {
                assert_true(record->same_boot && !record->live && record->cpus == 0);
                assert_string_equal(record->trust_level, "");
                if (record->slot == 4)
                        assert_string_equal(record->backend, "docker");
                if (record->slot == 5)
                        assert_string_equal(record->id, "20112233445566778899aabbccddeeff");
                seen |= 1U << record->slot;
        }
        assert_int_equal(seen & (7U << 3), 7U << 3);
        assert_int_equal(count_files(ID), 0);
        (void)ledger_release(entry);
        (void)ledger_close(ledger);
}

static void other_boot(void **state)
{
        struct ledger *ledger = open_ledger();
        char text[RECORD_TEXT_MAX];
        struct record_data data = sample;
        data.slot = 1;
        (void)record_format(RECORD_CONTAINER, &data, text);
        write_file(ID ".1.native", text);
        struct cleaning cleaning = {};
        assert_int_equal(ledger_each_dead(ledger, clean, &cleaning, NULL, NULL), 0);
        assert_int_equal(cleaning.calls, 1);
        assert_false(cleaning.last.same_boot);
        assert_string_equal(cleaning.last.trust_level, "untrusted");
        (void)ledger_close(ledger);
}

static void expect_no_open(const char *name, const char *word)
{
        struct ledger *ledger = NULL;
        _cleanup_(error_clear) struct error err = {};
        assert_true(ledger_open_at(parent_path, name, &ledger, &err) < 0);
        assert_null(ledger);
        assert_int_equal(err.code, ERROR_STATE);
        if (!strstr(err.message, word) || !strstr(err.message, name))
                fail_msg("no \"%s\" in: %s", word, err.message);
}

static void bad_directories(void **state)
{
        char path[96], target[96];
        (void)snprintf(target, sizeof target, "%s/target", parent_path);
        assert_int_equal(mkdir(target, 0700), 0);
        (void)snprintf(path, sizeof path, "%s/link", parent_path);
        assert_int_equal(symlink(target, path), 0);
        expect_no_open("link", "symbolic link");
        (void)snprintf(path, sizeof path, "%s/dangling", parent_path);
        assert_int_equal(symlink("nowhere", path), 0);
        expect_no_open("dangling", "symbolic link");
        (void)snprintf(path, sizeof path, "%s/file", parent_path);
        assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
        expect_no_open("file", "no directory");
        (void)snprintf(path, sizeof path, "%s/open", parent_path);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(chmod(path, 0720), 0);
        expect_no_open("open", "writable by others");
        assert_int_equal(chmod(path, 0702), 0);
        expect_no_open("open", "writable by others");
        expect_no_open("missing/state", "cannot make");
        if (geteuid() != 0) {
                print_message("[  SKIPPED ] a directory of another user needs root\n");
                return;
        }
        assert_int_equal(chown(target, 12345, 0), 0);
        expect_no_open("target", "belongs to uid 12345");
}

static void runtime_dir(void **state)
{
        if (geteuid() != 0) {
                print_message("[  SKIPPED ] becoming another user needs root\n");
                return;
        }
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                static const char *const values[] = {NULL, "", "relative", "/does/not/exist"};
                static const char *const words[] = {
                    "not set", "not set", "no absolute path", "/does/not/exist"};
                if (setuid(12345) < 0)
                        _exit(2);
                for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
                        struct ledger *ledger = NULL;
                        _cleanup_(error_clear) struct error err = {};
                        (void)(values[i] ? setenv("XDG_RUNTIME_DIR", values[i], 1)
                                         : unsetenv("XDG_RUNTIME_DIR"));
                        if (ledger_open(&ledger, &err) >= 0 || err.code != ERROR_STATE || !err.hint ||
                            !strstr(err.message, "XDG_RUNTIME_DIR") || !strstr(err.message, words[i]))
                                _exit(10 + (int)i);
                }
                _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

/* In a mount namespace of its own: a file system that has room for nothing. 0: as it should be. */
static int full_disk(void)
{
        char path[96];
        (void)snprintf(path, sizeof path, "%s/small", parent_path);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mkdir(path, 0700) < 0 || mount("tmpfs", path, "tmpfs", 0, "size=8k,mode=700") < 0)
                return 77;
        struct ledger *ledger = NULL;
        if (ledger_open_at(path, "state", &ledger, NULL) < 0)
                return 2;
        _cleanup_(closep) int filler = openat(ledger->dirfd, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        static const char zeros[8192];
        (void)!write(filler, zeros, sizeof zeros);
        struct ledger_entry *entry = NULL;
        struct ledger_claim claim = CLAIM;
        _cleanup_(error_clear) struct error err = {};
        if (ledger_claim(ledger, &claim, -1, &entry, &err) != -ENOSPC || err.code != ERROR_STATE ||
            !strstr(err.message, "No space left") || !strstr(err.message, path) || !err.hint)
                return 3;
        if (faccessat(ledger->dirfd, "new", F_OK, 0) == 0)
                return 4;
        if (ftruncate(filler, 0) < 0 || ledger_claim(ledger, &claim, -1, &entry, NULL) < 0)
                return 5; /* with room again, all is well */
        (void)ledger_release(entry);
        (void)ledger_close(ledger);
        return 0;
}

static void disk_full(void **state)
{
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(full_disk());
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
                print_message("[  SKIPPED ] a small file system needs mount namespaces and tmpfs\n");
                return;
        }
        assert_int_equal(status, 0);
}

static void removed_directory(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_entry *entry = claim_or_fail(ledger, CLAIM);
        assert_int_equal(remove_parent(NULL), 0);
        claim_and_fail(ledger, CLAIM, -1, ERROR_STATE, "lock", NULL);
        (void)ledger_release(entry);
        (void)ledger_close(ledger);
}

static void lost_lock_file(void **state)
{
        /* Somebody holds the lock, and its file is removed: the holder's lock excludes nobody any more. */
        struct ledger *ledger = open_ledger();
        int held = ledger_lock(ledger, -1, NULL);
        assert_true(held >= 0);
        assert_int_equal(unlinkat(ledger->dirfd, "lock", 0), 0);
        int again = ledger_lock(ledger, -1, NULL);
        assert_true(again >= 0);
        struct stat a, b;
        assert_true(fstat(held, &a) == 0 && fstat(again, &b) == 0 && a.st_nlink == 0 && b.st_nlink == 1);
        (void)close(held);
        (void)close(again);
        (void)ledger_close(ledger);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_parent, remove_parent)
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(record_text),
            cmocka_unit_test(record_names),
            TEST(life_of_an_entry),
            TEST(listing),
            TEST(dead_holder),
            TEST(cleaned_once),
            TEST(damaged_records),
            TEST(other_boot),
            TEST(bad_directories),
            TEST(runtime_dir),
            TEST(disk_full),
            TEST(removed_directory),
            TEST(lost_lock_file),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
