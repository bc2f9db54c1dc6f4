/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include "cli/suggest.h"
#include "util/parse.h"

#define SETTING OPTION_SETTING
#define SHOWS_POLICY (FOR_RUN | FOR_POLICY_CHECK | FOR_POLICY_SHOW | FOR_DOCTOR | FOR_IMAGE_PULL)

const struct option_spec cli_options[] = {
    {"--trust", "LEVEL", OPTION_TRUST, VALUE_TEXT, "trust_level", FOR_RUN | FOR_POLICY_SHOW,
        "trust level: untrusted, unknown, trusted, or one that the policy adds"},
    {"--policy", "FILE", OPTION_POLICY, VALUE_TEXT, NULL, SHOWS_POLICY,
        "policy file (default: $MAI_SANDBOX_POLICY, the user's, the system's, the built-in)"},
    {"--backend", "NAME", SETTING, VALUE_TEXT, "backend", FOR_RUN | FOR_IMAGE_PULL,
        "isolation backend, e.g. native"},
    {"--image", "NAME", SETTING, VALUE_TEXT, "image", FOR_RUN, "file tree to run in, e.g. host"},
    {"--runtime", "NAME", SETTING, VALUE_TEXT, "runtime", FOR_RUN,
        "OCI runtime of the docker backend, e.g. runsc"},
    {"--timeout", "SECONDS", SETTING, VALUE_SECONDS, "timeout", FOR_RUN, "wall-clock limit"},
    {"--memory", "SIZE", SETTING, VALUE_SIZE_OR_SHARE, "mem_limit", FOR_RUN,
        "memory limit, e.g. 256m or 10%"},
    {"--cpus", "N", SETTING, VALUE_CPUS, "cpu_count", FOR_RUN, "number of CPUs; may be a fraction"},
    {"--pids", "N", SETTING, VALUE_COUNT, "pids_limit", FOR_RUN, "most processes and threads"},
    {"--cpu-time", "SECONDS", SETTING, VALUE_SECONDS, "cpu_time", FOR_RUN,
        "CPU time limit, all processes together"},
    {"--disk", "SIZE", SETTING, VALUE_SIZE, "disk_limit", FOR_RUN, "most bytes in files"},
    {"--inodes", "N", SETTING, VALUE_COUNT, "inode_limit", FOR_RUN, "most files and directories"},
    {"--output-limit", "SIZE", SETTING, VALUE_SIZE, "output_limit", FOR_RUN,
        "most bytes of output, for each of standard output and standard error"},
    {"--open-files", "N", SETTING, VALUE_COUNT, "open_files", FOR_RUN, "most open files of one process"},
    {"--network", "MODE", SETTING, VALUE_TEXT, "network_mode", FOR_RUN,
        "none, or dependencies where the policy allows it"},
    {"--index", "NAME", SETTING, VALUE_TEXT, "whitelist", FOR_RUN,
        "of the policy's whitelist only the entry of this name; may be repeated"},
    {"--stdin", "FILE", OPTION_STDIN, VALUE_TEXT, NULL, FOR_RUN, "standard input of the program"},
    {"--env", "NAME[=VALUE]", OPTION_ENV, VALUE_TEXT, NULL, FOR_RUN,
        "environment variable; without =VALUE as it is set here; may be repeated"},
    {"--file", "SRC[:DEST]", OPTION_FILE, VALUE_TEXT, NULL, FOR_RUN,
        "file to put into the working directory, under the name DEST; may be repeated"},
    {"--output-dir", "DIR", OPTION_OUTPUT_DIR, VALUE_TEXT, NULL, FOR_RUN,
        "where to write the files that the program left in its working directory"},
    {"--max-size", "SIZE", OPTION_MAX_SIZE, VALUE_SIZE, NULL, FOR_IMAGE_IMPORT,
        "most bytes in the image's files (default: 16g)"},
    {"--max-files", "N", OPTION_MAX_FILES, VALUE_COUNT, NULL, FOR_IMAGE_IMPORT,
        "most files, directories and links in it (default: 1000000)"},
    {"--json", NULL, OPTION_JSON, VALUE_NONE, NULL, FOR_RUN | FOR_DOCTOR | FOR_IMAGE_IMPORT | FOR_IMAGE_LS,
        "print the whole result as one JSON document instead of text"},
    {"--events", NULL, OPTION_EVENTS, VALUE_NONE, NULL, FOR_RUN,
        "print events as JSON lines while it runs, the result last"},
    {"--no-progress", NULL, OPTION_NO_PROGRESS, VALUE_NONE, NULL,
        FOR_RUN | FOR_IMAGE_PULL | FOR_IMAGE_IMPORT, "no status line on the terminal"},
    {"--allow-degraded", "NAME", SETTING, VALUE_TEXT, "allow_degraded", FOR_RUN,
        "run even if this host cannot enforce NAME; may be repeated"},
    {"--help", NULL, OPTION_HELP, VALUE_NONE, NULL, FOR_ALL, "this text"},
};
const size_t cli_option_count = ARRAY_SIZE(cli_options);

static bool is_text(const char *value)
{
        return value[0] != '\0';
}

static bool is_positive_decimal(const char *value)
{
        double number;
        return parse_decimal(value, &number) && number > 0;
}

static bool is_positive_count(const char *value)
{
        uint64_t number;
        return parse_u64(value, &number) && number > 0;
}

static bool is_positive_size(const char *value)
{
        uint64_t bytes;
        return parse_size(value, &bytes) && bytes > 0;
}

static bool is_size_or_share(const char *value)
{
        double share;
        return is_positive_size(value) || parse_percent(value, &share);
}

static const struct {
        bool (*valid)(const char *value);
        const char *expected;
} value_kinds[VALUE_COUNT_] = {
    [VALUE_NONE] = {is_text, "nothing"},
    [VALUE_TEXT] = {is_text, "a value that is not empty"},
    [VALUE_SECONDS] = {is_positive_decimal, "seconds above zero, e.g. 10 or 0.5"},
    [VALUE_CPUS] = {is_positive_decimal, "a number above zero, e.g. 2 or 0.5"},
    [VALUE_COUNT] = {is_positive_count, "a whole number above zero, e.g. 64"},
    [VALUE_SIZE] = {is_positive_size, "bytes above zero, e.g. 1048576, 512k, 64m or 1g"},
    [VALUE_SIZE_OR_SHARE] = {is_size_or_share,
        "bytes above zero, e.g. 1048576, 512k, 64m or 1g, or 10% of the host"},
};

bool option_value_is_valid(enum option_value kind, const char *value, const char **ret_expected)
{
        *ret_expected = value_kinds[kind].expected;
        return value_kinds[kind].valid(value);
}

void option_list_clear(struct option_list *list)
{
        free(list->uses);
        *list = (struct option_list){};
}

const char *option_list_value(const struct option_list *list, enum option_id id)
{
        for (size_t i = list->count; i > 0; i--)
                if (list->uses[i - 1].spec->id == id)
                        return list->uses[i - 1].value;
        return NULL;
}

static const struct option_spec *find_option(unsigned command_bit, const char *name, size_t size)
{
        for (size_t i = 0; i < cli_option_count; i++)
                if ((cli_options[i].commands & command_bit) && strlen(cli_options[i].name) == size &&
                    memcmp(cli_options[i].name, name, size) == 0)
                        return &cli_options[i];
        return NULL;
}

static int unknown_option(
    const char *hint, unsigned command_bit, const char *name, size_t size, struct error *err)
{
        const char *names[ARRAY_SIZE(cli_options) + 1];
        size_t n = 0;
        for (size_t i = 0; i < cli_option_count; i++)
                if (cli_options[i].commands & command_bit)
                        names[n++] = cli_options[i].name;
        names[n] = NULL;

        const char *nearest = suggest(name, size, names);
        if (nearest)
                return error_set(err, ERROR_USAGE, 0, hint, "%.*s: unknown option; did you mean %s?",
                    (int)size, name, nearest);
        return error_set(err, ERROR_USAGE, 0, hint, "%.*s: unknown option", (int)size, name);
}

int options_parse(const char *command, unsigned command_bit, int argc, char *const *argv,
    struct option_list *ret_list, struct error *err)
{
        char hint[80];
        (void)snprintf(hint, sizeof hint, "see mai-sandbox %s --help", command);

        _cleanup_(option_list_clear) struct option_list list = {};
        list.uses = calloc((size_t)argc + 1, sizeof *list.uses);
        if (!list.uses)
                return error_oom(err);

        int at = 0;
        while (at < argc) {
                const char *word = argv[at];
                if (word[0] != '-' || word[1] == '\0')
                        break; /* an operand; "-" alone is one too */
                at++;
                if (strcmp(word, "--") == 0)
                        break;
                if (strcmp(word, "-h") == 0)
                        word = "--help";

                size_t size = MIN(strcspn(word, "="), (size_t)200);
                const struct option_spec *spec = find_option(command_bit, word, size);
                if (!spec)
                        return unknown_option(hint, command_bit, word, size, err);

                const char *value = word[size] == '=' ? word + size + 1 : NULL;
                if (spec->value == VALUE_NONE) {
                        if (value)
                                return error_set(
                                    err, ERROR_USAGE, 0, hint, "%s: takes no value", spec->name);
                        value = "";
                } else {
                        if (!value && at == argc)
                                return error_set(err, ERROR_USAGE, 0, hint, "%s: needs a value: %s %s",
                                    spec->name, spec->name, spec->placeholder);
                        if (!value)
                                value = argv[at++];
                        const char *expected;
                        if (!option_value_is_valid(spec->value, value, &expected))
                                return error_set(err, ERROR_USAGE, 0, hint,
                                    "%s: cannot read '%.200s'; expected %s", spec->name, value, expected);
                }
                list.uses[list.count++] = (struct option_use){spec, value};
                if (spec->id == OPTION_HELP)
                        break;
        }
        list.operands = at;
        *ret_list = list;
        list = (struct option_list){};
        return 0;
}
