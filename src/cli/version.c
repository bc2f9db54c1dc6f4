/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/report.h"

int version_main(const struct command *command, int argc, char **argv)
{
        _cleanup_(option_list_clear) struct option_list list = {};
        int status = command_parse(command, argc, argv, &list);
        if (status >= 0)
                return status;
        char text[80];
        (void)snprintf(text, sizeof text, "mai-sandbox %s\n", mai_version());
        return report_text(text);
}
