/* SPDX-License-Identifier: Apache-2.0 */
/* mai-sandbox image ...: one function for each of its subcommands. */
#include "cli/commands.h"

#include "cli/escape.h"
#include "cli/report.h"
#include "util/clock.h"
#include "util/fd.h"

int image_main(const struct command *command, int argc, char **argv)
{
        return command_dispatch(command, argc, argv);
}

/* ---- What all of them share ---- */

/* The value of an option that is a setting of requests elsewhere, such as --backend; or NULL. */
static const char *setting(const struct option_list *list, const char *name)
{
        for (size_t i = list->count; i > 0; i--)
                if (list->uses[i - 1].spec->setting && strcmp(list->uses[i - 1].spec->setting, name) == 0)
                        return list->uses[i - 1].value;
        return NULL;
}

/* Options, and `least` to `most` operands. -1 to go on; else the exit status. */
static int parse(
    const struct command *command, int argc, char **argv, int least, int most, struct option_list *ret_list)
{
        _cleanup_(error_clear) struct error err = {};
        _cleanup_(option_list_clear) struct option_list list = {};
        if (options_parse(command->name, command->option_bit, argc, argv, &list, &err) < 0)
                return report_error(&err);
        if (option_list_value(&list, OPTION_HELP))
                return help_print(command);
        int count = argc - list.operands;
        if (count < least || count > most) {
                char hint[80];
                (void)snprintf(hint, sizeof hint, "see mai-sandbox %s --help", command->name);
                if (count < least)
                        (void)error_set(
                            &err, ERROR_USAGE, 0, hint, "%s: needs %s", command->name, command->synopsis);
                else
                        (void)error_set(&err, ERROR_USAGE, 0, hint, "%s: unexpected argument '%.200s'",
                            command->name, argv[list.operands + most]);
                return report_error(&err);
        }
        *ret_list = list;
        list = (struct option_list){};
        return -1;
}

/* ---- pull ---- */

#define ERASE "\r\033[K"
#define REDRAW_EVERY (100 * NSEC_PER_MSEC)
#define MIB (1024.0 * 1024.0)

/* On a terminal one line that is redrawn; elsewhere one line for each layer that is complete. */
struct progress_line {
        bool wanted, terminal;
        bool shown;
        uint64_t drawn; /* clock_now() */
        unsigned parts_done;
};

static int on_progress(const mai_image_progress *progress, void *user)
{
        struct progress_line *line = user;
        char text[160];
        uint64_t now = clock_now();
        bool another = progress->parts_done != line->parts_done;
        if (!line->wanted || progress->parts == 0 ||
            (line->terminal ? line->shown && !another && now - line->drawn < REDRAW_EVERY : !another))
                return 0;
        line->parts_done = progress->parts_done;
        line->drawn = now;
        line->shown = line->terminal;
        int n = snprintf(text, sizeof text, "%smai-sandbox: pulling: %u of %u layers, %.1f of %.1f MiB%s",
            line->terminal ? ERASE : "", progress->parts_done, progress->parts,
            (double)progress->bytes_done / MIB, (double)progress->bytes / MIB, line->terminal ? "" : "\n");
        if (n > 0)
                (void)fd_write_all(STDERR_FILENO, text, MIN((size_t)n, sizeof text - 1));
        return 0;
}

static void hide(const struct progress_line *line)
{
        if (line->shown)
                (void)fd_write_all(STDERR_FILENO, ERASE, sizeof ERASE - 1);
}

int image_pull_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = parse(command, argc, argv, 1, 2, &list);
        if (status >= 0)
                return status;
        const char *reference = argv[list.operands];
        const char *name = argc - list.operands > 1 ? argv[list.operands + 1] : NULL;
        const char *term = getenv("TERM");
        struct progress_line line = {
            .wanted = !option_list_value(&list, OPTION_NO_PROGRESS),
            .terminal = isatty(STDERR_FILENO) && term && term[0] && strcmp(term, "dumb") != 0,
        };
        _cleanup_(api_error_freep) mai_error *error = NULL;
        _cleanup_(freep) char *digest = NULL;
        int r = mai_image_pull(option_list_value(&list, OPTION_POLICY), setting(&list, "backend"), reference,
            name, on_progress, &line, &digest, &error);
        hide(&line);
        if (r < 0)
                return report_api_error(error);
        const char *called = name ? name : reference;
        _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(65536);
        if (escape_append(&text, called, strlen(called)) < 0 || strbuf_append_text(&text, " ") < 0 ||
            escape_append(&text, digest, strlen(digest)) < 0 || strbuf_append_text(&text, "\n") < 0) {
                report_line(NULL, NULL, NULL);
                return EXIT_SANDBOX;
        }
        return report_text(strbuf_text(&text));
}
