/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include "cli/escape.h"
#include "util/fd.h"

#define LINE_MAX_BYTES 8192

static int append_part(struct strbuf *line, const char *before, const char *text, const char *after)
{
        int r = strbuf_append_text(line, before);
        if (r == 0)
                r = escape_append(line, text, strlen(text));
        if (r == 0)
                r = strbuf_append_text(line, after);
        return r;
}

void report_line(const char *label, const char *message, const char *hint)
{
        _cleanup_(strbuf_clear) struct strbuf line = STRBUF_INIT(LINE_MAX_BYTES);
        int r = strbuf_append_text(&line, "mai-sandbox: ");
        if (r == 0 && label)
                r = append_part(&line, "", label, ": ");
        if (r == 0)
                r = append_part(&line, "", message ? message : "out of memory", "");
        if (r == 0 && hint)
                r = append_part(&line, " (", hint, ")");
        if (r == -ENOMEM) {
                static const char text[] = "mai-sandbox: out of memory\n";
                (void)fd_write_all(STDERR_FILENO, text, sizeof text - 1);
                return;
        }
        /* A line that grew past its limit is cut, but still ends; the newline always has room. */
        line.max = LINE_MAX_BYTES + 8;
        (void)strbuf_append_text(&line, r < 0 ? "...\n" : "\n");
        (void)fd_write_all(STDERR_FILENO, strbuf_text(&line), line.size);
}

int report_error(const struct error *err)
{
        report_line(NULL, err->message, err->hint);
        return err->code == ERROR_USAGE ? EXIT_USAGE : EXIT_SANDBOX;
}

bool api_error_is_usage(const mai_error *error)
{
        return error && strcmp(mai_error_code(error), error_code_name(ERROR_USAGE)) == 0;
}

int report_api_error(const mai_error *error)
{
        report_line(NULL, error ? mai_error_message(error) : NULL, error ? mai_error_hint(error) : NULL);
        return api_error_is_usage(error) ? EXIT_USAGE : EXIT_SANDBOX;
}

int report_text(const char *text)
{
        int r = fd_write_all(STDOUT_FILENO, text, strlen(text));
        if (r == 0)
                return 0;
        report_line("standard output", strerror(-r), NULL);
        return EXIT_SANDBOX;
}
