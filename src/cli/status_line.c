/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_line.h"

#include "cli/escape.h"
#include "util/clock.h"
#include "util/fd.h"
#include "util/parse.h"

#include <sys/ioctl.h>

#define FIRST_AFTER 0.5            /* seconds: short runs do not flicker */
#define EVERY (95 * NSEC_PER_MSEC) /* a little under the sampling interval, so that no sample is skipped */
#define NEAR_LIMIT 0.8             /* share of a limit from which a figure is coloured */
#define ERASE "\r\033[K"
#define COLOUR_NEAR "\033[33m"
#define COLOUR_OFF "\033[0m"
#define WIDTH_DEFAULT 80
#define WIDTH_MAX 400

void status_line_init(struct status_line *line, bool wanted, const char *trust)
{
        *line = (struct status_line){.trust = trust};
        struct winsize size;
        if (!wanted || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0)
                return;
        const char *term = getenv("TERM");
        if (!term || term[0] == '\0' || strcmp(term, "dumb") == 0)
                return;
        const char *no_colour = getenv("NO_COLOR");
        line->colour = !no_colour || no_colour[0] == '\0';
        line->shared_output = isatty(STDOUT_FILENO);
        line->enabled = true;
}

/* $COLUMNS if the caller exports it, else the terminal's own width, asked each time since windows change. */
static unsigned terminal_width(void)
{
        const char *columns = getenv("COLUMNS");
        uint64_t number;
        if (columns && parse_u64(columns, &number) && number > 0)
                return (unsigned)MIN(number, (uint64_t)WIDTH_MAX);
        struct winsize size;
        if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
                return MIN((unsigned)size.ws_col, (unsigned)WIDTH_MAX);
        return WIDTH_DEFAULT;
}

/* One field's text, and how near its limit it is (0…1). */
struct field {
        char text[96];
        double share;
};

static void format_memory(struct field *field, uint64_t used, uint64_t limit)
{
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
        double unit = 1;
        size_t i = 0;
        uint64_t largest = MAX(limit, used);
        for (; i + 1 < ARRAY_SIZE(units) && (double)largest / unit >= 1024; i++)
                unit *= 1024;
        if (limit > 0) {
                double whole = (double)limit / unit;
                (void)snprintf(field->text, sizeof field->text, "mem %.1f/%.*f %s", (double)used / unit,
                    whole == (double)(uint64_t)whole ? 0 : 1, whole, units[i]);
                field->share = (double)used / (double)limit;
        } else {
                (void)snprintf(
                    field->text, sizeof field->text, "mem %.1f %s", (double)used / unit, units[i]);
        }
}

static void format_label(struct field *field, const char *trust)
{
        _cleanup_(strbuf_clear) struct strbuf label = STRBUF_INIT(64);
        if (escape_append(&label, trust, strlen(trust)) == 0)
                (void)snprintf(field->text, sizeof field->text, "[%s]", strbuf_text(&label));
}

size_t status_line_format(
    const mai_sample *sample, const char *trust, unsigned width, bool colour, char *buffer, size_t size)
{
        struct field fields[5] = {};
        if (trust)
                format_label(&fields[0], trust);
        if (sample->timeout > 0) {
                (void)snprintf(
                    fields[1].text, sizeof fields[1].text, "%.1f/%.1f s", sample->t, sample->timeout);
                fields[1].share = sample->t / sample->timeout;
        } else {
                (void)snprintf(fields[1].text, sizeof fields[1].text, "%.1f s", sample->t);
        }
        (void)snprintf(fields[2].text, sizeof fields[2].text, "cpu %.0f%%", sample->cpu_percent);
        format_memory(&fields[3], sample->memory, sample->mem_limit);
        if (sample->pids_limit > 0) {
                (void)snprintf(fields[4].text, sizeof fields[4].text, "procs %llu/%llu",
                    (unsigned long long)sample->pids, (unsigned long long)sample->pids_limit);
                fields[4].share = (double)sample->pids / (double)sample->pids_limit;
        } else {
                (void)snprintf(
                    fields[4].text, sizeof fields[4].text, "procs %llu", (unsigned long long)sample->pids);
        }

        size_t used = 0; /* bytes */
        size_t columns = 0;
        buffer[0] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                size_t length = strlen(fields[i].text);
                if (length == 0)
                        continue;
                const char *gap = columns == 0 ? "" : i == 1 ? " " : "  ";
                if (columns + strlen(gap) + length > width)
                        break;
                bool marked = colour && fields[i].share >= NEAR_LIMIT;
                int n = snprintf(buffer + used, size - used, "%s%s%s%s", gap, marked ? COLOUR_NEAR : "",
                    fields[i].text, marked ? COLOUR_OFF : "");
                if (n < 0 || (size_t)n >= size - used) {
                        buffer[used] = '\0';
                        break;
                }
                used += (size_t)n;
                columns += strlen(gap) + length;
        }
        return used;
}

void status_line_sample(struct status_line *line, const mai_sample *sample)
{
        if (!line->enabled || line->mid_line || sample->t < FIRST_AFTER)
                return;
        uint64_t now = clock_now();
        if (line->drawn != 0 && now - line->drawn < EVERY)
                return;
        line->drawn = now;

        /*
         * One write, so that the terminal never shows half of it; the last column stays free, or it would
         * wrap.
         */
        char text[sizeof ERASE + 640] = ERASE;
        size_t prefix = sizeof ERASE - 1;
        const char *trust = sample->trust_level ? sample->trust_level : line->trust;
        size_t length = status_line_format(
            sample, trust, terminal_width() - 1, line->colour, text + prefix, sizeof text - prefix);
        (void)fd_write_all(STDERR_FILENO, text, prefix + length);
        line->shown = length > 0;
}

void status_line_hide(struct status_line *line)
{
        if (!line->shown)
                return;
        (void)fd_write_all(STDERR_FILENO, ERASE, sizeof ERASE - 1);
        line->shown = false;
}

void status_line_before_output(struct status_line *line, int stream, const char *data, size_t size)
{
        if (!line->enabled || size == 0 || (stream == STDOUT_FILENO && !line->shared_output))
                return;
        status_line_hide(line);
        line->mid_line = data[size - 1] != '\n';
}
