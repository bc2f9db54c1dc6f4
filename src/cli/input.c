/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/input.h"

#include "util/fd.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define PROGRAM_MAX ((size_t)64 << 20)
#define SEE_HELP "see mai-sandbox run --help"

void input_close(struct input *input)
{
        close_and_forget(&input->opened);
        input->fd = -1;
}

struct pump {
        int from;
        int to;
};

static void *pump_main(void *argument)
{
        struct pump pump = *(struct pump *)argument;
        free(argument);
        char buffer[16384];
        for (;;) {
                ssize_t n = read(pump.from, buffer, sizeof buffer);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0 || fd_write_all(pump.to, buffer, (size_t)n) < 0)
                        break;
        }
        (void)close(pump.to);
        return NULL;
}

/*
 * Starts a thread that copies `from` (open until the process ends) into a pipe, and gives the pipe's read
 * end. The thread is not waited for: it may hang in read() of a socket that stays silent, and ends with the
 * process.
 */
static int start_pump(int from, struct input *ret, struct error *err)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_set(err, ERROR_INTERNAL, errno, NULL, "making a pipe for standard input");
        _cleanup_(closep) int read_end = ends[0];
        _cleanup_(closep) int write_end = ends[1];
        struct pump *pump = malloc(sizeof *pump);
        if (!pump)
                return error_oom(err);
        *pump = (struct pump){.from = from, .to = write_end};

        /* Signals are for the main thread, whose waits they interrupt; a write to nobody just fails. */
        sigset_t all;
        sigset_t before;
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_t thread;
        int r = pthread_create(&thread, NULL, pump_main, pump);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0) {
                free(pump);
                return error_set(err, ERROR_INTERNAL, r, NULL, "starting a thread for standard input");
        }
        (void)pthread_detach(thread);
        (void)take_fd(&write_end);
        ret->opened = take_fd(&read_end);
        ret->fd = ret->opened;
        return 0;
}

static bool is_dev_null(const struct stat *status)
{
        return S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 3);
}

static const char *kind_name(mode_t mode)
{
        return S_ISDIR(mode) ? "a directory" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/*
 * What /dev/stdin and /dev/fd/0 lead to can be a pipe or socket of ours, so this asks the kind before it
 * opens.
 */
int input_open(const char *path, struct input *ret, struct error *err)
{
        /* O_PATH first: opening some devices has effects, and a terminal could become ours. */
        _cleanup_(closep) int place = open(path, O_PATH | O_CLOEXEC);
        struct stat status;
        if (place < 0 || fstat(place, &status) < 0)
                return error_set(err, ERROR_USAGE, errno, SEE_HELP, "--stdin: %.200s", path);
        if (is_dev_null(&status))
                return 0;
        if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
                return error_set(err, ERROR_USAGE, 0, "give a regular file, a pipe or /dev/null",
                    "--stdin: %.200s is %s", path, kind_name(status.st_mode));

        char again[40];
        (void)snprintf(again, sizeof again, "/proc/self/fd/%d", place);
        _cleanup_(closep) int fd = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return error_set(err, ERROR_USAGE, errno, SEE_HELP, "--stdin: %.200s", path);
        if (S_ISREG(status.st_mode)) {
                int r = start_pump(fd, ret, err);
                if (r == 0)
                        (void)take_fd(&fd); /* the thread's, for as long as the process lives */
                return r;
        }
        ret->fd = ret->opened = take_fd(&fd);
        return 0;
}

/*
 * Opens the same pipe or file anew: what the program does to its descriptor (O_NONBLOCK, its place in a
 * file) is not done to the caller's.
 */
static int open_again(int fd, struct input *ret, struct error *err)
{
        char path[40];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int again = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (again < 0)
                return error_set(
                    err, ERROR_USAGE, errno, "it must be readable, and /proc mounted", "standard input");
        ret->fd = ret->opened = again;
        return 0;
}

int input_inherit(struct input *ret, struct error *err)
{
        struct stat status;
        if (fstat(STDIN_FILENO, &status) < 0)
                return 0;
        if (S_ISFIFO(status.st_mode)) {
                /* A pipe opened for both directions would never end for its reader. */
                int flags = fcntl(STDIN_FILENO, F_GETFL);
                if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
                        return open_again(STDIN_FILENO, ret, err);
                if (flags >= 0 && (flags & O_ACCMODE) == O_RDWR)
                        return start_pump(STDIN_FILENO, ret, err);
                return 0;
        }
        if (S_ISREG(status.st_mode)) {
                /*
                 * From where the caller stands, without moving on
                 * its place: a shell's loop may read the same file.
                 */
                off_t place = lseek(STDIN_FILENO, 0, SEEK_CUR);
                int r = open_again(STDIN_FILENO, ret, err);
                if (r < 0)
                        return r;
                int fd = take_fd(&ret->opened); /* the thread's, for as long as the process lives */
                if (lseek(fd, place, SEEK_SET) < 0)
                        return error_set(
                            err, ERROR_USAGE, errno, SEE_HELP, "finding the place in standard input");
                return start_pump(fd, ret, err);
        }
        if (S_ISSOCK(status.st_mode))
                return start_pump(STDIN_FILENO, ret, err);
        return 0; /* a terminal or device: empty input */
}

int input_read_program(char **ret_source, size_t *ret_size, struct error *err)
{
        int r = fd_read_whole(STDIN_FILENO, PROGRAM_MAX, ret_source, ret_size);
        if (r == -ENOMEM)
                return error_oom(err);
        if (r == -EFBIG)
                return error_set(err, ERROR_USAGE, 0, "give data with --file or --stdin instead",
                    "the program on standard input is larger than %zu bytes", PROGRAM_MAX);
        if (r < 0)
                return error_set(err, ERROR_USAGE, -r, SEE_HELP, "reading the program from standard input");
        return 0;
}
