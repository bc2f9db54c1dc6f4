/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/escape.h"
#include "cli/report.h"
#include "util/strbuf.h"

/* The default policy can't be enforced here. */
#define EXIT_NOT_ENFORCED 1

static void free_report(mai_report **report)
{
        (void)mai_report_free(*report);
}

/* What others wrote (names of groups, answers of an engine) is in there: nothing of it may steer a terminal.
 */
static int print_text(const char *text)
{
        _cleanup_(strbuf_clear) struct strbuf safe = STRBUF_INIT(256U << 10);
        for (const char *line = text; *line;) {
                const char *end = strchrnul(line, '\n');
                if (escape_append(&safe, line, (size_t)(end - line)) < 0 ||
                    strbuf_append_text(&safe, "\n") < 0) {
                        report_line(NULL, NULL, NULL);
                        return EXIT_SANDBOX;
                }
                line = *end ? end + 1 : end;
        }
        return report_text(strbuf_text(&safe));
}

static int print_json(const char *json)
{
        _cleanup_(freep) char *line = NULL;
        if (asprintf(&line, "%s\n", json) < 0) {
                line = NULL;
                report_line(NULL, NULL, NULL);
                return EXIT_SANDBOX;
        }
        return report_text(line);
}

int doctor_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = command_parse(command, argc, argv, &list);
        if (status >= 0)
                return status;

        _cleanup_(api_error_freep) mai_error *error = NULL;
        _cleanup_(free_report) mai_report *report = NULL;
        if (mai_doctor(option_list_value(&list, OPTION_POLICY), &report, &error) < 0)
                return report_api_error(error);
        status = option_list_value(&list, OPTION_JSON) ? print_json(mai_report_json(report))
                                                       : print_text(mai_report_text(report));
        return status != 0 ? status : mai_report_enforced(report) ? 0 : EXIT_NOT_ENFORCED;
}
