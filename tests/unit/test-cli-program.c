/* SPDX-License-Identifier: Apache-2.0 */
/* The whole program, linked with fake-api.c, as a caller sees it: words in, bytes and exit status out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "util/common.h"
#include "util/fd.h"
#include "util/strbuf.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char *program; /* path of mai-sandbox-fake */

struct child {
        pid_t pid;
        int out, err; /* read ends */
};

/* Starts the program with `in` as standard input (-1: closed). */
static struct child start(int in, const char *const *words)
{
        const char *argv[48] = {program};
        for (size_t i = 0; words[i]; i++)
                argv[i + 1] = words[i];
        int out[2];
        int err[2];
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        assert_int_equal(pipe2(err, O_CLOEXEC), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                if (in >= 0)
                        (void)dup2(in, STDIN_FILENO);
                else
                        (void)close(STDIN_FILENO);
                (void)dup2(out[1], STDOUT_FILENO);
                (void)dup2(err[1], STDERR_FILENO);
                (void)signal(SIGPIPE, SIG_DFL);
                (void)execv(program, (char *const *)argv);
                _exit(99);
        }
        (void)close(out[1]);
        (void)close(err[1]);
        return (struct child){pid, out[0], err[0]};
}

static int finish(pid_t pid)
{
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct answer {
        int status;
        char *out, *err;
};

static void forget(struct answer *answer)
{
        free(answer->out);
        free(answer->err);
}

/* Small outputs only: the two pipes are read one after the other. */
static struct answer collect(struct child child)
{
        struct answer answer = {};
        size_t size;
        assert_int_equal(fd_read_whole(child.out, 1U << 24, &answer.out, &size), 0);
        assert_int_equal(fd_read_whole(child.err, 1U << 20, &answer.err, &size), 0);
        (void)close(child.out);
        (void)close(child.err);
        answer.status = finish(child.pid);
        return answer;
}

static struct answer run_with(int in, const char *const *words)
{
        return collect(start(in, words));
}

/* In a table: the words, the rest of the array NULL. */
#define LIST(...)                                                                                           \
        {                                                                                                   \
                __VA_ARGS__                                                                                 \
        }

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void answers(void **state)
{
        static const struct {
                const char *words[12];
                int status;
                const char *out, *err;
        } cases[] = {
            {LIST("run", "out a\\n;err b\\n;exit 3"), 3, "a\n", "b\n"},
            {LIST("run", "out a;limit 10 s are over"), 124, "a", "mai-sandbox: stopped: 10 s are over\n"},
            {LIST("run", "err a;limit 10 s\033 are over"), 124, "",
                "a\nmai-sandbox: stopped: 10 s\\x1b are over\n"},
            {LIST("run", "error broken|mend it"), 125, "", "mai-sandbox: broken (mend it)\n"},
            {LIST("run", "--json", "out a;exit 3"), 3, "{\"status\":\"failed\"}\n", ""},
            {LIST("run", "--json", "limit x"), 124, "{\"status\":\"limit\"}\n", ""},
            {LIST("run", "--events", "out a;exit 3"), 3,
                "{\"kind\":\"something\"}\n{\"kind\":\"something\"}\n"
                "{\"kind\":\"result\",\"result\":{\"status\":\"failed\"}}\n",
                ""},
            {LIST("run", "--json", "--events", "x"), 2, "",
                "mai-sandbox: --json and --events exclude each other (see mai-sandbox run --help)\n"},
            {LIST("run", "--json", "missing.py"), 125, "{\"status\":\"error\"}\n",
                "mai-sandbox: missing.py: No such file or directory\n"},
            {LIST("run", "--events", "missing.py"), 125,
                "{\"kind\":\"result\",\"result\":{\"status\":\"error\"}}\n",
                "mai-sandbox: missing.py: No such file or directory\n"},
            {LIST("run", "--policy", "bad", "exit 0"), 125, "",
                "mai-sandbox: bad.yaml:3:1: unknown key 'x\\x1b[31m' (did you mean 'y'?)\n"},
            {LIST("run", "--json", "--policy", "bad", "exit 0"), 125, "{\"status\":\"error\"}\n",
                "mai-sandbox: bad.yaml:3:1: unknown key 'x\\x1b[31m' (did you mean 'y'?)\n"},
            {LIST("run", "--trust", "refused", "exit 0"), 125, "",
                "mai-sandbox: above the ceiling (ask for less)\n"},
            {LIST("run", "--json", "--trust", "nonsense", "exit 0"), 2, "", "mai-sandbox: nonsense\n"},
            {LIST("run", "--json", "--timeout", "999", "exit 0"), 2, "",
                "mai-sandbox: found only when it is run\n"},
            {LIST("run", "--timeoutt", "3", "x"), 2, "",
                "mai-sandbox: --timeoutt: unknown option; did you mean --timeout? (see mai-sandbox run "
                "--help)\n"},
            {LIST("run", "--a\033[1mb", "x"), 2, "",
                "mai-sandbox: --a\\x1b[1mb: unknown option (see mai-sandbox run --help)\n"},
            {LIST("run", "--file", "x"), 2, "",
                "mai-sandbox: run: no program; name a FILE, or - for standard input (see mai-sandbox run "
                "--help)\n"},
            {LIST("exec", "--"), 2, "", "mai-sandbox: exec: no command (see mai-sandbox exec --help)\n"},
            {LIST("run", "--env", "MAI_TEST_UNSET", "x"), 2, "",
                "mai-sandbox: --env: MAI_TEST_UNSET is not set in this environment (export it, or give "
                "--env "
                "NAME=VALUE)\n"},
            {LIST("run", "--env", "=x", "x"), 2, "",
                "mai-sandbox: --env: '=x' has no name; expected NAME=VALUE (see mai-sandbox run --help)\n"},
            {LIST("run", "--file", "a:", "x"), 2, "",
                "mai-sandbox: --file: cannot read 'a:'; expected SRC or SRC:DEST (see mai-sandbox run "
                "--help)\n"},
            {LIST("run", "--stdin", "/", "x"), 2, "",
                "mai-sandbox: --stdin: / is a directory (give a regular file, a pipe or /dev/null)\n"},
            {LIST("run", "--stdin", "/dev/zero", "x"), 2, "",
                "mai-sandbox: --stdin: /dev/zero is a device (give a regular file, a pipe or /dev/null)\n"},
            {LIST("run", "--stdin", "/nonexistent", "x"), 2, "",
                "mai-sandbox: --stdin: /nonexistent: No such file or directory (see mai-sandbox run "
                "--help)\n"},
            {LIST("run", "--stdin", "/dev/null", "cat"), 0, "[empty]", ""},
            {LIST("rum", "x"), 2, "",
                "mai-sandbox: rum: unknown command; did you mean run? (see mai-sandbox help)\n"},
            {LIST("policy chekc"), 2, "",
                "mai-sandbox: policy chekc: unknown command (see mai-sandbox help)\n"},
            {LIST("policy", "chekc"), 2, "",
                "mai-sandbox: policy chekc: unknown command; did you mean policy check? (see mai-sandbox "
                "policy --help)\n"},
            {LIST("policy"), 2, "", "mai-sandbox: policy: check or show? (see mai-sandbox policy --help)\n"},
            {LIST("policy", "check"), 0, "ok: built-in\n", ""},
            {LIST("policy", "check", "--policy=bad.yaml"), 125, "",
                "mai-sandbox: bad.yaml:3:1: unknown key 'x' (did you mean 'y'?)\n"},
            {LIST("policy", "check", "bad.yaml"), 2, "",
                "mai-sandbox: policy check: unexpected argument 'bad.yaml'\n"},
            {LIST("policy", "show", "--trust", "trusted", "--policy", "p"), 0, "# p trusted\n", ""},
            {LIST("image"), 2, "",
                "mai-sandbox: image: import or pull or ls or rm? (see mai-sandbox image --help)\n"},
            {LIST("image", "pul"), 2, "",
                "mai-sandbox: image pul: unknown command; did you mean image pull? (see mai-sandbox image "
                "--help)\n"},
            {LIST("image", "pull"), 2, "",
                "mai-sandbox: image pull: needs [OPTION...] REF [NAME] (see mai-sandbox image pull "
                "--help)\n"},
            {LIST("image", "pull", "a", "b", "c"), 2, "",
                "mai-sandbox: image pull: unexpected argument 'c' (see mai-sandbox image pull --help)\n"},
            {LIST("image", "pull", "--no-progress", "a"), 0, "a sha256:\\x1b-:-\n", ""},
            {LIST("image", "pull", "--backend=docker", "--policy", "p", "a", "b"), 0,
                "b sha256:\\x1bdocker:p\n",
                "mai-sandbox: pulling: 1 of 2 layers, 1.0 of 2.0 MiB\n"
                "mai-sandbox: pulling: 2 of 2 layers, 2.0 of 2.0 MiB\n"},
            {LIST("image", "pull", "missing"), 125, "", "mai-sandbox: no such image (see the name)\n"},
            {LIST("prune"), 0, "removed 3 containers\n", ""},
            {LIST("doctor"), 0, "host\n  kernel \\x1b[31mred\n", ""},
            {LIST("doctor", "--json"), 0, "{\"enforced\":true}\n", ""},
            {LIST("doctor", "--policy", "weak.yaml"), 1, "host\n  kernel \\x1b[31mred\n", ""},
            {LIST("version"), 0, "mai-sandbox 9.8.7\n", ""},
            {LIST("--version"), 0, "mai-sandbox 9.8.7\n", ""},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct answer answer = run_with(-1, cases[i].words);
                assert_string_equal(answer.out, cases[i].out);
                assert_string_equal(answer.err, cases[i].err);
                assert_int_equal(answer.status, cases[i].status);
                forget(&answer);
        }
}

static void requests(void **state)
{
        assert_int_equal(setenv("MAI_TEST_SET", "a=b", 1), 0);
        struct answer answer = run_with(-1,
            WORDS("run", "--timeout=2.5", "--memory", "64m", "--cpus", "0.5", "--pids", "9", "--cpu-time",
                "1", "--disk", "1m", "--inodes", "7", "--output-limit", "1k", "--open-files", "20",
                "--network", "none", "--index", "a", "--index=b", "--env", "A=", "--env", "MAI_TEST_SET",
                "--allow-degraded=cgroup", "request", "--json", "--", "-"));
        assert_string_equal(answer.err, "");
        assert_string_equal(answer.out,
            "timeout=2.5\nmem_limit=64m\ncpu_count=0.5\npids_limit=9\ncpu_time=1\ndisk_limit=1m\ninode_"
            "limit=7\n"
            "output_limit=1k\nopen_files=20\nnetwork_mode=none\nwhitelist=a\nwhitelist=b\nenvironment=A="
            "\nenvironment=MAI_TEST_SET=a=b\nallow_degraded="
            "cgroup\n"
            "program_file=request\nargument=--json\nargument=--\nargument=-\nkeep_output=0\n");
        forget(&answer);

        answer = run_with(-1, WORDS("exec", "--trust", "t", "--backend", "b", "--image", "i", "--file", "a",
                                  "--file", "/b:c:d", "--output-dir", "o", "--", "ls", "--json"));
        assert_string_equal(answer.out, "trust_level=t\nbackend=b\nimage=i\nfile=a\ndestination=-\nfile=/"
                                        "b:c\ndestination=d\noutput_dir=o\n"
                                        "command=ls\ncommand=--json\nkeep_output=0\n");
        forget(&answer);

        answer = run_with(-1, WORDS("exec", "ls", "-l"));
        assert_string_equal(answer.out, "command=ls\ncommand=-l\nkeep_output=0\n");
        forget(&answer);
}

static void help_comes_from_the_tables(void **state)
{
        struct answer answer = run_with(-1, WORDS("run", "--json", "--help", "--nonsense"));
        assert_int_equal(answer.status, 0);
        assert_non_null(strstr(answer.out, "Usage: mai-sandbox run [OPTION...] FILE|- [ARG...]\n"));
        assert_non_null(strstr(answer.out, "  --timeout SECONDS      wall-clock limit\n"));
        assert_string_equal(answer.err, "");
        forget(&answer);

        struct answer again = run_with(-1, WORDS("help", "policy", "show"));
        assert_non_null(strstr(again.out, "  --trust LEVEL"));
        assert_null(strstr(again.out, "--timeout"));
        forget(&again);

        const char *none[] = {NULL};
        answer = run_with(-1, none);
        assert_int_equal(answer.status, 2);
        assert_string_equal(answer.out, "");
        assert_non_null(strstr(answer.err, "  run "));
        forget(&answer);
}

static int temporary_file(const char *text, int flags)
{
        char path[] = "/tmp/mai-test-cli-XXXXXX";
        _cleanup_(closep) int fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
        int again = open(path, flags | O_CLOEXEC);
        assert_true(again >= 0);
        (void)unlink(path);
        return again;
}

/* Only pipes reach the program: descriptors of files, sockets and terminals stay with the caller. */
static void standard_input(void **state)
{
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(fd_write_all(ends[1], "from a pipe ", 12), 0);
        (void)close(ends[1]);
        struct answer answer = run_with(ends[0], WORDS("run", "cat"));
        assert_string_equal(answer.out, "from a pipe [pipe]");
        forget(&answer);
        (void)close(ends[0]);

        /* From where the descriptor stands, as for any other program. */
        static const int modes[] = {O_RDONLY, O_RDWR};
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                int file = temporary_file("read; from a file ", modes[i]);
                assert_int_equal(lseek(file, 6, SEEK_SET), 6);
                answer = run_with(file, WORDS("run", "cat"));
                assert_string_equal(answer.out, "from a file [pipe]");
                forget(&answer);
                (void)close(file);
        }

        int sockets[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        assert_int_equal(fd_write_all(sockets[1], "from a socket ", 14), 0);
        (void)shutdown(sockets[1], SHUT_WR);
        answer = run_with(sockets[0], WORDS("run", "cat"));
        assert_string_equal(answer.out, "from a socket [pipe]");
        forget(&answer);

        /* A socket that stays open and silent does not keep us after the run. */
        int silent[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, silent), 0);
        answer = run_with(silent[0], WORDS("run", "sleep 20;exit 4"));
        assert_int_equal(answer.status, 4);
        forget(&answer);
        for (int i = 0; i < 2; i++) {
                (void)close(sockets[i]);
                (void)close(silent[i]);
        }

        int master;
        int slave;
        assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
        answer = run_with(slave, WORDS("run", "cat"));
        assert_string_equal(answer.out, "[empty]");
        forget(&answer);
        char name[64];
        assert_int_equal(ttyname_r(slave, name, sizeof name), 0);
        answer = run_with(-1, WORDS("run", "--stdin", name, "cat"));
        assert_int_equal(answer.status, 2);
        forget(&answer);
        (void)close(master);
        (void)close(slave);

        answer = run_with(-1, WORDS("run", "--stdin", program, "cat"));
        assert_int_equal(answer.status, 0);
        assert_memory_equal(answer.out, "\177ELF", 4);
        forget(&answer);

        int file = temporary_file("cat\nrequest\n", O_RDONLY);
        answer = run_with(file, WORDS("run", "-", "x"));
        assert_string_equal(answer.out, "[empty]program=main.py\nargument=x\nkeep_output=0\n");
        forget(&answer);
        (void)close(file);
}

static void closed_descriptors(void **state)
{
        /* Every set of closed ones, a bit each. */
        for (int closed = 0; closed < 8; closed++) {
                pid_t pid = fork();
                assert_true(pid >= 0);
                if (pid == 0) {
                        for (int fd = 0; fd < 3; fd++)
                                if (closed & (1 << fd))
                                        (void)close(fd);
                                else
                                        (void)dup2(open("/dev/null", O_RDWR | O_CLOEXEC), fd);
                        (void)execl(program, program, "run", "cat;out x;err y;exit 5", (char *)NULL);
                        _exit(99);
                }
                assert_int_equal(finish(pid), 5);
        }
}

static void signals_cancel(void **state)
{
        /* "deaf" is a run that mai_cancel() came too early for: the event handler has to end it. */
        static const char *const scripts[] = {"wait", "wait", "wait", "deaf;wait"};
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGINT};
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
                struct child child = start(-1, WORDS("run", "--json", scripts[i]));
                /* The run has begun when the process has its handlers; it is asked again until then. */
                char line[512];
                char path[64];
                (void)snprintf(path, sizeof path, "/proc/%d/status", child.pid);
                for (int tries = 0; tries < 500; tries++) {
                        char status[4096];
                        assert_true(fd_read_small(AT_FDCWD, path, status, sizeof status) > 0);
                        const char *mask = strstr(status, "SigCgt:");
                        assert_non_null(mask);
                        (void)snprintf(line, sizeof line, "%.24s", mask + 8);
                        if (strtoull(line, NULL, 16) & (UINT64_C(1) << (SIGHUP - 1)))
                                break;
                        (void)poll(NULL, 0, 10);
                }
                assert_int_equal(kill(child.pid, signals[i]), 0);
                struct answer answer = collect(child);
                assert_int_equal(answer.status, 128 + signals[i]);
                assert_string_equal(answer.out, "{\"status\":\"cancelled\"}\n");
                assert_string_equal(answer.err, "");
                forget(&answer);
        }
}

static void a_reader_who_leaves(void **state)
{
        struct child child = start(-1, WORDS("run", "flood 100000"));
        char byte;
        assert_int_equal(fd_read_all(child.out, &byte, 1), 0);
        (void)close(child.out);
        _cleanup_(freep) char *err = NULL;
        size_t size;
        assert_int_equal(fd_read_whole(child.err, 65536, &err, &size), 0);
        assert_string_equal(err, "");
        (void)close(child.err);
        assert_int_equal(finish(child.pid), 141);
}

/* 1 MiB that nobody reads for a while: the run goes on to its end, and then every byte arrives. */
static void a_reader_who_waits(void **state)
{
        struct child child = start(-1, WORDS("run", "flood 256;err done;sleep 1"));
        char text[4];
        struct pollfd poller = {.fd = child.err, .events = POLLIN};
        assert_int_equal(poll(&poller, 1, 5000), 1); /* it got past the flood while the pipe was full */
        assert_int_equal(fd_read_all(child.err, text, 4), 0);
        assert_memory_equal(text, "done", 4);
        _cleanup_(freep) char *out = NULL;
        size_t size;
        assert_int_equal(fd_read_whole(child.out, 1U << 24, &out, &size), 0);
        assert_int_equal(size, 1U << 20);
        assert_int_equal(finish(child.pid), 0);
        (void)close(child.out);
        (void)close(child.err);
}

/*
 * Cancelled while output waits for a slow reader: what
 * was begun is still completed, so JSON lines stay whole.
 */
static void cancelled_while_waiting(void **state)
{
        struct child child = start(-1, WORDS("run", "flood 64;err done;wait"));
        char text[4];
        assert_int_equal(fd_read_all(child.err, text, 4), 0);
        assert_int_equal(kill(child.pid, SIGTERM), 0);
        struct answer answer = collect(child);
        assert_int_equal(answer.status, 143);
        assert_int_equal(strlen(answer.out), 64 * 4096);
        forget(&answer);
}

static void a_full_disk(void **state)
{
        _cleanup_(closep) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        assert_true(full >= 0);
        int err[2];
        assert_int_equal(pipe2(err, O_CLOEXEC), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)dup2(full, STDOUT_FILENO);
                (void)dup2(err[1], STDERR_FILENO);
                (void)execl(program, program, "run", "out x;wait", (char *)NULL);
                _exit(99);
        }
        (void)close(err[1]);
        _cleanup_(freep) char *text = NULL;
        size_t size;
        assert_int_equal(fd_read_whole(err[0], 65536, &text, &size), 0);
        (void)close(err[0]);
        assert_string_equal(
            text, "mai-sandbox: standard output: No space left on device (output is lost)\n");
        assert_int_equal(finish(pid), 125);
}

/* What a terminal of 80 columns receives. */
static char *on_terminal(const char *term, const char *const *words)
{
        const char *argv[16] = {program};
        for (size_t i = 0; words[i]; i++)
                argv[i + 1] = words[i];
        struct winsize window = {.ws_row = 24, .ws_col = 80};
        int master;
        pid_t pid = forkpty(&master, NULL, NULL, &window);
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)setenv("TERM", term, 1);
                (void)unsetenv("COLUMNS");
                (void)unsetenv("NO_COLOR");
                (void)execv(program, (char *const *)argv);
                _exit(99);
        }
        struct strbuf text = STRBUF_INIT(1U << 20);
        char buffer[4096];
        ssize_t n;
        while ((n = read(master, buffer, sizeof buffer)) > 0) /* EIO when the other side is gone */
                assert_int_equal(strbuf_append(&text, buffer, (size_t)n), 0);
        (void)close(master);
        int status = finish(pid);
        assert_true(status == 0 || status == 125);
        return strbuf_take(&text);
}

static void the_status_line(void **state)
{
        static const struct {
                const char *term;
                const char *words[12];
                const char *seen;
        } cases[] = {
            /*
             * Not before half a second, not twice within a
             * tenth of one, gone before output and at the end.
             */
            {"xterm",
                LIST("run",
                    "sample 0.1 50 1048576 2;sample 0.6 50 1048576 2;sample 0.61 50 1048576 3;out hi\\n"),
                "\r\033[K[unknown] 0.6/10.0 s  cpu 50%  mem 1.0/256 MiB  procs 2/64\r\033[Khi\r\n"},
            {"xterm", LIST("run", "sample 0.6 50 1048576 2;sleep 120;sample 0.72 50 1048576 2"),
                "\r\033[K[unknown] 0.6/10.0 s  cpu 50%  mem 1.0/256 MiB  procs 2/64"
                "\r\033[K[unknown] 0.7/10.0 s  cpu 50%  mem 1.0/256 MiB  procs 2/64\r\033[K"},
            /* Not over a line that the program has begun. */
            {"xterm", LIST("run", "out 10%;sample 0.6 50 1048576 2;err !\\n;sample 0.8 1 1048576 2"),
                "10%!\r\n\r\033[K[unknown] 0.8/10.0 s  cpu 1%  mem 1.0/256 MiB  procs 2/64\r\033[K"},
            /* One cursor for both streams: our message begins a line, and leaves none empty. */
            {"xterm", LIST("run", "err a;out b\\n;error x"), "ab\r\nmai-sandbox: x\r\n"},
            {"xterm", LIST("run", "err a\\n;out b;error x"), "a\r\nb\r\nmai-sandbox: x\r\n"},
            {"dumb", LIST("run", "sample 0.6 50 1048576 2;out x"), "x"},
            {"xterm", LIST("run", "--no-progress", "sample 0.6 50 1048576 2;out x"), "x"},
            {"xterm", LIST("run", "--json", "sample 0.6 50 1048576 2;out x"), "{\"status\":\"ok\"}\r\n"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(freep) char *seen = on_terminal(cases[i].term, cases[i].words);
                assert_string_equal(seen, cases[i].seen);
        }
}

int main(int argc, char **argv)
{
        if (argc != 2)
                return 2;
        program = argv[1];
        (void)signal(SIGPIPE, SIG_IGN);
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(answers),
            cmocka_unit_test(requests),
            cmocka_unit_test(help_comes_from_the_tables),
            cmocka_unit_test(standard_input),
            cmocka_unit_test(closed_descriptors),
            cmocka_unit_test(signals_cancel),
            cmocka_unit_test(a_reader_who_leaves),
            cmocka_unit_test(a_reader_who_waits),
            cmocka_unit_test(cancelled_while_waiting),
            cmocka_unit_test(a_full_disk),
            cmocka_unit_test(the_status_line),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
