/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/escape.h"
#include "cli/report.h"

int policy_main(const struct command *command, int argc, char **argv)
{
        return command_dispatch(command, argc, argv);
}

int policy_check_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = command_parse(command, argc, argv, &list);
        if (status >= 0)
                return status;

        _cleanup_(api_error_freep) mai_error *error = NULL;
        _cleanup_(freep) char *path = NULL;
        if (mai_policy_check(option_list_value(&list, OPTION_POLICY), &path, &error) < 0)
                return report_api_error(error);
        _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(65536);
        if (strbuf_append_text(&text, "ok: ") < 0 || escape_append(&text, path, strlen(path)) < 0 ||
            strbuf_append_text(&text, "\n") < 0) {
                report_line(NULL, NULL, NULL);
                return EXIT_SANDBOX;
        }
        return report_text(strbuf_text(&text));
}

int policy_show_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = command_parse(command, argc, argv, &list);
        if (status >= 0)
                return status;

        _cleanup_(api_error_freep) mai_error *error = NULL;
        _cleanup_(freep) char *text = NULL;
        if (mai_policy_show(option_list_value(&list, OPTION_POLICY), option_list_value(&list, OPTION_TRUST),
                &text, &error) < 0)
                return report_api_error(error);
        return report_text(text);
}
