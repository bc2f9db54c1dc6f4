/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Docker backend beside `docker run --rm` of the same program under the same limits, on one engine, in
 * one interleaved run. Two of ours: the command line, which makes its container when it is asked (cold), and
 * an embedder with docker.ready, whose containers wait (ready). Each run ends when the container is gone.
 *
 * CPU time is the whole machine's while the run lasts: most of it is the engine's, which is nobody's child.
 * So nothing else may run. Places that are filled again in the background are waited for between the runs,
 * and what that takes is told apart: it is work, though not the run's.
 */
#include "api/internal.h"

#include "util/clock.h"
#include "util/fd.h"
#include "util/parse.h"

#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <spawn.h>
#include <sys/wait.h>

#define ROUNDS_DEFAULT 15U
#define ROUNDS_MAX 1000U
#define READY 2U
#define FILL_SEC 60

enum contestant { DOCKER_RUN, COLD, READY_MADE, REFILL, CONTESTANT_COUNT_ };
static const char *const names[] = {
    "docker run --rm", "mai-sandbox run (cold)", "mai_run() (ready)", "  filling its place"};

struct bench {
        const char *program, *image;
        unsigned rounds;
        char policy_cold[64], policy_ready[64], file[64];
        mai_sandbox *sandbox;
        double *wall[CONTESTANT_COUNT_], *cpu[CONTESTANT_COUNT_];
};

/* ---- Figures ---- */

/* Seconds of CPU time of all that ran on this machine. */
static double machine_cpu(void)
{
        char text[512];
        int64_t ticks[8] = {};
        ssize_t n = fd_read_small(AT_FDCWD, "/proc/stat", text, sizeof text);
        if (n < 5 || parse_integers(text + 4, ticks, 8) != 8)
                return NAN;
        /* user, nice, system, idle, iowait, irq, softirq, steal */
        return (double)(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / (double)sysconf(_SC_CLK_TCK);
}

static int compare(const void *a, const void *b)
{
        const double *x = a, *y = b;
        return *x < *y ? -1 : *x > *y;
}

static double median(const double *values, unsigned count)
{
        double sorted[ROUNDS_MAX];
        memcpy(sorted, values, count * sizeof *values);
        qsort(sorted, count, sizeof *sorted, compare);
        return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* The median of the rounds' ratios to `docker run`. */
static double ratio(double *const *series, enum contestant which, unsigned count)
{
        double ratios[ROUNDS_MAX] = {};
        for (unsigned i = 0; i < count; i++)
                ratios[i] = series[which][i] / series[DOCKER_RUN][i];
        return median(ratios, count);
}

static void report(const struct bench *bench)
{
        printf("%u rounds, interleaved, print(1) in image %s; medians\n", bench->rounds, bench->image);
        printf("%-26s %9s %9s %9s %9s\n", "", "wall ms", "ratio", "cpu ms", "ratio");
        for (enum contestant c = 0; c < CONTESTANT_COUNT_; c++)
                printf("%-26s %9.0f %9.2f %9.0f %9.2f\n", names[c],
                    1e3 * median(bench->wall[c], bench->rounds), ratio(bench->wall, c, bench->rounds),
                    1e3 * median(bench->cpu[c], bench->rounds), ratio(bench->cpu, c, bench->rounds));
        printf("ratio: median of round-by-round ratios to docker run; cpu: the whole machine's\n");
}

/* ---- Runs ---- */

/* Runs a command, which has to print 1 and end well: what fails would look fast. */
static int run_command(const char *const *argv)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        _cleanup_(closep) int reader = ends[0];
        posix_spawn_file_actions_t actions;
        (void)posix_spawn_file_actions_init(&actions);
        (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        pid_t pid;
        int error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        (void)close(ends[1]);
        if (error != 0)
                return -error;
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        char output[16] = "";
        ssize_t n = read(reader, output, sizeof output - 1);
        return status == 0 && n == 2 && strcmp(output, "1\n") == 0 ? 0 : -EPROTO;
}

static int run_docker(const struct bench *bench)
{
        const char *const argv[] = {"docker", "run", "--rm", "--network", "none", "--read-only",
            "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "1000:1000", "--memory",
            "256m", "--memory-swap", "256m", "--pids-limit", "64", "--cpus", "0.5", "--tmpfs",
            "/tmp:rw,exec,nosuid,nodev,size=128m", "--log-driver", "none", bench->image, "/usr/bin/python3",
            "-c", "print(1)", NULL};
        return run_command(argv);
}

static int run_cold(const struct bench *bench)
{
        const char *const argv[] = {
            bench->program, "run", "--policy", bench->policy_cold, bench->file, NULL};
        return run_command(argv);
}

static int run_ready(const struct bench *bench)
{
        static const char program[] = "print(1)\n";
        mai_request *request = mai_request_new();
        mai_result *result = NULL;
        int r = request ? mai_request_set_program(request, "main.py", program, sizeof program - 1, NULL)
                        : -ENOMEM;
        if (r == 0)
                r = mai_run(bench->sandbox, request, NULL, NULL, &result, NULL);
        if (r == 0 && strcmp(mai_result_status(result), "ok") != 0) {
                (void)fprintf(stderr, "docker: %s\n", mai_result_error_message(result));
                r = -EPROTO;
        }
        (void)mai_result_free(result);
        (void)mai_request_free(request);
        return r;
}

/* Until all places are filled again. */
static int run_refill(const struct bench *bench)
{
        uint64_t deadline = clock_now() + FILL_SEC * NSEC_PER_SEC;
        while (container_manager_ready(bench->sandbox->manager) < READY) {
                if (clock_now() > deadline)
                        return -ETIMEDOUT;
                (void)usleep(2000);
        }
        return 0;
}

static int (*const runs[CONTESTANT_COUNT_])(const struct bench *bench) = {
    [DOCKER_RUN] = run_docker, [COLD] = run_cold, [READY_MADE] = run_ready, [REFILL] = run_refill};

static int measure(struct bench *bench, enum contestant which, unsigned round, bool keep)
{
        (void)usleep(50000);
        double cpu = machine_cpu();
        uint64_t start = clock_now();
        int r = runs[which](bench);
        if (r < 0) {
                (void)fprintf(stderr, "docker: %s: %s\n", names[which], strerror(-r));
                return r;
        }
        if (keep) {
                bench->wall[which][round] = (double)(clock_now() - start) / 1e9;
                bench->cpu[which][round] = machine_cpu() - cpu;
        }
        return 0;
}

static int run_rounds(struct bench *bench)
{
        int r = 0;
        /* One round to warm up: derived image, page cache, and the first containers that wait. */
        for (unsigned round = 0; round <= bench->rounds && r == 0; round++)
                for (unsigned i = 0; i < REFILL && r == 0; i++) {
                        enum contestant which = (enum contestant)((i + round) % REFILL);
                        r = measure(bench, which, MAX(round, 1U) - 1, round > 0);
                        if (r == 0 && which == READY_MADE)
                                r = measure(bench, REFILL, MAX(round, 1U) - 1, round > 0);
                }
        return r;
}

/* ---- Set-up ---- */

static int write_file(char path[64], const char *text)
{
        (void)snprintf(path, 64, "/tmp/mai-bench-XXXXXX");
        _cleanup_(closep) int fd = mkstemp(path);
        return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

static int prepare(struct bench *bench)
{
        char text[512];
        int r = write_file(bench->file, "print(1)\n");
        (void)snprintf(text, sizeof text, "backend: docker\nimage: \"%s\"\n", bench->image);
        if (r == 0)
                r = write_file(bench->policy_cold, text);
        (void)snprintf(
            text, sizeof text, "backend: docker\nimage: \"%s\"\ndocker: {ready: %u}\n", bench->image, READY);
        if (r == 0)
                r = write_file(bench->policy_ready, text);
        mai_error *error = NULL;
        if (r == 0 && mai_sandbox_open(bench->policy_ready, &bench->sandbox, &error) < 0) {
                (void)fprintf(stderr, "docker: %s\n", mai_error_message(error));
                (void)mai_error_free(error);
                r = -EINVAL;
        }
        for (unsigned i = 0; i < CONTESTANT_COUNT_ && r == 0; i++) {
                bench->wall[i] = calloc(bench->rounds, sizeof(double));
                bench->cpu[i] = calloc(bench->rounds, sizeof(double));
                r = bench->wall[i] && bench->cpu[i] ? 0 : -ENOMEM;
        }
        return r;
}

static bool parse_options(int argc, char **argv, struct bench *bench)
{
        static const struct option options[] = {{"sandbox", required_argument, NULL, 's'},
            {"image", required_argument, NULL, 'i'}, {"rounds", required_argument, NULL, 'n'}, {}};
        int letter;
        while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
                uint64_t rounds;
                if (letter == 's')
                        bench->program = optarg;
                else if (letter == 'i')
                        bench->image = optarg;
                else if (letter == 'n' && parse_u64(optarg, &rounds) && rounds > 0 && rounds <= ROUNDS_MAX)
                        bench->rounds = (unsigned)rounds;
                else
                        return false;
        }
        return optind == argc;
}

int main(int argc, char **argv)
{
        struct bench bench = {
            .program = "build/mai-sandbox", .image = "mai-python", .rounds = ROUNDS_DEFAULT};
        if (!parse_options(argc, argv, &bench)) {
                (void)fputs("usage: docker [--sandbox PROGRAM] [--image NAME] [--rounds N]\n"
                            "DOCKER_HOST names the engine, which must have the image.\n",
                    stderr);
                return 2;
        }
        int r = prepare(&bench);
        if (r == 0)
                r = run_rounds(&bench);
        if (r == 0)
                report(&bench);
        (void)mai_sandbox_close(bench.sandbox);
        const char *const files[] = {bench.file, bench.policy_cold, bench.policy_ready};
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (files[i][0])
                        (void)unlink(files[i]);
        for (unsigned i = 0; i < CONTESTANT_COUNT_; i++) {
                free(bench.wall[i]);
                free(bench.cpu[i]);
        }
        return r < 0 ? 1 : 0;
}
