/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/report.h"
#include "util/strbuf.h"

#define HELP_MAX 65536

static int append_commands(struct strbuf *text)
{
        int r = strbuf_append_text(text,
            "Runs generated Python code so that it cannot hurt the machine it runs on.\n\n"
            "Usage: mai-sandbox COMMAND ...\n\n");
        for (size_t i = 0; r == 0 && i < cli_command_count; i++)
                if (!strchr(cli_commands[i].name, ' '))
                        r = strbuf_appendf(text, "  %-8s %-30s %s\n", cli_commands[i].name,
                            cli_commands[i].synopsis, cli_commands[i].summary);
        return r == 0 ? strbuf_append_text(text, "\nmai-sandbox COMMAND --help tells more.\n") : r;
}

static int append_options(struct strbuf *text, unsigned command_bit)
{
        int r = strbuf_append_text(text, "\nOptions:\n");
        for (size_t i = 0; r == 0 && i < cli_option_count; i++) {
                const struct option_spec *option = &cli_options[i];
                if (!(option->commands & command_bit))
                        continue;
                char head[64];
                (void)snprintf(head, sizeof head, "%s %s", option->name,
                    option->placeholder ? option->placeholder : "");
                r = strbuf_appendf(text, "  %-22s %s\n", head, option->help);
        }
        return r;
}

static int append_command(struct strbuf *text, const struct command *command)
{
        int r = strbuf_appendf(text, "Usage: mai-sandbox %s%s%s\n\n", command->name,
            command->synopsis[0] ? " " : "", command->synopsis);
        if (r == 0)
                r = command->details ? strbuf_append_text(text, command->details)
                                     : strbuf_appendf(text, "%s: %s\n", command->name, command->summary);
        /* A command of commands lists those. */
        size_t size = strlen(command->name);
        for (size_t i = 0; r == 0 && i < cli_command_count; i++)
                if (strncmp(cli_commands[i].name, command->name, size) == 0 &&
                    cli_commands[i].name[size] == ' ')
                        r = strbuf_appendf(
                            text, "  %-14s %s\n", cli_commands[i].name, cli_commands[i].summary);
        return r == 0 ? append_options(text, command->option_bit) : r;
}

char *help_text(const struct command *command)
{
        _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(HELP_MAX);
        int r = command ? append_command(&text, command) : append_commands(&text);
        return r < 0 ? NULL : strbuf_take(&text);
}

int help_print(const struct command *command)
{
        _cleanup_(freep) char *text = help_text(command);
        if (!text) {
                report_line(NULL, NULL, NULL);
                return EXIT_SANDBOX;
        }
        return report_text(text);
}

int help_main(const struct command *command, int argc, char **argv)
{
        if (argc == 0)
                return help_print(NULL);
        if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
                return help_print(command);
        char name[64];
        (void)snprintf(name, sizeof name, "%s%s%s", argv[0], argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
        const struct command *asked = command_find(name);
        return asked ? help_print(asked) : command_unknown("", name);
}
