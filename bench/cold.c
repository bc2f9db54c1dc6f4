/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cold start costs: the same one-line Python program by plain python3, by this project, by bubblewrap
 * and by runc, interleaved in one run so that all meet the same machine.
 *
 * Wall time runs from posix_spawn() to the end of the process that was spawned. CPU time is that of all its
 * descendants: this process is their subreaper, so whoever outlives its parent is waited for here and
 * counted too (RUSAGE_CHILDREN). No cgroup is used for the accounting, because a cgroup attach is one of the
 * things measured.
 *
 * On cgroup v1, attaching a process on an idle machine waits for an RCU grace period, unless another attach
 * was made just before. Each round therefore measures every contestant in two conditions:
 *
 *   - idle: nothing was attached for at least IDLE_USEC;
 *
 *   - attached: a dummy process was attached to a scratch cgroup right before.
 */
#include "bench.h"

#include "util/parse.h"

#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { IDLE_USEC = 30 * 1000, WARM_UP_ROUNDS = 2, DEFAULT_ROUNDS = 50, MAX_ROUNDS = 100000 };

enum condition { CONDITION_IDLE, CONDITION_ATTACHED, CONDITION_COUNT_ };

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
        (void)info, (void)type, (void)walk;
        (void)remove(path);
        return 0;
}

void workspace_remove(const struct workspace *workspace)
{
        (void)nftw(workspace->path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static double now_usec(void)
{
        struct timespec ts;
        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double children_cpu_usec(void)
{
        struct rusage usage;
        (void)getrusage(RUSAGE_CHILDREN, &usage);
        return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* ---- The scratch cgroups ---- */

struct scratch {
        char paths[2][512]; /* "" when there are none */
        pid_t dummy;
        unsigned turn;
};

/* Our own directory in the memory hierarchy of v1, or in v2's. */
static int own_cgroup(char *path, size_t size)
{
        _cleanup_(freep) char *line = NULL;
        size_t room = 0;
        FILE *file = fopen("/proc/self/cgroup", "re");
        if (!file)
                return -errno;
        int status = -ENOENT;
        while (getline(&line, &room, file) > 0) {
                line[strcspn(line, "\n")] = '\0';
                char *controllers = strchr(line, ':');
                char *where = controllers ? strchr(controllers + 1, ':') : NULL;
                if (!where)
                        continue;
                *where++ = '\0';
                if (strcmp(controllers + 1, "memory") == 0)
                        (void)snprintf(path, size, "/sys/fs/cgroup/memory%s", where);
                else if (controllers[1] == '\0' && access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
                        (void)snprintf(path, size, "/sys/fs/cgroup%s", where);
                else
                        continue;
                status = 0;
                break;
        }
        (void)fclose(file);
        return status;
}

static int attach(const char *cgroup, pid_t pid)
{
        char path[560], text[32];
        (void)snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
        int size = snprintf(text, sizeof text, "%d", (int)pid);
        _cleanup_(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return write(fd, text, (size_t)size) < 0 ? -errno : 0;
}

static pid_t start_dummy(void)
{
        pid_t pid = fork();
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        (void)pause();
        }
        return pid;
}

static int scratch_make(struct scratch *scratch)
{
        *scratch = (struct scratch){.dummy = -1};
        char own[400];
        int status = own_cgroup(own, sizeof own);
        if (status < 0)
                return status;
        for (size_t i = 0; i < ARRAY_SIZE(scratch->paths); i++) {
                char path[512];
                (void)snprintf(path, sizeof path, "%s/mai-bench-%d-%zu", own, (int)getpid(), i);
                if (mkdir(path, 0755) < 0)
                        return -errno;
                memcpy(scratch->paths[i], path, sizeof path);
        }
        scratch->dummy = start_dummy();
        return scratch->dummy < 0 ? -errno : attach(scratch->paths[0], scratch->dummy);
}

static void scratch_remove(struct scratch *scratch)
{
        if (scratch->dummy > 0) {
                (void)kill(scratch->dummy, SIGKILL);
                (void)waitpid(scratch->dummy, NULL, 0);
        }
        for (size_t i = 0; i < ARRAY_SIZE(scratch->paths); i++)
                if (scratch->paths[i][0] && rmdir(scratch->paths[i]) < 0)
                        (void)fprintf(stderr, "cold: could not remove %s\n", scratch->paths[i]);
}

/* Moves the dummy to the other cgroup: a real attach each time. */
static int scratch_attach(struct scratch *scratch)
{
        scratch->turn ^= 1U;
        return attach(scratch->paths[scratch->turn], scratch->dummy);
}

/* ---- One run ---- */

/* Everything that outlived the process that was spawned, except the dummy; at most two seconds. */
static void reap_descendants(pid_t dummy)
{
        double deadline = now_usec() + 2e6;
        while (now_usec() < deadline) {
                siginfo_t info = {};
                if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
                        return;
                if (info.si_pid > 0) {
                        (void)waitpid(info.si_pid, NULL, 0);
                        continue;
                }
                /* Children are left and none has ended: is it the dummy alone? */
                char path[64];
                (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
                FILE *file = fopen(path, "re");
                char text[256] = "";
                if (file) {
                        (void)!fgets(text, sizeof text, file);
                        (void)fclose(file);
                }
                char alone[32];
                (void)snprintf(alone, sizeof alone, "%d ", (int)dummy);
                if (text[0] == '\0' || strcmp(text, alone) == 0)
                        return;
                (void)usleep(200);
        }
}

/* What a run has written so far. */
static ssize_t read_output(int fd, char *buffer, size_t size)
{
        size_t used = 0;
        while (used < size) {
                struct pollfd ready = {.fd = fd, .events = POLLIN};
                if (poll(&ready, 1, 0) <= 0 || !(ready.revents & POLLIN))
                        break;
                ssize_t n = read(fd, buffer + used, size - used);
                if (n <= 0)
                        break;
                used += (size_t)n;
        }
        return (ssize_t)used;
}

static int run_once(const struct contestant *contestant, pid_t dummy, struct measurement *ret)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        _cleanup_(closep) int reader = ends[0];
        _cleanup_(closep) int writer = ends[1];
        posix_spawn_file_actions_t actions;
        (void)posix_spawn_file_actions_init(&actions);
        (void)posix_spawn_file_actions_adddup2(&actions, writer, STDOUT_FILENO);
        (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

        double cpu = children_cpu_usec(), start = now_usec();
        pid_t pid = -1;
        int status = posix_spawnp(
            &pid, contestant->argv[0], &actions, NULL, (char *const *)contestant->argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        if (status != 0)
                return -status;
        int wait_status = 0;
        while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
                ;
        double wall = now_usec() - start;
        reap_descendants(dummy);
        cpu = children_cpu_usec() - cpu;

        char output[64] = "";
        ssize_t size = read_output(reader, output, sizeof output - 1);
        /* A contestant that fails would look fast. */
        if (wait_status != 0 || size < 0 || strcmp(output, bench_expected) != 0)
                return -EPROTO;
        *ret = (struct measurement){.wall = wall, .cpu = cpu};
        return 0;
}

/* ---- All rounds ---- */

struct bench {
        const char *sandbox;
        unsigned rounds;
        bool steps_only;
        struct contestant contestants[CONTESTANT_COUNT_];
        struct series series[CONDITION_COUNT_][CONTESTANT_COUNT_];
        struct workspace workspace;
        struct scratch scratch;
        const char *no_attach; /* why the second condition is not measured, or NULL */
};

static int measure(struct bench *bench, enum condition condition, size_t index, bool keep)
{
        struct contestant *contestant = &bench->contestants[index];
        (void)usleep(IDLE_USEC);
        if (condition == CONDITION_ATTACHED && scratch_attach(&bench->scratch) < 0)
                return -EIO;
        struct measurement measured;
        int status = run_once(contestant, bench->scratch.dummy, &measured);
        if (status < 0) {
                contestant->unavailable = "a run of it failed";
                (void)fprintf(
                    stderr, "cold: %s did not print 1 and exit 0: it leaves the field\n", contestant->name);
                return 0;
        }
        struct series *series = &bench->series[condition][index];
        if (keep)
                series->runs[series->count++] = measured;
        return 0;
}

static int run_rounds(struct bench *bench)
{
        for (unsigned round = 0; round < bench->rounds + WARM_UP_ROUNDS; round++)
                for (int condition = 0; condition < CONDITION_COUNT_; condition++) {
                        if (condition == CONDITION_ATTACHED && bench->no_attach)
                                continue;
                        /* Who goes first changes every round. */
                        for (size_t i = 0; i < CONTESTANT_COUNT_; i++) {
                                size_t index = (i + round) % CONTESTANT_COUNT_;
                                if (bench->contestants[index].unavailable)
                                        continue;
                                int status = measure(
                                    bench, (enum condition)condition, index, round >= WARM_UP_ROUNDS);
                                if (status < 0)
                                        return status;
                        }
                }
        return 0;
}

static void report(const struct bench *bench)
{
        printf("%u rounds, interleaved; %s run by each; ratios are medians of round-by-round ratios to "
               "plain python3\n",
            bench->rounds, "print(1)");
        printf("CPU: of all descendants, by rusage of this process as their subreaper\n");
        report_table("idle: no cgroup attach for 30 ms before each run", bench->contestants,
            bench->series[CONDITION_IDLE]);
        if (bench->no_attach)
                printf("\nattached: not measured: %s\n", bench->no_attach);
        else
                report_table("attached: another process was attached to a cgroup right before each run",
                    bench->contestants, bench->series[CONDITION_ATTACHED]);
}

static int allocate_series(struct bench *bench)
{
        for (size_t c = 0; c < CONDITION_COUNT_; c++)
                for (size_t i = 0; i < CONTESTANT_COUNT_; i++) {
                        bench->series[c][i].runs = calloc(bench->rounds, sizeof(struct measurement));
                        if (!bench->series[c][i].runs)
                                return -ENOMEM;
                }
        return 0;
}

static void free_series(struct bench *bench)
{
        for (size_t c = 0; c < CONDITION_COUNT_; c++)
                for (size_t i = 0; i < CONTESTANT_COUNT_; i++)
                        free(bench->series[c][i].runs);
}

static int run_all(struct bench *bench)
{
        int status = allocate_series(bench);
        if (status < 0)
                return status;
        if (!bench->steps_only) {
                if (scratch_make(&bench->scratch) < 0)
                        bench->no_attach = "no cgroup can be made under our own";
                status = run_rounds(bench);
                scratch_remove(&bench->scratch);
                if (status == 0)
                        report(bench);
        }
        if (status == 0 && (bench->steps_only || !bench->contestants[CONTESTANT_MAI].unavailable))
                status = report_steps(bench->sandbox, bench->workspace.program, bench->rounds);
        return status;
}

static const char usage[] =
    "usage: cold [--sandbox PROGRAM] [--rounds N] [--steps]\n"
    "  --sandbox PROGRAM  default build/mai-sandbox\n"
    "  --rounds N         default 50; every contestant runs once per round and condition\n"
    "  --steps            only the product's own `timing`, from --json\n";

static bool parse_options(int argc, char **argv, struct bench *bench)
{
        static const struct option options[] = {{"sandbox", required_argument, NULL, 's'},
            {"rounds", required_argument, NULL, 'n'}, {"steps", no_argument, NULL, 't'}, {}};
        int letter;
        while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
                uint64_t rounds = 0;
                if (letter == 's') {
                        bench->sandbox = optarg;
                } else if (letter == 'n' && parse_u64(optarg, &rounds) && rounds > 0 &&
                           rounds <= MAX_ROUNDS) {
                        bench->rounds = (unsigned)rounds;
                } else if (letter == 't') {
                        bench->steps_only = true;
                } else {
                        return false;
                }
        }
        return optind == argc;
}

/* PYTHON* variables would change what plain python3 does, and nobody else. */
static void drop_python_settings(void)
{
        for (char **entry = environ; *entry;) {
                char name[64];
                size_t length = strcspn(*entry, "=");
                if (strncmp(*entry, "PYTHON", 6) != 0 || length >= sizeof name) {
                        entry++;
                        continue;
                }
                memcpy(name, *entry, length);
                name[length] = '\0';
                (void)unsetenv(name); /* moves the rest up: `entry` is the next one already */
        }
}

int main(int argc, char **argv)
{
        struct bench bench = {.sandbox = "build/mai-sandbox", .rounds = DEFAULT_ROUNDS};
        bench.scratch.dummy = -1;
        if (!parse_options(argc, argv, &bench)) {
                (void)fputs(usage, stderr);
                return 2;
        }
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        drop_python_settings();
        int status = workspace_make(&bench.workspace);
        if (status == 0) {
                contestants_fill(bench.contestants, &bench.workspace, bench.sandbox);
                status = run_all(&bench);
        }
        if (bench.workspace.path[0])
                workspace_remove(&bench.workspace);
        free_series(&bench);
        if (status < 0)
                (void)fprintf(stderr, "cold: %s\n", strerror(-status));
        return status < 0 ? 1 : 0;
}
