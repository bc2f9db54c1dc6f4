/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands: one table that dispatch, help and docs/CLI.md (by its test) read. One file each. */
#pragma once

#include "cli/options.h"
#include "util/common.h"

struct command {
        const char *name;
        const char *synopsis; /* what follows the name */
        const char *summary;
        unsigned option_bit; /* FOR_* */
        const char *details; /* for --help, or NULL */
        /* argv: the words after the name. Returns the exit status. */
        int (*main)(const struct command *command, int argc, char **argv);
};

extern const struct command cli_commands[];
extern const size_t cli_command_count;

/* NULL if there is none of that name. Two words for "policy check" and "policy show". */
const struct command *command_find(const char *name);

int run_main(const struct command *command, int argc, char **argv);
int exec_main(const struct command *command, int argc, char **argv);
int policy_main(const struct command *command, int argc, char **argv);
int policy_check_main(const struct command *command, int argc, char **argv);
int policy_show_main(const struct command *command, int argc, char **argv);
int doctor_main(const struct command *command, int argc, char **argv);
int image_main(const struct command *command, int argc, char **argv);
int image_import_main(const struct command *command, int argc, char **argv);
int image_ls_main(const struct command *command, int argc, char **argv);
int image_rm_main(const struct command *command, int argc, char **argv);
int image_pull_main(const struct command *command, int argc, char **argv);
int prune_main(const struct command *command, int argc, char **argv);
int version_main(const struct command *command, int argc, char **argv);
int help_main(const struct command *command, int argc, char **argv);

/* The usage text of everything, or of one subcommand. Caller frees; NULL if out of memory. */
char *help_text(const struct command *command);

/* Prints that text to standard output. Returns the exit status. */
int help_print(const struct command *command);

/* A command of commands: goes on with the one that argv[0] names. Returns the exit status. */
int command_dispatch(const struct command *command, int argc, char **argv);

/* "WORD: unknown command; did you mean …?" among the subcommands that begin with `prefix`. Returns 2. */
int command_unknown(const char *prefix, const char *word);

/*
 * For the small subcommands: parses the options and refuses operands. Returns -1 to go on, or the exit
 * status (help was printed, or an error).
 */
int command_parse(const struct command *command, int argc, char **argv, struct option_list *ret_list);
