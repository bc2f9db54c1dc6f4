/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/report.h"
#include "cli/suggest.h"
#include "util/strbuf.h"

#define EXIT_STATUS_HELP                                                                                    \
        "Exit status: the program's own (128+n if killed by signal n); 124 wall-clock timeout;\n"           \
        "137 ended by another limit or killed; 125 the sandbox could not run it; 126, 127 as in a\n"        \
        "shell; 2 bad words.\n"

static const char run_details[] =
    "Runs FILE (-: standard input) with python3 in a container of its own. Options end at FILE;\n"
    "every ARG is the program's, in sys.argv[1:]. Limits may only be tighter than the "
    "policy's.\n\n" EXIT_STATUS_HELP;

static const char exec_details[] = "Runs CMD, looked up in the image's PATH, in a container of its own. "
                                   "Options end at CMD.\n\n" EXIT_STATUS_HELP;

static const char doctor_details[] =
    "Makes a few containers, each with a part of the default policy waived, and reads back from\n"
    "the kernel what is enforced on them.\n\n"
    "Exit status: 0 the default policy is enforced in full; 1 it is not, and what is missing is\n"
    "named with the fix; 125 the policy is bad.\n";

static const char image_pull_details[] =
    "Fetches the image REF (NAME[:TAG] or REGISTRY/NAME[@DIGEST]) for the backend that the policy names,\n"
    "or for the one of --backend, and prints its name and digest. With NAME, it is called that here.\n\n"
    "Exit status: 0 it is there; 125 it could not be fetched; 2 bad words.\n";

static const char image_import_details[] =
    "Makes an image of the native engine of FILE: a tar of a root file system, an OCI layout (a\n"
    "directory, or a tar of it), or what `docker save` writes; compressed or not. What is in it is\n"
    "unpacked without privileges, and nothing of it is run.\n\n"
    "Exit status: 0 it is there; 125 it could not be made, and nothing of it is left; 2 bad words.\n";

const struct command cli_commands[] = {
    {"run", "[OPTION...] FILE|- [ARG...]", "run a Python program", FOR_RUN, run_details, run_main},
    {"exec", "[OPTION...] [--] CMD [ARG...]", "run any command of the image", FOR_RUN, exec_details,
        exec_main},
    {"policy", "check|show [OPTION...]", "validate the policy, or show what it resolves to", FOR_OTHERS,
        NULL, policy_main},
    {"policy check", "[OPTION...]", "validate the policy file", FOR_POLICY_CHECK,
        "Exit status: 0 the file is good; 125 it is not, and the line and column are named.\n",
        policy_check_main},
    {"policy show", "[OPTION...]", "what a trust level resolves to, as YAML", FOR_POLICY_SHOW, NULL,
        policy_show_main},
    {"doctor", "[OPTION...]", "what this host can enforce, and how to fix what it can't", FOR_DOCTOR,
        doctor_details, doctor_main},
    {"image", "import|pull|ls|rm [OPTION...]", "the file trees to run in", FOR_OTHERS, NULL, image_main},
    {"image import", "[OPTION...] FILE NAME", "make an image of an archive", FOR_IMAGE_IMPORT,
        image_import_details, image_import_main},
    {"image pull", "[OPTION...] REF [NAME]", "fetch an image from a registry", FOR_IMAGE_PULL,
        image_pull_details, image_pull_main},
    {"image ls", "[OPTION...]", "list the native engine's images", FOR_IMAGE_LS, NULL, image_ls_main},
    {"image rm", "NAME...", "remove images that no run uses", FOR_OTHERS, NULL, image_rm_main},
    {"prune", "", "remove what killed sandboxes left behind", FOR_OTHERS, NULL, prune_main},
    {"version", "", "print the version", FOR_OTHERS, NULL, version_main},
    {"help", "[COMMAND]", "print this, or the help of one command", FOR_OTHERS, NULL, help_main},
};
const size_t cli_command_count = ARRAY_SIZE(cli_commands);

const struct command *command_find(const char *name)
{
        for (size_t i = 0; i < cli_command_count; i++)
                if (strcmp(cli_commands[i].name, name) == 0)
                        return &cli_commands[i];
        return NULL;
}

/* "check or show?" */
static int which_one(const struct command *command)
{
        _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(1024);
        char hint[80];
        size_t size = strlen(command->name);
        for (size_t i = 0; i < cli_command_count; i++) {
                const char *name = cli_commands[i].name;
                if (strncmp(name, command->name, size) == 0 && name[size] == ' ')
                        (void)strbuf_appendf(&text, "%s%s", text.size > 0 ? " or " : "", name + size + 1);
        }
        (void)strbuf_append_text(&text, "?");
        (void)snprintf(hint, sizeof hint, "see mai-sandbox %s --help", command->name);
        report_line(command->name, strbuf_text(&text), hint);
        return EXIT_USAGE;
}

int command_dispatch(const struct command *command, int argc, char **argv)
{
        if (argc == 0)
                return which_one(command);
        char name[64];
        (void)snprintf(name, sizeof name, "%s %s", command->name, argv[0]);
        const struct command *inner = command_find(name);
        if (inner)
                return inner->main(inner, argc - 1, argv + 1);
        (void)snprintf(name, sizeof name, "%s ", command->name);
        if (argv[0][0] != '-')
                return command_unknown(name, argv[0]);
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = command_parse(command, argc, argv, &list);
        return status >= 0 ? status : EXIT_USAGE;
}

int command_unknown(const char *prefix, const char *word)
{
        const char *names[ARRAY_SIZE(cli_commands) + 1];
        size_t n = 0;
        size_t prefix_size = strlen(prefix);
        for (size_t i = 0; i < cli_command_count; i++) {
                const char *name = cli_commands[i].name;
                if (strncmp(name, prefix, prefix_size) == 0 && !strchr(name + prefix_size, ' '))
                        names[n++] = name + prefix_size;
        }
        names[n] = NULL;

        _cleanup_(error_clear) struct error err = {};
        char hint[80] = "see mai-sandbox help";
        if (prefix_size > 0)
                (void)snprintf(hint, sizeof hint, "see mai-sandbox %s--help", prefix);
        const char *nearest = suggest(word, strlen(word), names);
        if (nearest)
                (void)error_set(&err, ERROR_USAGE, 0, hint, "%s%.200s: unknown command; did you mean %s%s?",
                    prefix, word, prefix, nearest);
        else
                (void)error_set(&err, ERROR_USAGE, 0, hint, "%s%.200s: unknown command", prefix, word);
        return report_error(&err);
}

int command_parse(const struct command *command, int argc, char **argv, struct option_list *ret_list)
{
        _cleanup_(error_clear) struct error err = {};
        _cleanup_(option_list_clear) struct option_list list = {};
        if (options_parse(command->name, command->option_bit, argc, argv, &list, &err) < 0)
                return report_error(&err);
        if (option_list_value(&list, OPTION_HELP))
                return help_print(command);
        if (list.operands < argc) {
                (void)error_set(&err, ERROR_USAGE, 0, NULL, "%s: unexpected argument '%.200s'",
                    command->name, argv[list.operands]);
                return report_error(&err);
        }
        *ret_list = list;
        list = (struct option_list){};
        return -1;
}
