/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles, the table that is printed, and the product's own account of its steps. */
#include "bench.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <spawn.h>
#include <sys/wait.h>

static int by_value(const void *a, const void *b)
{
        double left = *(const double *)a, right = *(const double *)b;
        return (left > right) - (left < right);
}

/* Sorts in place. */
static double quantile(double *values, size_t count, double q)
{
        if (count == 0)
                return NAN;
        qsort(values, count, sizeof *values, by_value);
        size_t index = (size_t)(q * (double)(count - 1) + 0.5);
        return values[index];
}

static double series_quantile(const struct series *series, size_t member, double q)
{
        if (series->count == 0)
                return NAN;
        _cleanup_(freep) double *values = calloc(series->count, sizeof *values);
        if (!values)
                return NAN;
        for (size_t i = 0; i < series->count; i++)
                memcpy(&values[i], (const char *)&series->runs[i] + member, sizeof *values);
        return quantile(values, series->count, q);
}

double series_wall(const struct series *series, double q)
{
        return series_quantile(series, offsetof(struct measurement, wall), q);
}

double series_cpu(const struct series *series, double q)
{
        return series_quantile(series, offsetof(struct measurement, cpu), q);
}

/*
 * Ratios are the median of ratios taken round by round, since both runs of a round met the same machine. A
 * contestant that failed in some rounds has no rounds left to pair: it is out of the table.
 */
static double paired_ratio(const struct series *series, const struct series *base, size_t member)
{
        size_t count = MIN(series->count, base->count);
        if (count == 0)
                return NAN;
        _cleanup_(freep) double *values = calloc(count, sizeof *values);
        if (!values)
                return NAN;
        for (size_t i = 0; i < count; i++) {
                double mine, plain;
                memcpy(&mine, (const char *)&series->runs[i] + member, sizeof mine);
                memcpy(&plain, (const char *)&base->runs[i] + member, sizeof plain);
                values[i] = mine / plain;
        }
        return quantile(values, count, 0.5);
}

void report_table(const char *title, const struct contestant contestants[CONTESTANT_COUNT_],
    const struct series series[CONTESTANT_COUNT_])
{
        printf("\n%s\n", title);
        printf("  %-12s %8s %8s %7s   %8s %8s %7s\n", "", "wall p50", "p90", "ratio", "CPU p50", "p90",
            "ratio");
        for (size_t i = 0; i < CONTESTANT_COUNT_; i++) {
                if (contestants[i].unavailable) {
                        printf(
                            "  %-12s not measured: %s\n", contestants[i].name, contestants[i].unavailable);
                        continue;
                }
                const struct series *mine = &series[i], *plain = &series[CONTESTANT_PLAIN];
                printf("  %-12s %5.2f ms %5.2f ms %7.2f   %5.2f ms %5.2f ms %7.2f   %s\n",
                    contestants[i].name, series_wall(mine, 0.5) / 1000, series_wall(mine, 0.9) / 1000,
                    paired_ratio(mine, plain, offsetof(struct measurement, wall)),
                    series_cpu(mine, 0.5) / 1000, series_cpu(mine, 0.9) / 1000,
                    paired_ratio(mine, plain, offsetof(struct measurement, cpu)), contestants[i].what);
        }
}

/* ---- steps ---- */

static int run_json(const char *sandbox, const char *program, json_t **ret)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        _cleanup_(closep) int reader = ends[0];
        posix_spawn_file_actions_t actions;
        (void)posix_spawn_file_actions_init(&actions);
        (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        const char *const argv[] = {sandbox, "run", "--json", program, NULL};
        pid_t pid = -1;
        int status = posix_spawn(&pid, sandbox, &actions, NULL, (char *const *)argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        (void)close(ends[1]);
        if (status != 0)
                return -status;
        json_error_t fault;
        json_t *document = json_loadfd(reader, 0, &fault);
        int wait_status = 0;
        (void)waitpid(pid, &wait_status, 0);
        if (!document || wait_status != 0) {
                json_decref(document);
                return -EPROTO;
        }
        *ret = document;
        return 0;
}

enum { MAX_STEPS = 16, MAX_STEP_NAME = 32 };

struct step {
        char name[MAX_STEP_NAME];
        double *seconds;
        size_t count;
};

static struct step *find_step(struct step steps[MAX_STEPS], const char *name, unsigned rounds)
{
        for (size_t i = 0; i < MAX_STEPS; i++) {
                if (steps[i].seconds && strncmp(steps[i].name, name, MAX_STEP_NAME) == 0)
                        return &steps[i];
                if (!steps[i].seconds) {
                        (void)snprintf(steps[i].name, MAX_STEP_NAME, "%.*s", MAX_STEP_NAME - 1, name);
                        steps[i].seconds = calloc(rounds, sizeof *steps[i].seconds);
                        return steps[i].seconds ? &steps[i] : NULL;
                }
        }
        return NULL;
}

static int collect_steps(
    const char *sandbox, const char *program, unsigned rounds, struct step steps[MAX_STEPS])
{
        for (unsigned round = 0; round < rounds; round++) {
                json_t *document = NULL;
                int status = run_json(sandbox, program, &document);
                if (status < 0)
                        return status;
                const char *name;
                json_t *value;
                json_object_foreach (json_object_get(document, "timing"), name, value) {
                        struct step *step = find_step(steps, name, rounds);
                        if (step && json_is_number(value) && step->count < rounds)
                                step->seconds[step->count++] = json_number_value(value);
                }
                json_decref(document);
        }
        return 0;
}

int report_steps(const char *sandbox, const char *program, unsigned rounds)
{
        struct step steps[MAX_STEPS] = {};
        int status = collect_steps(sandbox, program, rounds, steps);
        if (status == 0) {
                printf("\nmai-sandbox by its own `timing`, %u runs\n", rounds);
                printf("  %-12s %9s %9s\n", "", "p50", "p90");
        }
        for (size_t i = 0; i < MAX_STEPS && steps[i].seconds; i++) {
                if (status == 0 && steps[i].count > 0)
                        printf("  %-12s %6.2f ms %6.2f ms\n", steps[i].name,
                            quantile(steps[i].seconds, steps[i].count, 0.5) * 1000,
                            quantile(steps[i].seconds, steps[i].count, 0.9) * 1000);
                free(steps[i].seconds);
        }
        return status;
}
