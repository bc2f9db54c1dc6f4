/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of the command line: one table that parsing, help text, docs/CLI.md (by its test) and the
 * request read. To add an option that is a setting of the policy, add one line to the table in options.c and
 * one to docs/CLI.md.
 */
#pragma once

#include "util/common.h"
#include "util/error.h"

enum option_id {
        OPTION_HELP,
        OPTION_TRUST,
        OPTION_POLICY,
        OPTION_STDIN,
        OPTION_ENV,
        OPTION_FILE,
        OPTION_OUTPUT_DIR,
        OPTION_JSON,
        OPTION_EVENTS,
        OPTION_NO_PROGRESS,
        OPTION_MAX_SIZE,
        OPTION_MAX_FILES,
        OPTION_SETTING, /* everything that only hands its value to mai_request_set() */
};

/* What a value looks like; the words for people stand in options.c. */
enum option_value {
        VALUE_NONE,
        VALUE_TEXT,
        VALUE_SECONDS,
        VALUE_CPUS,
        VALUE_COUNT,
        VALUE_SIZE,
        VALUE_SIZE_OR_SHARE,
        VALUE_COUNT_,
};

/* Which subcommands take an option: a bit each. */
#define FOR_RUN (1U << 0) /* run and exec */
#define FOR_POLICY_CHECK (1U << 1)
#define FOR_POLICY_SHOW (1U << 2)
#define FOR_OTHERS (1U << 3)
#define FOR_DOCTOR (1U << 4)
#define FOR_IMAGE_PULL (1U << 5)
#define FOR_IMAGE_IMPORT (1U << 6)
#define FOR_IMAGE_LS (1U << 7)
#define FOR_ALL                                                                                             \
        (FOR_RUN | FOR_POLICY_CHECK | FOR_POLICY_SHOW | FOR_OTHERS | FOR_DOCTOR | FOR_IMAGE_PULL |          \
            FOR_IMAGE_IMPORT | FOR_IMAGE_LS)

struct option_spec {
        const char *name;        /* with its dashes */
        const char *placeholder; /* of the value, e.g. "SECONDS"; NULL: takes none */
        enum option_id id;
        enum option_value value;
        const char *setting; /* the name that mai_request_set() knows, or NULL */
        unsigned commands;
        const char *help;
};

extern const struct option_spec cli_options[];
extern const size_t cli_option_count;

/* One option as it was given; the strings are argv's and the table's own. */
struct option_use {
        const struct option_spec *spec;
        const char *value; /* "" for an option without value */
};

struct option_list {
        struct option_use *uses; /* in the order given */
        size_t count;
        int operands; /* index in argv of the first word that is no option */
};

void option_list_clear(struct option_list *list);

/*
 * Parses argv[0…argc-1], the words after the subcommand, up to the first that is no option or to "--".
 * `command` is the subcommand's name for hints ("run"). Values are checked for their form only. Stops at
 * --help. Errors are ERROR_USAGE (or ERROR_MEMORY); nothing is printed.
 */
int options_parse(const char *command, unsigned command_bit, int argc, char *const *argv,
    struct option_list *ret_list, struct error *err);

/* The value given last, or NULL. */
const char *option_list_value(const struct option_list *list, enum option_id id);

/* Whether the form of `value` is right; *ret_expected (never NULL) tells in words what is. */
bool option_value_is_valid(enum option_value kind, const char *value, const char **ret_expected);
