/* SPDX-License-Identifier: Apache-2.0 */
/* mai-sandbox image ...: one function for each of its subcommands. */
#include "cli/commands.h"

#include "cli/escape.h"
#include "cli/report.h"
#include "util/clock.h"
#include "util/fd.h"
#include "util/parse.h"

#include <limits.h>

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

/* ---- pull and import ---- */

#define ERASE "\r\033[K"
#define REDRAW_EVERY (100 * NSEC_PER_MSEC)
#define MIB (1024.0 * 1024.0)

/* On a terminal one line that is redrawn; elsewhere one line for each layer that is complete. */
struct progress_line {
        const char *doing;
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
        /* While it is not known how much there is, only a terminal is told what has come. */
        if (!line->wanted || (progress->parts == 0 && (!line->terminal || progress->bytes_done == 0)) ||
            (line->terminal ? line->shown && !another && now - line->drawn < REDRAW_EVERY : !another))
                return 0;
        line->parts_done = progress->parts_done;
        line->drawn = now;
        line->shown = line->terminal;
        const char *begin = line->terminal ? ERASE : "", *end = line->terminal ? "" : "\n";
        double done = (double)progress->bytes_done / MIB, all = (double)progress->bytes / MIB;
        int n =
            progress->parts == 0
                ? snprintf(text, sizeof text, "%smai-sandbox: %s: %.1f MiB%s", begin, line->doing, done, end)
                : snprintf(text, sizeof text, "%smai-sandbox: %s: %u of %u layers, %.1f of %.1f MiB%s",
                      begin, line->doing, progress->parts_done, progress->parts, done, all, end);
        if (n > 0)
                (void)fd_write_all(STDERR_FILENO, text, MIN((size_t)n, sizeof text - 1));
        return 0;
}

static void hide(const struct progress_line *line)
{
        if (line->shown)
                (void)fd_write_all(STDERR_FILENO, ERASE, sizeof ERASE - 1);
}

static struct progress_line progress_begin(const struct option_list *list, const char *doing)
{
        const char *term = getenv("TERM");
        return (struct progress_line){
            .doing = doing,
            .wanted = !option_list_value(list, OPTION_NO_PROGRESS),
            .terminal = isatty(STDERR_FILENO) && term && term[0] && strcmp(term, "dumb") != 0,
        };
}

int image_pull_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = parse(command, argc, argv, 1, 2, &list);
        if (status >= 0)
                return status;
        const char *reference = argv[list.operands];
        const char *name = argc - list.operands > 1 ? argv[list.operands + 1] : NULL;
        struct progress_line line = progress_begin(&list, "pulling");
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

/* Text of the library as one line. */
static int report_json(const char *json)
{
        _cleanup_(freep) char *line = NULL;
        if (!json || asprintf(&line, "%s\n", json) < 0) {
                line = NULL;
                report_line(NULL, NULL, NULL);
                return EXIT_SANDBOX;
        }
        return report_text(line);
}

/* The form of both was checked when they were parsed. */
static uint64_t bound(const struct option_list *list, enum option_id id)
{
        uint64_t value = 0;
        const char *text = option_list_value(list, id);
        if (text && id == OPTION_MAX_SIZE)
                (void)parse_size(text, &value);
        else if (text)
                (void)parse_u64(text, &value);
        return value;
}

int image_import_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = parse(command, argc, argv, 2, 2, &list);
        if (status >= 0)
                return status;
        const char *name = argv[list.operands + 1];
        bool as_json = option_list_value(&list, OPTION_JSON);
        struct progress_line line = progress_begin(&list, "importing");
        line.wanted = line.wanted && line.terminal; /* it takes seconds: in a log it would be noise */
        _cleanup_(api_error_freep) mai_error *error = NULL;
        _cleanup_(freep) char *json = NULL;
        int r = mai_image_import(argv[list.operands], name, bound(&list, OPTION_MAX_SIZE),
            bound(&list, OPTION_MAX_FILES), on_progress, &line, &json, &error);
        hide(&line);
        if (r < 0)
                return report_api_error(error);
        if (as_json)
                return report_json(json);
        _cleanup_(freep) char *text = NULL;
        if (asprintf(&text, "%s\n", name) < 0) {
                text = NULL;
                report_line(NULL, NULL, NULL);
                return EXIT_SANDBOX;
        }
        return report_text(text);
}

/* ---- ls and rm ---- */

static void free_images(mai_images **images)
{
        (void)mai_images_free(*images);
}

#define DIGEST_SHOWN 19 /* "sha256:" and twelve digits, as elsewhere */

static int print_table(const mai_images *images)
{
        _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(4U << 20);
        int widest = 4;
        for (size_t i = 0; i < mai_images_count(images); i++)
                widest = MAX(widest, (int)strlen(mai_images_at(images, i)->name));
        int r = strbuf_appendf(
            &text, "%-*s  %-*s  %10s  %s\n", widest, "NAME", DIGEST_SHOWN, "DIGEST", "SIZE", "CREATED");
        for (size_t i = 0; i < mai_images_count(images) && r == 0; i++) {
                const mai_image *image = mai_images_at(images, i);
                char size[FORMAT_SIZE_MAX];
                r = strbuf_appendf(&text, "%-*s  %-*.*s  %10s  %s%s\n", widest, image->name, DIGEST_SHOWN,
                    DIGEST_SHOWN, image->digest, format_size(image->size, size), image->created,
                    image->in_use ? "  in use" : "");
        }
        if (r < 0) {
                report_line(NULL, NULL, NULL);
                return EXIT_SANDBOX;
        }
        return report_text(strbuf_text(&text));
}

int image_ls_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = parse(command, argc, argv, 0, 0, &list);
        if (status >= 0)
                return status;
        _cleanup_(free_images) mai_images *images = NULL;
        _cleanup_(api_error_freep) mai_error *error = NULL;
        if (mai_images_open(&images, &error) < 0)
                return report_api_error(error);
        return option_list_value(&list, OPTION_JSON) ? report_json(mai_images_json(images))
                                                     : print_table(images);
}

/* Each of them is tried; the status is that of the first that could not be removed. */
int image_rm_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = parse(command, argc, argv, 1, INT_MAX, &list);
        if (status >= 0)
                return status;
        status = 0;
        for (int i = list.operands; i < argc; i++) {
                _cleanup_(api_error_freep) mai_error *error = NULL;
                if (mai_image_remove(argv[i], &error) < 0) {
                        int failed = report_api_error(error);
                        status = status ? status : failed;
                }
        }
        return status;
}
