/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generated filters in a real kernel: what they refuse,
 * what ordinary programs still do, and what loading takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "seccomp/seccomp.h"
#include "util/fd.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static int load(bool with_notify)
{
        const struct seccomp_program *program = seccomp_program(with_notify);
        struct sock_fprog filter = {.len = program->length, .filter = (struct sock_filter *)program->code};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        int r = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
            with_notify ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &filter);
        return r < 0 ? -errno : r;
}

/* Runs `body` in a child under the filter (no listener); returns the wait status. */
static int under_filter(int (*body)(void))
{
        fflush(stdout);
        fflush(stderr);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)signal(SIGSEGV, SIG_DFL); /* the test framework's own handlers */
                (void)signal(SIGSYS, SIG_DFL);
                _exit(load(false) < 0 ? 99 : body());
        }
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static int probes(void)
{
        const struct probe {
                const char *what;
                long number;
                uint64_t args[4];
                int errnum; /* 0: succeeds */
        } list[] = {
            {"AF_VSOCK with garbage above", SYS_socket, {0x100000028, 1, 0}, EAFNOSUPPORT},
            {"AF_ALG", SYS_socket, {38, 5, 0}, EAFNOSUPPORT},
            {"AF_NETLINK", SYS_socket, {16, 3, 0}, EAFNOSUPPORT},
            {"AF_PACKET", SYS_socket, {17, 3, 0}, EAFNOSUPPORT},
            {"raw", SYS_socket, {2, 3, 1}, EPERM},
            {"TCP", SYS_socket, {2, 0x80001, 0}, 0},
            {"Unix", SYS_socket, {1, 1, 0}, 0},
            {"TIOCSTI", SYS_ioctl, {0, 0x5412, 0}, ENOTTY},
            {"TIOCSTI with garbage above", SYS_ioctl, {0, 0x100005412, 0}, ENOTTY},
            {"clone3", SYS_clone3, {0, 0}, ENOSYS},
            {"clone with a user namespace", SYS_clone, {0x10000011}, EPERM},
            {"the same with garbage above", SYS_clone, {0xf10000011}, EPERM},
            {"unshare", SYS_unshare, {0x10000000}, EPERM},
            {"unshare of nothing", SYS_unshare, {0}, EPERM},
            {"mount", SYS_mount, {0, 0, 0, 0}, EPERM},
            {"bpf", SYS_bpf, {0, 0, 0}, EPERM},
            {"io_uring", SYS_io_uring_setup, {1, 0}, EPERM},
            {"keyctl", SYS_keyctl, {0, 0, 0}, EPERM},
            {"ptrace", SYS_ptrace, {0, 0, 0, 0}, EPERM},
            {"userfaultfd", SYS_userfaultfd, {1}, EPERM},
            {"perf_event_open", SYS_perf_event_open, {0, 0, 0, 0}, EPERM},
            {"open_by_handle_at", SYS_open_by_handle_at, {0, 0, 0}, EPERM},
            {"chroot", SYS_chroot, {0}, EPERM},
            {"seccomp", SYS_seccomp, {1, 0, 0}, EPERM},
            {"PR_SET_SECCOMP", SYS_prctl, {22, 2, 0}, EPERM},
            {"PR_SET_MM with garbage above", SYS_prctl, {0x100000023, 1, 0}, EPERM},
            {"READ_IMPLIES_EXEC", SYS_personality, {0x400000}, EPERM},
            {"personality's question", SYS_personality, {0xffffffff}, 0},
            {"a device node", SYS_mknodat, {(uint64_t)AT_FDCWD, 0, S_IFCHR | 0600, 0x103}, EPERM},
            {"splice", SYS_splice, {0, 0, 0, 0}, ENOSYS},
            {"number 1000", 1000, {0}, ENOSYS},
            {"number -1", -1, {0}, ENOSYS},
        };
        int wrong = 0;
        for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
                errno = 0;
                const uint64_t *args = list[i].args;
                long r = syscall(list[i].number, args[0], args[1], args[2], args[3], 0L, 0L);
                if (list[i].number == SYS_clone && r == 0)
                        _exit(0); /* a child that should not be */
                if ((r >= 0) == (list[i].errnum == 0) && (r >= 0 || errno == list[i].errnum))
                        continue;
                fprintf(stderr, "%s: returned %ld, %s\n", list[i].what, r, strerror(errno));
                wrong++;
        }
        struct rlimit core = {.rlim_cur = 0, .rlim_max = 0}, files = {.rlim_cur = 64, .rlim_max = 64};
        if (setrlimit(RLIMIT_CORE, &core) == 0 || syscall(SYS_setrlimit, RLIMIT_CORE, &core) == 0 ||
            prlimit(getpid(), RLIMIT_CORE, &core, NULL) == 0 || getrlimit(RLIMIT_CORE, &core) < 0 ||
            setrlimit(RLIMIT_NOFILE, &files) < 0) {
                fprintf(stderr, "RLIMIT_CORE could be set, or another limit not\n");
                wrong++;
        }
        return wrong > 0;
}

static void what_it_refuses(void **state)
{
        assert_int_equal(under_filter(probes), 0);
}

#ifdef __x86_64__
static int x32(void)
{
        return (int)syscall(0x40000000L + SYS_getpid) == 0;
}

/* getpid by the 32-bit door. */
static int int80(void)
{
        long result = 20;
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
        return result > 0 ? 7 : 8;
}

static void foreign_calls_kill(void **state)
{
        int status = under_filter(x32);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
        status = under_filter(int80);
        /* SIGSEGV: a kernel without 32-bit emulation has no such door. */
        assert_true(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV));
}
#endif

/* The listener hears of a call, and the caller gets the answer. It also proves that it can be handed over
 * under the filter, as the container's init does. */
static void a_listener_hears(void **state)
{
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                int listener = load(true);
                if (listener < 0 || fd_send(pair[1], "x", 1, &listener, 1) < 0)
                        _exit(98);
                (void)close(listener);
                int r = unshare(CLONE_NEWUSER);
                _exit(r < 0 && errno == EPERM ? 0 : 97);
        }
        (void)close(pair[1]);
        char byte = 0;
        int fds[FD_PASS_MAX];
        size_t n = 0;
        assert_int_equal(fd_receive(pair[0], &byte, 1, fds, &n, NULL, 0), 1);
        assert_int_equal(n, 1);
        struct seccomp_notif call = {};
        assert_int_equal(ioctl(fds[0], SECCOMP_IOCTL_NOTIF_RECV, &call), 0);
        assert_string_equal(seccomp_syscall_name(call.data.nr), "unshare");
        struct seccomp_notif_resp answer = {.id = call.id, .error = -EPERM};
        assert_int_equal(ioctl(fds[0], SECCOMP_IOCTL_NOTIF_SEND, &answer), 0);
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        (void)close(fds[0]);
        (void)close(pair[0]);
}

#define PYTHON "/usr/bin/python3"

static int run_python(const char *script)
{
        (void)execl(PYTHON, PYTHON, "-X", "faulthandler", "-c", script, (char *)NULL);
        return 96;
}

static int standard_library(void)
{
        return run_python(
            "import asyncio, fcntl, http.client, http.server, mmap, multiprocessing as mp, os, random, "
            "resource\n"
            "import select, shutil, signal, socket, sqlite3, ssl, subprocess, sys, tempfile, termios, "
            "threading, time\n"
            "from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor\n"
            "from multiprocessing import shared_memory\n"
            "d = tempfile.mkdtemp(); os.chdir(d)\n"
            "assert subprocess.run('echo a | tr a b', shell=True, capture_output=True).stdout == b'b\\n'\n"
            "assert subprocess.run(['true'], start_new_session=True, close_fds=False).returncode == 0\n"
            "assert subprocess.run(['true'], preexec_fn=lambda: None).returncode == 0\n"
            "p = os.posix_spawn('/bin/true', ['true'], {}); assert os.waitpid(p, 0)[1] == 0\n"
            "with ThreadPoolExecutor(8) as e: assert sum(e.map(abs, range(100))) == 4950\n"
            "ctx = mp.get_context('fork')\n"
            "with ctx.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]\n"
            "with ctx.Manager() as m: x = m.dict(); x[1] = 2; assert dict(x) == {1: 2}\n"
            "with ProcessPoolExecutor(2, mp_context=ctx) as e: assert list(e.map(abs, [-3])) == [3]\n"
            "s = shared_memory.SharedMemory(create=True, size=4096); s.buf[0] = 1; s.close(); s.unlink()\n"
            "l = ctx.Lock(); l.acquire(); l.release()\n"
            "async def go():\n"
            "    q = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)\n"
            "    assert (await q.communicate(b'hi'))[0] == b'hi'\n"
            "    srv = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0)\n"
            "    r, w = await asyncio.open_connection(*srv.sockets[0].getsockname()); "
            "assert await r.read() == b''\n"
            "asyncio.run(go())\n"
            "srv = http.server.ThreadingHTTPServer(('127.0.0.1', 0), "
            "http.server.SimpleHTTPRequestHandler)\n"
            "srv.RequestHandlerClass.log_message = lambda *a: None\n"
            "threading.Thread(target=srv.serve_forever, daemon=True).start()\n"
            "c = http.client.HTTPConnection('127.0.0.1', srv.server_port); c.request('GET', '/')\n"
            "assert c.getresponse().status == 200; srv.shutdown()\n"
            "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0))\n"
            "assert socket.getaddrinfo('127.0.0.1', 80); a, b = socket.socketpair(); a.send(b'x'); "
            "b.recv(1)\n"
            "try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); sys.exit(3)\n"
            "except OSError: pass\n"
            "ssl.create_default_context()\n"
            "db = sqlite3.connect('x.db'); db.execute('pragma journal_mode=wal'); "
            "db.execute('create table t(a)')\n"
            "db.execute('insert into t values(1)'); db.commit(); db.close()\n"
            "m = mmap.mmap(-1, 8192); m[0] = 1; m.madvise(mmap.MADV_DONTNEED); m.close()\n"
            "f = open('f', 'w+b'); f.write(b'a' * 70000); f.flush(); os.fsync(f.fileno())\n"
            "os.posix_fallocate(f.fileno(), 0, 100000); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, "
            "fcntl.LOCK_EX)\n"
            "shutil.copyfile('f', 'g'); shutil.copytree('.', d + '2'); shutil.rmtree(d + '2')\n"
            "g = open('h', 'wb'); os.copy_file_range(f.fileno(), g.fileno(), 10, 0); "
            "os.sendfile(g.fileno(), f.fileno(), 0, 9)\n"
            "os.chmod('f', 0o600); os.utime('f'); os.mkfifo('ff'); os.symlink('f', 'l'); os.link('f', "
            "'k'); os.sync()\n"
            "os.chown('f', os.getuid(), os.getgid()); os.listdir('.'); list(os.scandir('.')); "
            "os.replace('g', 'gg')\n"
            "k = os.memfd_create('m'); os.write(k, b'x'); os.close(k); os.eventfd(1); os.getrandom(8); "
            "os.pipe()\n"
            "os.sched_getaffinity(0); os.sched_getscheduler(0); os.nice(0); "
            "os.getloadavg()\n"
            "os.setsid() if os.fork() == 0 and not os._exit(0) else os.wait()\n"
            "n = os.fork()\n"
            "if n == 0: os._exit(5)\n"
            "h = os.pidfd_open(n); select.select([h], [], []); assert os.waitid(os.P_PIDFD, h, "
            "os.WEXITED).si_status == 5\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))\n"
            "assert resource.prlimit(0, resource.RLIMIT_CORE)\n"
            "try: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); sys.exit(4)\n"
            "except (PermissionError, ValueError): pass\n"
            "signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.01); "
            "signal.pause()\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); os.kill(os.getpid(), "
            "signal.SIGUSR1)\n"
            "assert signal.sigtimedwait([signal.SIGUSR1], 1).si_signo == signal.SIGUSR1\n"
            "ep = select.epoll(); ep.register(a.fileno()); ep.poll(0); select.poll().poll(0)\n"
            "time.sleep(0.001); time.clock_gettime(time.CLOCK_MONOTONIC); os.isatty(0); sys.stdin\n"
            "try: os.get_terminal_size(0)\n"
            "except OSError: pass\n"
            "shutil.rmtree(d)\n");
}

static int numeric(void)
{
        return run_python(
            "import os, tempfile; os.environ['MPLCONFIGDIR'] = tempfile.mkdtemp()\n"
            "import numpy as np, pandas as pd, matplotlib; matplotlib.use('Agg')\n"
            "import matplotlib.pyplot as plt\n"
            "a = np.random.rand(400, 400); (a @ a).sum(); np.linalg.svd(a[:50, :50])\n"
            "assert pd.DataFrame({'a': [1, 2]}).groupby('a').size().sum() == 2\n"
            "m = np.memmap(tempfile.TemporaryFile(), shape=(1000,), mode='w+'); m[:] = 1; m.flush()\n"
            "plt.plot([1, 2]); plt.savefig(tempfile.TemporaryFile())\n"
            "import shutil; shutil.rmtree(os.environ['MPLCONFIGDIR'])\n");
}

static int shell(void)
{
        (void)execl("/bin/bash", "bash", "-c",
            "set -e; d=$(mktemp -d); cd $d; ulimit -n 100; trap 'true' USR1; kill -USR1 $$; "
            "(sleep 0.01 & wait); "
            "seq 100 | sort -n | head -3 >a; cp a b; mv b c; cp -r . /tmp/x$$; rm -r /tmp/x$$; "
            "tar cf t a c; gzip t; "
            "find . -type f | xargs wc -l >/dev/null; mkfifo f; timeout 1 true; nice true; cmp a c; sync; "
            "cd /; rm -r $d",
            (char *)NULL);
        return 96;
}

static void ordinary_programs_work(void **state)
{
        if (access(PYTHON, X_OK) < 0) {
                print_message("skipped: no %s\n", PYTHON);
                skip();
        }
        assert_int_equal(under_filter(standard_library), 0);
        assert_int_equal(under_filter(shell), 0);
}

static void numeric_libraries_work(void **state)
{
        if (access("/usr/lib/python3/dist-packages/matplotlib", F_OK) < 0 ||
            access("/usr/lib/python3/dist-packages/pandas", F_OK) < 0) {
                print_message("skipped: no matplotlib or pandas\n");
                skip();
        }
        assert_int_equal(under_filter(numeric), 0);
}

static int compare_times(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
        return (x > y) - (x < y);
}

/* Fresh processes, since filters pile up in one. The figure is printed, not judged: machines differ. */
static void loading_takes(void **state)
{
        enum { ROUNDS = 51 };
        uint64_t *taken =
            mmap(NULL, ROUNDS * sizeof *taken, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(taken != MAP_FAILED);
        memset(
            taken, 0, ROUNDS * sizeof *taken); /* touched, so that the children's clocks do not count it */
        for (size_t i = 0; i < ROUNDS; i++) {
                pid_t pid = fork();
                assert_true(pid >= 0);
                if (pid == 0) {
                        struct timespec before, after;
                        (void)clock_gettime(CLOCK_MONOTONIC, &before);
                        int r = load(false);
                        (void)clock_gettime(CLOCK_MONOTONIC, &after);
                        taken[i] = (uint64_t)(after.tv_sec - before.tv_sec) * NSEC_PER_SEC +
                                   (uint64_t)after.tv_nsec - (uint64_t)before.tv_nsec;
                        _exit(r < 0);
                }
                int status = 0;
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(status, 0);
        }
        qsort(taken, ROUNDS, sizeof *taken, compare_times);
        print_message("loading takes %.1f us (median; least %.1f)\n", (double)taken[ROUNDS / 2] / 1000.0,
            (double)taken[0] / 1000.0);
        (void)munmap(taken, ROUNDS * sizeof *taken);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_it_refuses),
#ifdef __x86_64__
            cmocka_unit_test(foreign_calls_kill),
#endif
            cmocka_unit_test(a_listener_hears),
            cmocka_unit_test(ordinary_programs_work),
            cmocka_unit_test(numeric_libraries_work),
            cmocka_unit_test(loading_takes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
