/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/streams.h"

#include "util/clock.h"

#include <fcntl.h>

/* Input is acknowledged in portions of this size, so that a window always has room for more while the
 * program reads. */
#define ACKNOWLEDGE_AT (GUEST_INPUT_WINDOW / 4)

int streams_init(struct streams *streams, struct queue *queue)
{
        *streams = (struct streams){.queue = queue, .output = {-1, -1}, .input = -1};
        streams->buffer = malloc(GUEST_OUTPUT_MAX);
        return streams->buffer ? ring_open(&streams->waiting, GUEST_INPUT_WINDOW) : -ENOMEM;
}

int streams_open(struct streams *streams, int ret_standard[3])
{
        int ends[3][2];
        for (int i = 0; i < 3; i++)
                if (pipe2(ends[i], O_CLOEXEC) < 0)
                        return -errno; /* the container ends: nothing to close */
        /* Our ends alone: the flag is the open file's, and the program's ends are others. */
        int ours[3] = {ends[0][1], ends[1][0], ends[2][0]};
        for (int i = 0; i < 3; i++) {
                int r = fd_set_nonblocking(ours[i], true);
                if (r < 0)
                        return r;
        }
        ret_standard[0] = ends[0][0];
        ret_standard[1] = ends[1][1];
        ret_standard[2] = ends[2][1];
        streams->input = ours[0];
        streams->output[GUEST_STDOUT] = ours[1];
        streams->output[GUEST_STDERR] = ours[2];
        return 0;
}

/* ---- Output ---- */

static bool can_take(const struct streams *streams, unsigned number)
{
        return streams->output[number] >= 0 &&
               (streams->discard[number] ||
                   queue_room(streams->queue) >= GUEST_OUTPUT_MAX + sizeof(struct guest_stream));
}

static int end_output(struct streams *streams, unsigned number)
{
        close_and_forget(&streams->output[number]);
        struct guest_stream head = {.stream = number};
        return link_send(&streams->queue->link, GUEST_OUTPUT_END, &head, sizeof head, NULL, 0);
}

static int take_output(struct streams *streams, unsigned number)
{
        ssize_t n = read(streams->output[number], streams->buffer, GUEST_OUTPUT_MAX);
        if (n < 0 && errno == EINTR)
                return 0;
        if (n < 0 && errno == EAGAIN) {
                /* Empty, but somebody holds it open: a process that is stuck in the kernel, if we have
                 * killed all. */
                bool over = streams->deadline != 0 && clock_now() >= streams->deadline;
                return over ? end_output(streams, number) : 0;
        }
        if (n <= 0)
                return end_output(streams, number);
        if (streams->discard[number])
                return 0;
        struct guest_stream head = {.stream = number};
        return link_send(
            &streams->queue->link, GUEST_OUTPUT, &head, sizeof head, streams->buffer, (size_t)n);
}

/* ---- Input ---- */

static int acknowledge(struct streams *streams, bool always)
{
        if (!always && streams->taken - streams->acknowledged < ACKNOWLEDGE_AT)
                return 0;
        streams->acknowledged = streams->taken;
        struct guest_input_taken message = {.bytes = streams->taken, .closed = streams->input_closed};
        return link_send(&streams->queue->link, GUEST_INPUT_TAKEN, &message, sizeof message, NULL, 0);
}

/* The program has closed its end, or has ended: whatever still comes is taken and dropped. */
static int close_input(struct streams *streams)
{
        close_and_forget(&streams->input);
        streams->input_closed = true;
        streams->taken += streams->waiting.used;
        ring_close(&streams->waiting);
        return acknowledge(streams, true);
}

static int pass_input(struct streams *streams)
{
        if (streams->input < 0)
                return 0;
        ssize_t n = ring_write(&streams->waiting, streams->input);
        if (n < 0)
                return close_input(streams);
        streams->taken += (uint64_t)n;
        if (streams->input_ended && streams->waiting.used == 0)
                close_and_forget(&streams->input);
        return acknowledge(streams, false);
}

static int take_input(struct streams *streams, const char *payload, uint32_t size)
{
        if (streams->input_ended || (streams->input < 0 && !streams->input_closed))
                return -EBADMSG; /* after its end, or before SPEC_END */
        if (streams->input_closed) {
                streams->taken += size;
                return acknowledge(streams, false);
        }
        if (size > GUEST_INPUT_WINDOW - (streams->taken - streams->acknowledged) - streams->waiting.used)
                return -EBADMSG;
        (void)ring_put(&streams->waiting, payload, size);
        return pass_input(streams);
}

static int take_input_end(struct streams *streams)
{
        if (streams->input_ended || (streams->input < 0 && !streams->input_closed))
                return -EBADMSG;
        streams->input_ended = true;
        return pass_input(streams);
}

/* ---- Both ---- */

size_t streams_watch(struct streams *streams, struct pollfd watched[STREAMS_WATCH_MAX], int *timeout)
{
        bool more = false;
        for (unsigned number = 0; number < GUEST_STREAM_COUNT_; number++) {
                bool wanted = can_take(streams, number);
                watched[number] =
                    (struct pollfd){.fd = wanted ? streams->output[number] : -1, .events = POLLIN};
                more = more || wanted;
        }
        /* Without anything to write only its end is of interest, which poll() always tells. */
        watched[GUEST_STREAM_COUNT_] =
            (struct pollfd){.fd = streams->input, .events = streams->waiting.used > 0 ? POLLOUT : 0};
        if (more && streams->deadline != 0) {
                uint64_t now = clock_now();
                uint64_t left = streams->deadline > now ? streams->deadline - now : 0;
                int msec = (int)(left / NSEC_PER_MSEC) + (left > 0);
                *timeout = *timeout < 0 ? msec : MIN(*timeout, msec);
        }
        return STREAMS_WATCH_MAX;
}

int streams_handle(struct streams *streams, const struct pollfd *watched, size_t n)
{
        (void)n;
        bool over = streams->deadline != 0 && clock_now() >= streams->deadline;
        for (unsigned number = 0; number < GUEST_STREAM_COUNT_; number++) {
                if (!can_take(streams, number) || !(watched[number].revents || over))
                        continue;
                int r = take_output(streams, number);
                if (r < 0)
                        return r;
        }
        if (streams->input < 0 || !watched[GUEST_STREAM_COUNT_].revents)
                return 0;
        return watched[GUEST_STREAM_COUNT_].revents & POLLERR ? close_input(streams) : pass_input(streams);
}

int streams_take_frame(struct streams *streams, uint16_t type, const char *payload, uint32_t size)
{
        int r;
        if (type == GUEST_INPUT) {
                r = take_input(streams, payload, size);
        } else if (type == GUEST_INPUT_END) {
                r = size == 0 ? take_input_end(streams) : -EBADMSG;
        } else {
                struct guest_stream which;
                if (size != sizeof which)
                        return -EBADMSG;
                memcpy(&which, payload, sizeof which);
                if (which.stream >= GUEST_STREAM_COUNT_)
                        return -EBADMSG;
                streams->discard[which.stream] = true;
                r = 0;
        }
        return r < 0 ? r : 1;
}

int streams_finish(struct streams *streams)
{
        streams->deadline = clock_now() + GUEST_DRAIN_MSEC * NSEC_PER_MSEC;
        return streams->input >= 0 ? close_input(streams) : 0;
}
