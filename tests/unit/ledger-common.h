/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ledger in a directory of its own, and processes that use
 * it, for the tests of the ledger and what stands on it.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "state/ledger_internal.h"
#include "util/clock.h"
#include "util/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char parent_path[64];

static int make_parent(void **state)
{
        (void)snprintf(parent_path, sizeof parent_path, "/tmp/mai-test-XXXXXX");
        return mkdtemp(parent_path) ? 0 : -1;
}

static int remove_parent(void **state)
{
        char command[128];
        (void)snprintf(command, sizeof command, "rm -rf %s", parent_path);
        return system(command);
}

static struct ledger *open_ledger(void)
{
        struct ledger *ledger = NULL;
        struct error err = {};
        if (ledger_open_at(parent_path, "state", &ledger, &err) < 0)
                fail_msg("%s", err.message);
        return ledger;
}

_unused_ static unsigned count_files(const char *prefix)
{
        char path[96];
        (void)snprintf(path, sizeof path, "%s/state", parent_path);
        DIR *dir = opendir(path);
        unsigned n = 0;
        for (struct dirent *entry; dir && (entry = readdir(dir));)
                n += entry->d_name[0] != '.' && strcmp(entry->d_name, "lock") != 0 &&
                     strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
        if (dir)
                (void)closedir(dir);
        return n;
}

_unused_ static void write_file(const char *name, const char *text)
{
        char path[192];
        (void)snprintf(path, sizeof path, "%s/state/%s", parent_path, name);
        _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

/* A claim that fits easily. */
#define CLAIM                                                                                               \
        ((struct ledger_claim){.cpus = 1,                                                                   \
            .memory = 1 << 20,                                                                              \
            .trust_level = "unknown",                                                                       \
            .backend = "native",                                                                            \
            .level_concurrency = 100,                                                                       \
            .host_cpu_share = 2,                                                                            \
            .host_mem_share = 1 << 30,                                                                      \
            .queue_when_full = true,                                                                        \
            .queue_length = 100,                                                                            \
            .queue_timeout = 30})

_unused_ static struct ledger_entry *claim_or_fail(struct ledger *ledger, struct ledger_claim claim)
{
        struct ledger_entry *entry = NULL;
        struct error err = {};
        if (ledger_claim(ledger, &claim, -1, &entry, &err) < 0)
                fail_msg("%s", err.message);
        return entry;
}

/* Claims and expects an error of that code whose message holds all of the words (NULL-terminated). */
_unused_ static void claim_and_fail(
    struct ledger *ledger, struct ledger_claim claim, int cancel_fd, enum error_code code, ...)
{
        struct ledger_entry *entry = NULL;
        _cleanup_(error_clear) struct error err = {};
        assert_true(ledger_claim(ledger, &claim, cancel_fd, &entry, &err) < 0);
        assert_null(entry);
        assert_int_equal(err.code, code);
        va_list words;
        va_start(words, code);
        for (const char *word; (word = va_arg(words, const char *));)
                if (!strstr(err.message, word))
                        fail_msg("\"%s\" is not in: %s", word, err.message);
        va_end(words);
}

/* A process of its own that claims, says so with one byte, and keeps it until killed. */
struct holder {
        pid_t pid;
        int pipe;
};

_unused_ static struct holder start_holder(struct ledger_claim claim)
{
        int fds[2];
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)close(fds[0]);
                struct ledger *ledger = NULL;
                struct ledger_entry *entry = NULL;
                if (ledger_open_at(parent_path, "state", &ledger, NULL) < 0 ||
                    ledger_claim(ledger, &claim, -1, &entry, NULL) < 0)
                        _exit(1);
                if (write(fds[1], "!", 1) != 1)
                        _exit(1);
                for (;;)
                        (void)pause();
        }
        (void)close(fds[1]);
        return (struct holder){.pid = pid, .pipe = fds[0]};
}

/* Waits until it holds its share. */
_unused_ static void holder_ready(const struct holder *holder)
{
        char byte;
        assert_int_equal(read(holder->pipe, &byte, 1), 1);
}

_unused_ static void kill_holder(struct holder *holder)
{
        assert_int_equal(kill(holder->pid, SIGKILL), 0);
        assert_int_equal(waitpid(holder->pid, NULL, 0), holder->pid);
        close_and_forget(&holder->pipe);
}

/* Waits until that many files with the prefix exist, at most five seconds. */
_unused_ static void await_files(const char *prefix, unsigned n)
{
        for (unsigned i = 0; i < 1000 && count_files(prefix) != n; i++)
                (void)usleep(5000);
        assert_int_equal(count_files(prefix), n);
}
