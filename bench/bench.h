/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of bench/cold share: the contestants (contestants.c), the runs (cold.c), the figures
 * (report.c).
 */
#pragma once

#include "util/common.h"

enum { MAX_ARGUMENTS = 96 };

/* What every contestant runs, and what a good run prints. */
extern const char bench_program[];
extern const char bench_expected[];

/* Where the bench keeps its files; made by workspace_make(), removed by workspace_remove(). */
struct workspace {
        char path[64];    /* the directory */
        char program[96]; /* the Python file, print(1) */
        char bundle[96];  /* runc's bundle */
        char state[96];   /* runc's state directory */
};

int workspace_make(struct workspace *ret);
void workspace_remove(const struct workspace *workspace);

struct contestant {
        const char *name;
        const char *what; /* one line: what it isolates, so that ratios can be judged */
        const char *argv[MAX_ARGUMENTS];
        const char *unavailable; /* why it does not take part, or NULL */
};

enum { CONTESTANT_PLAIN, CONTESTANT_MAI, CONTESTANT_BWRAP, CONTESTANT_RUNC, CONTESTANT_COUNT_ };

/* Fills in the command lines. Strings of `workspace` and `sandbox` are borrowed. */
void contestants_fill(struct contestant contestants[CONTESTANT_COUNT_], const struct workspace *workspace,
    const char *sandbox);

/* One run: both in microseconds. */
struct measurement {
        double wall, cpu;
};

/* All runs of one contestant under one condition. */
struct series {
        struct measurement *runs;
        size_t count;
};

/* The q-quantile (0 … 1) of wall or CPU time. Sorts a copy; NAN when there is no run. */
double series_wall(const struct series *series, double q);
double series_cpu(const struct series *series, double q);

void report_table(const char *title, const struct contestant contestants[CONTESTANT_COUNT_],
    const struct series series[CONTESTANT_COUNT_]);

/* `run --json` that many times, and the median of every member of the result's `timing`. 0 or -errno. */
int report_steps(const char *sandbox, const char *program, unsigned rounds);
