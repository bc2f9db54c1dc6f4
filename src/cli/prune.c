/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/report.h"

int prune_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = command_parse(command, argc, argv, &list);
        if (status >= 0)
                return status;

        _cleanup_(api_error_freep) mai_error *error = NULL;
        unsigned removed = 0;
        if (mai_prune(&removed, &error) < 0)
                return report_api_error(error);
        char text[80];
        (void)snprintf(text, sizeof text, "removed %u container%s\n", removed, removed == 1 ? "" : "s");
        return report_text(text);
}
