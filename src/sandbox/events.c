/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/events.h"

#include "sandbox/text.h"

static struct run_event *find(
    struct result *result, const struct event_note *note, const char *detail, size_t detail_size)
{
        for (size_t i = 0; i < result->event_count; i++) {
                struct run_event *event = &result->events[i];
                if (strcmp(event->kind, note->kind) == 0 &&
                    strcmp(event->reason, note->reason ? note->reason : "") == 0 &&
                    strncmp(event->detail, detail, detail_size) == 0 && event->detail[detail_size] == '\0')
                        return event;
        }
        return NULL;
}

static struct run_event *add(struct result *result, double t, const struct event_note *note)
{
        if (!result->events) {
                result->events = calloc(RUN_EVENTS_MAX, sizeof *result->events);
                if (!result->events)
                        return NULL;
        }
        struct run_event *event = &result->events[result->event_count++];
        *event = (struct run_event){
            .seq = result->event_count,
            .t = t,
            .kind = note->kind,
            .detail_key = note->detail_key,
            .has_bytes = note->has_bytes,
        };
        (void)snprintf(event->reason, sizeof event->reason, "%s", note->reason ? note->reason : "");
        return event;
}

int events_note(
    struct result *result, double t, const struct event_note *note, const struct run_event **ret_news)
{
        const char *detail = note->detail ? note->detail : "";
        size_t size = note->detail ? note->detail_size : 0;
        if (size >= sizeof(((struct run_event *)NULL)->detail)) {
                size = sizeof(((struct run_event *)NULL)->detail) - 1;
                size -= utf8_incomplete_tail(detail, size);
        }

        struct run_event *event = find(result, note, detail, size);
        if (!event && result->event_count + 1 < RUN_EVENTS_MAX) {
                event = add(result, t, note);
                if (!event)
                        return -ENOMEM;
                memcpy(event->detail, detail, size);
        }
        if (event) {
                event->count = note->so_far ? MAX(note->count, event->count) : event->count + note->count;
                event->bytes += note->bytes;
        } else {
                const struct event_note dropped = {.kind = "events_dropped"};
                event = find(result, &dropped, "", 0);
                if (!event)
                        event = add(result, t, &dropped);
                event->count++;
        }

        *ret_news = NULL;
        if (event->told == 0 || event->count / 2 >= event->told) {
                event->told = event->count;
                *ret_news = event;
        }
        return 0;
}

uint64_t events_total(const struct result *result, const char *kind)
{
        uint64_t total = 0;
        for (size_t i = 0; i < result->event_count; i++)
                if (strcmp(result->events[i].kind, kind) == 0)
                        total += result->events[i].count;
        return total;
}
