/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "cli/signals.h"
#include "cli/report.h"
#include "util/fd.h"

#include <fcntl.h>
#include <poll.h>

/*
 * Makes sure that descriptors 0 to 2 are open. Otherwise the next file that is opened, say the policy, would
 * become standard output and be written to. One poll() asks about all three.
 */
static bool fill_standard_descriptors(void)
{
        struct pollfd fds[] = {{.fd = STDIN_FILENO}, {.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
        if (poll(fds, ARRAY_SIZE(fds), 0) <= 0)
                return true;
        for (int i = 0; i < (int)ARRAY_SIZE(fds); i++)
                /* The lowest free number is taken, and everything below is open by now. */
                if ((fds[i].revents & POLLNVAL) && open("/dev/null", O_RDWR) != i)
                        return false;
        return true;
}

int main(int argc, char **argv)
{
        if (!fill_standard_descriptors())
                return EXIT_SANDBOX;
        signals_prepare();

        if (argc < 2) {
                _cleanup_(freep) char *text = help_text(NULL);
                if (text)
                        (void)fd_write_all(STDERR_FILENO, text, strlen(text));
                return EXIT_USAGE;
        }
        const char *word = argv[1];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
                word = "help";
        else if (strcmp(word, "--version") == 0)
                word = "version";

        const struct command *command = strchr(word, ' ') ? NULL : command_find(word);
        if (!command)
                return command_unknown("", word);
        return command->main(command, argc - 2, argv + 2);
}
