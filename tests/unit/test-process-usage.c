/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/native/process_usage.h"

#include "util/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

/* A process that runs `function` until it is killed, once it has said that it is ready. */
static pid_t start(void (*function)(int ready))
{
        int ready[2];
        char word;
        assert_int_equal(pipe(ready), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                function(ready[1]);
                for (;;)
                        (void)pause();
        }
        (void)close(ready[1]);
        assert_int_equal(read(ready[0], &word, 1), 1);
        (void)close(ready[0]);
        return pid;
}

static void stop(pid_t pid)
{
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
}

static void say_ready(int ready)
{
        (void)!write(ready, "r", 1);
}

static char *touched(size_t size)
{
        char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED)
                _exit(1);
        memset(block, 1, size);
        return block;
}

static void with_memory(int ready)
{
        (void)touched(64 * MIB);
        say_ready(ready);
}

static void memory_and_threads_of_one(void **state)
{
        pid_t pid = start(with_memory);
        struct process_usage usage;
        uint64_t exact;
        assert_int_equal(process_usage_read(pid, &usage), 0);
        assert_int_equal(usage.threads, 1);
        assert_true(usage.memory_bytes >= 64 * MIB && usage.memory_bytes < 200 * MIB);
        assert_int_equal(process_usage_memory(pid, &exact), 0);
        assert_true(exact >= 63 * MIB && exact < 200 * MIB);
        stop(pid);
}

/* A block that two processes share after a fork, and a third that descends from the second. */
static void family(int ready)
{
        (void)touched(64 * MIB);
        if (fork() == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                if (fork() == 0) {
                        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                        say_ready(ready);
                }
                for (;;)
                        (void)pause();
        }
}

static void descendants_count_and_shared_pages_once(void **state)
{
        pid_t pid = start(family);
        struct process_usage usage;
        uint64_t exact;
        assert_int_equal(process_usage_read(pid, &usage), 0);
        assert_int_equal(usage.threads, 3);
        assert_int_equal(process_usage_memory(pid, &exact), 0);
        assert_true(exact >= 60 * MIB && exact < 130 * MIB);
        assert_true(usage.memory_bytes > exact + 60 * MIB);
        stop(pid);
}

static void burning(int ready)
{
        if (fork() == 0) {
                uint64_t end = clock_now() + 150 * NSEC_PER_MSEC;
                while (clock_now() < end) {
                }
                _exit(0);
        }
        (void)wait(NULL);
        say_ready(ready);
}

static void cpu_time_of_the_dead_that_were_waited_for(void **state)
{
        pid_t pid = start(burning);
        struct process_usage usage;
        assert_int_equal(process_usage_read(pid, &usage), 0);
        uint64_t cpu = usage.cpu_user_nsec + usage.cpu_system_nsec;
        assert_true(cpu > 0 && cpu < 2 * NSEC_PER_SEC);
        stop(pid);
}

static void nobody_there(void **state)
{
        pid_t pid = fork();
        if (pid == 0)
                _exit(0);
        (void)waitpid(pid, NULL, 0);
        struct process_usage usage = {.threads = 77};
        assert_int_equal(process_usage_read(pid, &usage), -ESRCH);
        assert_int_equal(usage.threads, 77);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(memory_and_threads_of_one),
            cmocka_unit_test(descendants_count_and_shared_pages_once),
            cmocka_unit_test(cpu_time_of_the_dead_that_were_waited_for),
            cmocka_unit_test(nobody_there),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
