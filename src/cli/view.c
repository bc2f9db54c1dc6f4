/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include "cli/signals.h"

void view_clear(struct view *view)
{
        outlet_clear(&view->output);
        outlet_clear(&view->errors);
}

/* Remembers the first failure of a stream. An interruption by a signal is none. Returns r. */
static int note(struct view *view, const char *stream, int r)
{
        if (r < 0 && r != -EINTR && view->write_error == 0) {
                view->write_error = r;
                view->write_error_stream = stream;
        }
        return r;
}

static int write_output(struct view *view, const void *data, size_t size)
{
        return note(view, "standard output", outlet_write(&view->output, data, size));
}

static int show_output(struct view *view, const mai_event *event)
{
        status_line_before_output(&view->status_line, event->stream, event->data, event->size);
        if (event->stream == STDERR_FILENO)
                return note(view, "standard error", outlet_write(&view->errors, event->data, event->size));
        return write_output(view, event->data, event->size);
}

static int show_json_line(struct view *view, const char *json)
{
        int r = write_output(view, json, strlen(json));
        int end = write_output(
            view, "\n", 1); /* also after an interruption, which keeps what it could not write */
        return r < 0 ? r : end;
}

/* What a slow reader could not take goes on with the next event; samples come several times a second. */
static int pump(struct view *view)
{
        int r = note(view, "standard output", outlet_pump(&view->output));
        int errors = note(view, "standard error", outlet_pump(&view->errors));
        return r < 0 ? r : errors;
}

int view_event(const mai_event *event, void *user)
{
        struct view *view = user;
        int r = 0;
        if (view->form == VIEW_EVENTS && event->json)
                r = show_json_line(view, event->json);
        else if (view->form == VIEW_STREAM && event->kind == MAI_EVENT_OUTPUT)
                r = show_output(view, event);
        if (r == 0)
                r = pump(view);
        if (r == 0 && view->form == VIEW_STREAM && event->kind == MAI_EVENT_SAMPLE && event->sample)
                status_line_sample(&view->status_line, event->sample);
        /* Also catches a signal that came before there was a run to cancel. */
        return r < 0 || signals_caught() != 0;
}

void view_finish(struct view *view)
{
        status_line_hide(&view->status_line);
        (void)note(view, "standard output", outlet_flush(&view->output));
        (void)note(view, "standard error", outlet_flush(&view->errors));
}

void view_result(struct view *view, mai_result *result)
{
        if (view->form == VIEW_STREAM || view->write_error != 0)
                return;
        const char *json = mai_result_json(result);
        if (!json) {
                (void)note(view, "result", -ENOMEM);
                return;
        }
        static const char opening[] = "{\"kind\":\"result\",\"result\":";
        bool wrapped = view->form == VIEW_EVENTS;
        if (wrapped)
                (void)write_output(view, opening, sizeof opening - 1);
        (void)write_output(view, json, strlen(json));
        (void)(wrapped ? write_output(view, "}\n", 2) : write_output(view, "\n", 1));
        (void)note(view, "standard output", outlet_flush(&view->output));
}
