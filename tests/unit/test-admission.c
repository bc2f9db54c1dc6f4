/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger-common.h"

#include <sys/eventfd.h>
#include <sys/mman.h>

static struct scan *new_scan(void)
{
        struct scan *scan = calloc(1, sizeof *scan);
        assert_non_null(scan);
        return scan;
}

static void drop_scan(struct scan *scan)
{
        scan_clear(scan);
        free(scan);
}

static void add_live(struct scan *scan, const char *level, unsigned cpus, uint64_t memory, bool live)
{
        struct scan_record *record = scan_add_record(scan);
        assert_non_null(record);
        record->live = live;
        record->data.micro_cpus = cpus * 1000000;
        record->data.memory = memory;
        (void)snprintf(record->data.trust_level, sizeof record->data.trust_level, "%s", level);
}

static struct record_data wanting(uint64_t ticket, const char *level, unsigned cpus, uint64_t memory)
{
        struct record_data data = {.ticket = ticket,
            .micro_cpus = cpus * 1000000,
            .memory = memory,
            .level_concurrency = 2,
            .share_micro_cpus = 4000000,
            .share_memory = 1000,
            .deadline = 1000};
        (void)snprintf(data.trust_level, sizeof data.trust_level, "%s", level);
        return data;
}

static void add_waiter(struct scan *scan, struct record_data data)
{
        if (!scan->waiters) {
                scan->waiters = calloc(8, sizeof *scan->waiters);
                assert_non_null(scan->waiters);
        }
        scan->waiters[scan->waiter_count++] = data;
}

static struct decision decide(struct scan *scan, struct record_data claim)
{
        struct decision decision;
        assert_int_equal(admission_decide(scan, &claim, 500, &decision, NULL), 0);
        return decision;
}

static void shortages(void **state)
{
        struct scan *scan = new_scan();
        struct record_data big = wanting(UINT64_MAX, "a", 100, 100000);
        assert_int_equal(decide(scan, big).shortage, SHORT_OF_NOTHING); /* alone, larger than the share */
        add_live(scan, "a", 9, 900, false);
        assert_int_equal(decide(scan, big).shortage, SHORT_OF_NOTHING); /* a dead one is nobody */
        add_live(scan, "b", 3, 900, true);
        assert_int_equal(decide(scan, big).shortage, SHORT_OF_CPU);
        assert_int_equal(decide(scan, wanting(UINT64_MAX, "a", 1, 100)).shortage, SHORT_OF_NOTHING);
        assert_int_equal(decide(scan, wanting(UINT64_MAX, "a", 2, 100)).shortage, SHORT_OF_CPU);
        struct decision decision = decide(scan, wanting(UINT64_MAX, "a", 1, 101));
        assert_int_equal(decision.shortage, SHORT_OF_MEMORY);
        assert_true(decision.micro_cpus == 3000000 && decision.memory == 900 && decision.runs == 1);
        assert_int_equal(decide(scan, wanting(UINT64_MAX, "a", 1, UINT64_MAX)).shortage, SHORT_OF_MEMORY);
        add_live(scan, "b", 0, 0, true);
        decision = decide(scan, wanting(UINT64_MAX, "b", 1, 1));
        assert_int_equal(decision.shortage, SHORT_OF_LEVEL);
        assert_int_equal(decision.level_runs, 2);
        assert_int_equal(decide(scan, wanting(UINT64_MAX, "a", 1, 1)).shortage, SHORT_OF_NOTHING);
        drop_scan(scan);
}

static void turns(void **state)
{
        /* A large one waits for CPUs: a small one that would fit must not overtake it, one before it may. */
        struct scan *scan = new_scan();
        add_live(scan, "a", 2, 10, true);
        add_waiter(scan, wanting(5, "b", 3, 10));
        struct decision decision = decide(scan, wanting(UINT64_MAX, "c", 1, 10));
        assert_int_equal(decision.shortage, SHORT_OF_CPU);
        assert_int_equal(decision.ahead, 1);
        assert_int_equal(decide(scan, wanting(4, "c", 1, 10)).shortage, SHORT_OF_NOTHING);
        /* Unless its time is over: it is stopped, or about to give up. */
        scan->waiters[0].deadline = 500;
        assert_int_equal(decide(scan, wanting(UINT64_MAX, "c", 1, 10)).shortage, SHORT_OF_NOTHING);
        drop_scan(scan);

        /* One that waits for its level only holds up nobody of another level. */
        scan = new_scan();
        add_live(scan, "a", 1, 10, true);
        add_live(scan, "a", 1, 10, true);
        add_waiter(scan, wanting(5, "a", 2, 10));
        assert_int_equal(decide(scan, wanting(UINT64_MAX, "b", 2, 10)).shortage, SHORT_OF_NOTHING);
        assert_int_equal(decide(scan, wanting(UINT64_MAX, "a", 2, 10)).shortage, SHORT_OF_LEVEL);
        drop_scan(scan);

        /* One that fits is about to start: what it takes is set aside, its place in its level as well. */
        scan = new_scan();
        add_live(scan, "a", 2, 10, true);
        add_waiter(scan, wanting(5, "a", 1, 10));
        assert_int_equal(decide(scan, wanting(6, "b", 1, 10)).shortage, SHORT_OF_NOTHING);
        drop_scan(scan);
        scan = new_scan();
        add_live(scan, "a", 2, 10, true);
        add_waiter(scan, wanting(5, "a", 1, 10));
        assert_int_equal(decide(scan, wanting(6, "b", 2, 10)).shortage, SHORT_OF_CPU);
        drop_scan(scan);
        scan = new_scan();
        add_live(scan, "a", 2, 10, true);
        add_waiter(scan, wanting(5, "a", 1, 10));
        assert_int_equal(decide(scan, wanting(6, "a", 1, 10)).shortage, SHORT_OF_LEVEL);
        drop_scan(scan);
}

static void reject(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_entry *entry = claim_or_fail(ledger, CLAIM);
        struct ledger_claim claim = CLAIM;
        claim.queue_when_full = false;
        claim.cpus = 1.5;
        claim_and_fail(ledger, claim, -1, ERROR_BUSY, "cpu_share", "1 of 2", "needs 1.5", "reject", NULL);
        claim.cpus = 1;
        claim.memory = 1 << 30;
        claim_and_fail(ledger, claim, -1, ERROR_BUSY, "mem_share", "1 MiB of 1 GiB", "needs 1 GiB", NULL);
        claim.memory = 1;
        claim.level_concurrency = 1;
        claim_and_fail(
            ledger, claim, -1, ERROR_BUSY, "max_concurrent", "\"unknown\" has 1 runs of at most 1", NULL);
        claim.trust_level = "trusted";
        struct ledger_entry *other = claim_or_fail(ledger, claim);
        (void)ledger_release(other);
        (void)ledger_release(entry);
        entry = NULL;
        claim.cpus = 64; /* larger than the share, but alone */
        (void)ledger_release(claim_or_fail(ledger, claim));
        assert_int_equal(count_files(""), 0);
        (void)ledger_close(ledger);
}

static void bad_words(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_claim claim = CLAIM;
        claim.backend = "a-name-that-is-too-long";
        claim_and_fail(ledger, claim, -1, ERROR_INTERNAL, "backend", NULL);
        claim = CLAIM;
        claim.trust_level = "a\nb";
        claim_and_fail(ledger, claim, -1, ERROR_INTERNAL, "record", NULL);
        assert_int_equal(count_files(""), 0);
        (void)ledger_close(ledger);
}

static void queue_full_and_timeout(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_claim all = CLAIM;
        all.cpus = 2;
        struct ledger_entry *entry = claim_or_fail(ledger, all);
        struct holder first = start_holder(CLAIM), second = start_holder(CLAIM);
        await_files("waiting.", 2);

        struct ledger_claim claim = CLAIM;
        claim.queue_length = 2;
        claim_and_fail(
            ledger, claim, -1, ERROR_BUSY, "cpu_share", "2 of at most 2 waiting", "queue_length", NULL);
        claim.queue_length = 0;
        claim_and_fail(ledger, claim, -1, ERROR_BUSY, "queue_length", NULL);

        claim.queue_length = 3;
        claim.queue_timeout = 0.3;
        uint64_t begin = clock_now();
        claim_and_fail(ledger, claim, -1, ERROR_BUSY, "cpu_share", "2 of 2", "2 runs waiting ahead",
            "waited 0.3", "queue_timeout", NULL);
        double took = nsec_to_sec(clock_now() - begin);
        assert_true(took >= 0.3 && took < 0.8);
        claim.queue_timeout = 0;
        claim_and_fail(ledger, claim, -1, ERROR_BUSY, "queue_timeout", NULL);
        assert_int_equal(count_files("waiting."), 2);

        /* A killed waiter leaves its place at once. */
        kill_holder(&first);
        claim.queue_length = 1;
        claim_and_fail(ledger, claim, -1, ERROR_BUSY, "1 of at most 1 waiting", NULL);
        (void)ledger_release(entry);
        holder_ready(&second);
        assert_int_equal(count_files("waiting."), 0);
        kill_holder(&second);
        (void)ledger_close(ledger);
}

static void killed_head_of_queue(void **state)
{
        /* The head wants what it will not get soon; those behind it must move on when it is killed. */
        struct ledger *ledger = open_ledger();
        struct ledger_entry *entry = claim_or_fail(ledger, CLAIM);
        struct ledger_claim all = CLAIM;
        all.cpus = 2;
        struct holder head = start_holder(all);
        await_files("waiting.", 1);
        struct holder behind = start_holder(CLAIM);
        await_files("waiting.", 2);
        kill_holder(&head);
        uint64_t begin = clock_now();
        holder_ready(&behind);
        assert_true(clock_now() - begin < 2 * NSEC_PER_SEC);
        kill_holder(&behind);
        (void)ledger_release(entry);
        (void)ledger_close(ledger);
}

static void killed_holder_wakes_the_queue(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_claim all = CLAIM;
        all.cpus = 2;
        struct holder holder = start_holder(all);
        holder_ready(&holder);
        struct holder waiter = start_holder(all);
        await_files("waiting.", 1);
        kill_holder(&holder);
        uint64_t begin = clock_now();
        holder_ready(&waiter);
        assert_true(clock_now() - begin < 2 * NSEC_PER_SEC);
        kill_holder(&waiter);
        (void)ledger_close(ledger);
}

static void release_wakes_at_once(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_claim all = CLAIM;
        all.cpus = 2;
        struct ledger_entry *entry = claim_or_fail(ledger, all);
        struct holder waiter = start_holder(all);
        await_files("waiting.", 1);
        (void)usleep(50000);
        (void)ledger_release(entry);
        uint64_t begin = clock_now();
        holder_ready(&waiter);
        /* Far less than the second after which it would look by itself. */
        assert_true(clock_now() - begin < NSEC_PER_SEC / 2);
        kill_holder(&waiter);
        (void)ledger_close(ledger);
}

static void cancelling(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_claim all = CLAIM;
        all.cpus = 2;
        struct ledger_entry *entry = claim_or_fail(ledger, all);
        int fds[2];
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)usleep(200000);
                _exit(write(fds[1], "x", 1) == 1 ? 0 : 1);
        }
        uint64_t begin = clock_now();
        claim_and_fail(ledger, CLAIM, fds[0], ERROR_CANCELLED, "cancelled", NULL);
        assert_true(clock_now() - begin < NSEC_PER_SEC);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(count_files("waiting."), 0);

        /* Also where the lock is what is waited for. */
        int lock = ledger_lock(ledger, -1, NULL);
        assert_true(lock >= 0);
        claim_and_fail(ledger, CLAIM, fds[0], ERROR_CANCELLED, "cancelled", NULL);
        (void)close(lock);
        (void)close(fds[0]);
        (void)close(fds[1]);
        (void)ledger_release(entry);
        (void)ledger_close(ledger);
}

/* What ten processes see of each other. */
struct shared {
        int holding, most, started, order[10];
};

static void ten_at_once(void **state)
{
        struct shared *shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(shared != MAP_FAILED);
        struct ledger *ledger = open_ledger();
        struct ledger_claim all = CLAIM;
        all.cpus = 2;
        struct ledger_entry *entry = claim_or_fail(ledger, all);
        pid_t pids[10];
        for (int i = 0; i < 10; i++) {
                pids[i] = fork();
                assert_true(pids[i] >= 0);
                if (pids[i] == 0) {
                        struct ledger *own = open_ledger();
                        struct ledger_entry *mine = claim_or_fail(own, CLAIM);
                        int now = __atomic_add_fetch(&shared->holding, 1, __ATOMIC_SEQ_CST);
                        int most = __atomic_load_n(&shared->most, __ATOMIC_SEQ_CST);
                        while (now > most && !__atomic_compare_exchange_n(&shared->most, &most, now, false,
                                                 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
                                ;
                        shared->order[__atomic_fetch_add(&shared->started, 1, __ATOMIC_SEQ_CST)] = i;
                        (void)usleep(30000 + (useconds_t)i * 1000);
                        (void)__atomic_sub_fetch(&shared->holding, 1, __ATOMIC_SEQ_CST);
                        (void)ledger_release(mine);
                        (void)ledger_close(own);
                        _exit(0);
                }
                await_files("waiting.", (unsigned)i + 1); /* so that the order of arrival is known */
        }
        (void)ledger_release(entry);
        for (int i = 0; i < 10; i++) {
                int status;
                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
        }
        assert_int_equal(shared->started, 10);
        assert_int_equal(shared->most, 2);
        /*
         * Two may be let in by one release, and then it is the scheduler who says which of them gets to its
         * next line first: neighbours may be swapped, no more.
         */
        for (int i = 0; i < 10; i++)
                assert_true(abs(shared->order[i] - i) <= 1);
        assert_int_equal(count_files(""), 0);
        (void)ledger_close(ledger);
        (void)munmap(shared, sizeof *shared);
}

static void level_holds_up_nobody(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_claim one = CLAIM;
        one.cpus = 0.5;
        one.level_concurrency = 1;
        struct ledger_entry *entry = claim_or_fail(ledger, one);
        struct holder waiter = start_holder(one);
        await_files("waiting.", 1);
        one.trust_level = "trusted";
        struct ledger_entry *other = claim_or_fail(ledger, one);
        assert_true(ledger_entry_waited(other) == 0);
        (void)ledger_release(entry);
        holder_ready(&waiter);
        kill_holder(&waiter);
        (void)ledger_release(other);
        (void)ledger_close(ledger);
}

static void waited_is_told(void **state)
{
        struct ledger *ledger = open_ledger();
        struct ledger_claim all = CLAIM;
        all.cpus = 2;
        struct holder holder = start_holder(all);
        holder_ready(&holder);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)usleep(200000);
                _exit(kill(holder.pid, SIGKILL));
        }
        struct ledger_entry *entry = claim_or_fail(ledger, all);
        assert_true(ledger_entry_waited(entry) >= 0.1 && ledger_entry_waited(entry) < 5);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(waitpid(holder.pid, NULL, 0), holder.pid);
        (void)close(holder.pipe);
        (void)ledger_release(entry);
        (void)ledger_close(ledger);
}

static void slots_exhausted(void **state)
{
        struct ledger *ledger = open_ledger();
        for (unsigned i = 0; i < RECORD_SLOTS; i++) {
                char name[RECORD_NAME_SIZE];
                (void)snprintf(name, sizeof name, "%032x.%u.native", i, i);
                _cleanup_(closep) int fd = openat(ledger->dirfd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
                assert_true(fd >= 0);
        }
        claim_and_fail(ledger, CLAIM, -1, ERROR_BUSY, "65536 slots", NULL);
        char name[RECORD_NAME_SIZE];
        (void)snprintf(name, sizeof name, "%032x.%u.native", 4711U, 4711U);
        assert_int_equal(unlinkat(ledger->dirfd, name, 0), 0);
        struct ledger_entry *entry = claim_or_fail(ledger, CLAIM);
        assert_int_equal(ledger_entry_slot(entry), 4711);
        (void)ledger_release(entry);
        (void)ledger_close(ledger);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_parent, remove_parent)
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(shortages),
            cmocka_unit_test(turns),
            TEST(reject),
            TEST(bad_words),
            TEST(queue_full_and_timeout),
            TEST(killed_head_of_queue),
            TEST(killed_holder_wakes_the_queue),
            TEST(release_wakes_at_once),
            TEST(cancelling),
            TEST(ten_at_once),
            TEST(level_holds_up_nobody),
            TEST(waited_is_told),
            TEST(slots_exhausted),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
