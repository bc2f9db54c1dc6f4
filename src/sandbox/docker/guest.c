/* SPDX-License-Identifier: Apache-2.0 */
/* What a container's init says. All of it is checked: the program runs as the same user. */
#include "sandbox/docker/container.h"

#include "sandbox/failure.h"
#include "util/clock.h"

/*
 * After the end of the program the rest of its output is at hand (GUEST_DRAIN_MSEC); this is for an engine
 * that is slow to pass it on.
 */
#define DRAIN_DEADLINE_MSEC 400

static int on_ready(struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_ready ready;
        memcpy(&ready, frame->payload, sizeof ready);
        if (ready.version != GUEST_PROTOCOL_VERSION)
                return -EBADMSG;
        c->evidence.degraded |= ready.degraded;
        c->ready = true;
        if (!c->input_begun)
                container_set_timer(c, 0); /* nothing to do: it may wait for long */
        return 0;
}

static int on_at_gate(struct container *c, const struct received_frame *frame, struct container_event *event)
{
        return 0; /* EVIDENCE follows */
}

static int on_evidence(
    struct container *c, const struct received_frame *frame, struct container_event *event)
{
        if (c->guest_evidence)
                return -EBADMSG;
        c->guest_evidence = malloc(sizeof *c->guest_evidence);
        if (!c->guest_evidence)
                return -ENOMEM;
        memcpy(c->guest_evidence, frame->payload, sizeof *c->guest_evidence);
        c->guest_evidence->kernel_release[GUEST_RELEASE_SIZE - 1] = '\0';
        if (evidence_needs_version(c))
                setup_ask_version(c);
        else
                c->version_known = true;
        return 0;
}

static int on_started(struct container *c, const struct received_frame *frame, struct container_event *event)
{
        if (!c->told_gate)
                return -EBADMSG;
        c->started = true;
        c->started_at = clock_now();
        container_set_timer(c, 0);
        event->type = CONTAINER_STARTED;
        return 0;
}

static int on_exec_failed(
    struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_exec_failed message;
        memcpy(&message, frame->payload, sizeof message);
        event->type = CONTAINER_EXEC_FAILED;
        event->errnum = message.errnum;
        return 0;
}

static int on_exited(struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_exited exited;
        memcpy(&exited, frame->payload, sizeof exited);
        if (!c->started)
                return -EBADMSG;
        if (c->exited)
                return 0;
        c->exited = true;
        container_set_timer(c, DRAIN_DEADLINE_MSEC);
        event->type = CONTAINER_EXITED;
        event->exited.wait_status = exited.wait_status;
        event->exited.reaped = exited.reaped;
        event->exited.killed = exited.killed;
        return 0;
}

static int on_output(struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_stream head;
        memcpy(&head, frame->payload, sizeof head);
        if (head.stream >= GUEST_STREAM_COUNT_ || frame->size == sizeof head || c->stream_ended[head.stream])
                return -EBADMSG;
        enum output_stream stream = head.stream == GUEST_STDOUT ? STREAM_STDOUT : STREAM_STDERR;
        if (c->discarded[stream])
                return 0;
        event->type = CONTAINER_OUTPUT;
        event->output.stream = stream;
        event->output.data = frame->payload + sizeof head;
        event->output.size = frame->size - sizeof head;
        return 0;
}

static int on_output_end(
    struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_stream head;
        memcpy(&head, frame->payload, sizeof head);
        if (head.stream >= GUEST_STREAM_COUNT_)
                return -EBADMSG;
        c->stream_ended[head.stream] = true;
        return 0;
}

static int on_input_taken(
    struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_input_taken taken;
        memcpy(&taken, frame->payload, sizeof taken);
        if (taken.bytes < c->input_taken || taken.bytes > c->input_sent)
                return -EBADMSG;
        c->input_taken = taken.bytes;
        if (taken.closed)
                close_and_forget(&c->input); /* nobody reads the rest: leave it to whoever else may */
        commands_pump_input(c);
        return 0;
}

static int on_sample(struct container *c, const struct received_frame *frame, struct container_event *event)
{
        memcpy(&c->sample, frame->payload, sizeof c->sample);
        c->sampled_at = clock_now();
        /*
         * Where no control group holds the memory, we do: at every sample, and the same word tells of it.
         * Files lie in memory too, but are not among what the init can add up of processes.
         */
        uint64_t disk = c->sample.disk_bytes == GUEST_NOT_MEASURED ? 0 : c->sample.disk_bytes;
        if (c->evidence.degraded & 1U << ENFORCE_CGROUP && c->oom_kills == 0 &&
            c->sample.memory_bytes != GUEST_NOT_MEASURED &&
            c->sample.memory_bytes + disk > c->spec->limits.mem_limit)
                c->oom_kills = 1;
        return 0;
}

static int on_counts(struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_counts counts;
        memcpy(&counts, frame->payload, sizeof counts);
        if (counts.oom_kills != GUEST_NOT_MEASURED)
                c->oom_kills = MAX(c->oom_kills, counts.oom_kills);
        if (counts.forks_refused != GUEST_NOT_MEASURED)
                c->forks_refused = MAX(c->forks_refused, counts.forks_refused);
        return 0; /* told by container_next() */
}

static int on_setup_failed(
    struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct setup_failure failure;
        memcpy(&failure, frame->payload, sizeof failure);
        const struct {
                char *text;
                size_t size;
        } texts[] = {{failure.setting, sizeof failure.setting}, {failure.message, sizeof failure.message},
            {failure.hint, sizeof failure.hint}};
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                for (size_t at = 0; at < texts[i].size && texts[i].text[at]; at++)
                        if ((unsigned char)texts[i].text[at] < ' ' || texts[i].text[at] == 0x7f)
                                texts[i].text[at] = '?';
        (void)failure_to_error(&failure, &c->error);
        return container_tell_failure(c, event);
}

/* ---- Files ---- */

static const char *const skip_reasons[] = {
    [GUEST_SKIP_NOT_REGULAR] = "not_regular",
    [GUEST_SKIP_TOO_LARGE] = "too_large",
    [GUEST_SKIP_TOO_MANY] = "too_many",
    [GUEST_SKIP_TOO_DEEP] = "too_deep",
    [GUEST_SKIP_UNREADABLE] = "unreadable",
    [GUEST_SKIP_HARD_LINK] = "hard_link",
};

static int tell_file(struct container *c, struct container_event *event)
{
        event->type = CONTAINER_FILE;
        event->file.path = c->file;
        event->file.path_size = c->file_path_size;
        event->file.data = c->file + c->file_path_size + 1;
        event->file.size = c->file_size;
        event->file.mode = c->file_mode;
        return 0;
}

static int on_file(struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_file head;
        memcpy(&head, frame->payload, sizeof head);
        if (head.path_size != frame->size - sizeof head || head.path_size == 0 ||
            head.path_size > GUEST_PATH_MAX || head.size > c->spec->limits.disk_limit)
                return -EBADMSG;
        free(c->file);
        c->file = malloc(head.path_size + 1 + (size_t)head.size);
        if (!c->file)
                return -ENOMEM;
        memcpy(c->file, frame->payload + sizeof head, head.path_size);
        c->file[head.path_size] = '\0';
        c->file_path_size = head.path_size;
        c->file_size = (size_t)head.size;
        c->file_have = 0;
        c->file_mode = head.mode & 0777;
        return head.size == 0 ? tell_file(c, event) : 0;
}

static int on_file_data(
    struct container *c, const struct received_frame *frame, struct container_event *event)
{
        if (!c->file || frame->size > c->file_size - c->file_have)
                return -EBADMSG;
        memcpy(c->file + c->file_path_size + 1 + c->file_have, frame->payload, frame->size);
        c->file_have += frame->size;
        return c->file_have == c->file_size ? tell_file(c, event) : 0;
}

static int on_file_skipped(
    struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_file_skipped head;
        memcpy(&head, frame->payload, sizeof head);
        if (head.path_size != frame->size - sizeof head)
                return -EBADMSG;
        event->type = CONTAINER_FILE_SKIPPED;
        event->file.path = frame->payload + sizeof head;
        event->file.path_size = head.path_size;
        event->file.data = NULL;
        event->file.size = 0;
        event->file.mode = 0;
        event->file.reason = head.reason < ARRAY_SIZE(skip_reasons) && skip_reasons[head.reason]
                                 ? skip_reasons[head.reason]
                                 : "other";
        return 0;
}

static int on_collected(
    struct container *c, const struct received_frame *frame, struct container_event *event)
{
        struct guest_collected message;
        memcpy(&message, frame->payload, sizeof message);
        c->collected = true;
        event->type = CONTAINER_COLLECTED;
        event->collected.files = message.files;
        event->collected.bytes = message.bytes;
        event->collected.skipped = message.skipped;
        return 0;
}

/* ---- The table of them ---- */

static const struct {
        uint16_t type;
        bool more; /* something follows the fixed part */
        uint32_t size;
        int (*take)(struct container *c, const struct received_frame *frame, struct container_event *event);
} frames[] = {
    {GUEST_READY, false, sizeof(struct guest_ready), on_ready},
    {GUEST_AT_GATE, false, sizeof(struct guest_at_gate), on_at_gate},
    {GUEST_EVIDENCE, false, sizeof(struct guest_evidence), on_evidence},
    {GUEST_STARTED, false, 0, on_started},
    {GUEST_EXEC_FAILED, false, sizeof(struct guest_exec_failed), on_exec_failed},
    {GUEST_EXITED, false, sizeof(struct guest_exited), on_exited},
    {GUEST_OUTPUT, true, sizeof(struct guest_stream), on_output},
    {GUEST_OUTPUT_END, false, sizeof(struct guest_stream), on_output_end},
    {GUEST_INPUT_TAKEN, false, sizeof(struct guest_input_taken), on_input_taken},
    {GUEST_SAMPLE, false, sizeof(struct guest_sample), on_sample},
    {GUEST_COUNTS, false, sizeof(struct guest_counts), on_counts},
    {GUEST_FILE, true, sizeof(struct guest_file), on_file},
    {GUEST_FILE_DATA, true, 0, on_file_data},
    {GUEST_FILE_SKIPPED, true, sizeof(struct guest_file_skipped), on_file_skipped},
    {GUEST_COLLECTED, false, sizeof(struct guest_collected), on_collected},
    {GUEST_SETUP_FAILED, false, sizeof(struct setup_failure), on_setup_failed},
};

int guest_take_frame(struct container *c, const struct received_frame *frame, struct container_event *event)
{
        for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
                if (frames[i].type == frame->type) {
                        bool fits =
                            frames[i].more ? frame->size >= frames[i].size : frame->size == frames[i].size;
                        return fits ? frames[i].take(c, frame, event) : -EBADMSG;
                }
        return -EBADMSG;
}
