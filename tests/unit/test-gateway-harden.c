/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway can still do once it has locked itself down. Each try is made twice, in children: before,
 * where it has to work, and after, where it has to be refused with the right word.
 */
#include "gateway/harden.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#define UNUSED_ID 61918

static char directory[] = "/tmp/mai-gateway-XXXXXX";
static uint16_t port; /* of a listening socket that is no upstream's */

static int try_exec(void)
{
        char *const arguments[] = {(char *)"true", NULL};
        return execv("/bin/true", arguments);
}

static int try_fork(void)
{
        pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0)
                _exit(0);
        return pid < 0 ? -1 : 0;
}

static int try_passwd(void)
{
        return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static int try_write_outside(void)
{
        return open("/tmp/mai-gateway-outside", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int try_netlink(void)
{
        return socket(AF_NETLINK, SOCK_RAW, 0);
}

/* The same family with garbage in the half that the kernel drops. */
static int try_netlink_truncated(void)
{
        return (int)syscall(SYS_socket, AF_NETLINK | 0x100000000L, SOCK_RAW, 0);
}

static int try_unix(void)
{
        return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int try_other_port(void)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        return fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&address, sizeof address);
}

static int try_bind(void)
{
        struct sockaddr_in address = {.sin_family = AF_INET};
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        return fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&address, sizeof address);
}

static int try_kill(void)
{
        return kill(getppid(), 0);
}

static int try_trace_me(void)
{
        return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int try_memfd(void)
{
        return memfd_create("x", 0);
}

static int try_chmod_mode(void)
{
        return chmod(directory, 0700);
}

static int try_user(void)
{
        return setuid(getuid());
}

static const struct {
        const char *name;
        int (*try)(void);
        int refused;      /* errno */
        int landlock_abi; /* that it takes; 0: the filter refuses it */
} tries[] = {
    {"another program", try_exec, EPERM, 0},
    {"another process", try_fork, EPERM, 0},
    {"a file of the host", try_passwd, EACCES, 1},
    {"a new file elsewhere", try_write_outside, EACCES, 1},
    {"netlink", try_netlink, EPERM, 0},
    {"netlink, truncated", try_netlink_truncated, EPERM, 0},
    {"a Unix socket", try_unix, EPERM, 0},
    {"a port of nobody's", try_other_port, EACCES, 4},
    {"a port of its own", try_bind, EPERM, 0},
    {"a signal to others", try_kill, EPERM, 0},
    {"being traced", try_trace_me, EPERM, 0},
    {"an anonymous file", try_memfd, EPERM, 0},
    {"a change of mode", try_chmod_mode, EPERM, 0},
    {"another user", try_user, EPERM, 0},
};

/* The outcome is the child's exit status: 0, or the error. */
static int in_child(int (*try)(void), bool hardened, int *ret_abi)
{
        int report[2];
        assert_int_equal(pipe(report), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct hardening hardening = {};
                if (hardened) {
                        char *origins[] = {(char *)"https://localhost:443", NULL};
                        struct index_entry entry = {.origins = origins};
                        struct gateway_config config = {.has_uid = true,
                            .uid = UNUSED_ID,
                            .gid = UNUSED_ID,
                            .landlock_optional = true,
                            .entries = &entry,
                            .entry_count = 1};
                        int cache = open(directory, O_RDONLY | O_DIRECTORY);
                        struct error err = {};
                        if (harden(&config, cache, &hardening, &err) < 0) {
                                (void)dprintf(2, "%s\n", err.message);
                                _exit(254);
                        }
                }
                (void)write(report[1], &hardening.landlock_abi, sizeof hardening.landlock_abi);
                errno = 0;
                _exit(try() < 0 ? errno : 0);
        }
        int status;
        (void)close(report[1]);
        assert_int_equal(read(report[0], ret_abi, sizeof *ret_abi), sizeof *ret_abi);
        (void)close(report[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void all_tries(void **state)
{
        for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
                int abi, before = in_child(tries[i].try, false, &abi),
                         after = in_child(tries[i].try, true, &abi);
                if (before != 0)
                        print_message("%s: fails before too (%s)\n", tries[i].name, strerror(before));
                assert_int_equal(before, 0);
                if (abi < tries[i].landlock_abi) {
                        print_message("%s: this kernel's Landlock can't refuse it\n", tries[i].name);
                        continue;
                }
                if (after != tries[i].refused)
                        print_message("%s: %s\n", tries[i].name, after == 0 ? "done" : strerror(after));
                assert_int_equal(after, tries[i].refused);
        }
        (void)unlink("/tmp/mai-gateway-outside");
}

static int set_up(void **state)
{
        struct sockaddr_in address = {.sin_family = AF_INET};
        socklen_t size = sizeof address;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        if (!mkdtemp(directory) || bind(listener, (const struct sockaddr *)&address, size) < 0 ||
            listen(listener, 8) < 0 || getsockname(listener, (struct sockaddr *)&address, &size) < 0)
                return -1;
        port = ntohs(address.sin_port);
        return 0;
}

static int tear_down(void **state)
{
        return rmdir(directory);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(all_tries)};
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
