/* SPDX-License-Identifier: Apache-2.0 */
#include "guest/relay.h"

#include "guest/evidence.h"
#include "util/clock.h"

#include <sys/socket.h>

/* ---- The gate ---- */

static int open_streams(void *state, int ret_standard[3], int *ret_announce)
{
        struct relay *relay = state;
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        relay->announced = pair[0];
        *ret_announce = pair[1];
        return streams_open(&relay->streams, ret_standard);
}

/* The program's process is at the gate (or died on its way): what it said goes on, with what holds for it.
 */
static int on_announced(struct relay *relay)
{
        struct guest_at_gate message;
        char payload[sizeof message];
        struct guest_header header;
        _cleanup_(closep) int socket = take_fd(&relay->announced);
        if (fd_read_all(socket, &header, sizeof header) < 0 || header.type != GUEST_AT_GATE ||
            header.size != sizeof payload || fd_read_all(socket, payload, sizeof payload) < 0)
                return 0; /* its end is told by the signal */
        memcpy(&message, payload, sizeof message);
        struct link *link = &relay->queue->link;
        int r = link_send(link, GUEST_AT_GATE, &message, sizeof message, NULL, 0);
        if (r < 0)
                return r;
        struct guest_evidence evidence;
        const struct evidence_known known = {
            .landlock_abi = relay->landlock_abi, .no_ambient = relay->no_ambient};
        evidence_read(message.pid, &known, relay->writable, &relay->sampler.cgroup, &evidence);
        return link_send(link, GUEST_EVIDENCE, &evidence, sizeof evidence, NULL, 0);
}

/* ---- Samples ---- */

static int send_sample(struct relay *relay)
{
        struct link *link = &relay->queue->link;
        struct guest_sample sample;
        sampler_read(&relay->sampler, &sample);
        int r = link_send(link, GUEST_SAMPLE, &sample, sizeof sample, NULL, 0);
        struct guest_counts counts;
        if (r == 0 && sampler_counts(&relay->sampler, &counts))
                r = link_send(link, GUEST_COUNTS, &counts, sizeof counts, NULL, 0);
        return r;
}

/* Samples that nobody reads in time are worth nothing: they are left out, not queued. */
static int sample_if_due(struct relay *relay)
{
        uint64_t now = clock_now();
        if (relay->next_sample == 0 || now < relay->next_sample)
                return 0;
        relay->next_sample = now + relay->period;
        return queue_is_slow(relay->queue) ? 0 : send_sample(relay);
}

/* ---- What the init calls ---- */

static size_t watch(void *state, struct pollfd watched[INIT_EXTENSION_WATCH_MAX], int *timeout)
{
        struct relay *relay = state;
        watched[0] =
            (struct pollfd){.fd = relay->queue->ring.used > 0 ? relay->queue->out : -1, .events = POLLOUT};
        watched[1] = (struct pollfd){.fd = relay->announced, .events = POLLIN};
        if (relay->next_sample != 0) {
                uint64_t now = clock_now();
                uint64_t left = relay->next_sample > now ? relay->next_sample - now : 0;
                *timeout = (int)((left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
        }
        return 2 + streams_watch(&relay->streams, watched + 2, timeout);
}
_Static_assert(2 + STREAMS_WATCH_MAX <= INIT_EXTENSION_WATCH_MAX, "room for all");

static int handle(void *state, const struct pollfd *watched, size_t n)
{
        struct relay *relay = state;
        int r = watched[0].revents ? queue_flush(relay->queue) : 0;
        if (r == 0 && watched[1].revents)
                r = on_announced(relay);
        if (r == 0)
                r = streams_handle(&relay->streams, watched + 2, n - 2);
        return r < 0 ? r : sample_if_due(relay);
}

static int take_frame(void *state, uint16_t type, const char *payload, uint32_t size)
{
        struct relay *relay = state;
        if (type != GUEST_INPUT && type != GUEST_INPUT_END && type != GUEST_DISCARD)
                return 0;
        return streams_take_frame(&relay->streams, type, payload, size);
}

static void locked_down(void *state, const struct lockdown_state *lockdown)
{
        struct relay *relay = state;
        relay->landlock_abi = lockdown->landlock_abi;
        relay->no_ambient = lockdown->no_ambient;
}

static int tell(void *state, enum init_moment moment)
{
        struct relay *relay = state;
        switch (moment) {
        case INIT_RELEASED:
                relay->next_sample = relay->period ? clock_now() + relay->period : 0;
                return 0;
        case INIT_ENDED:
                relay->next_sample = 0;
                close_and_forget(&relay->announced); /* killed on its way to the gate */
                return send_sample(relay);
        case INIT_EXITED:
                return streams_finish(&relay->streams);
        }
        return 0;
}

int relay_init(struct relay *relay, struct queue *queue, const struct guest_configure *configure,
    const char *const *writable)
{
        *relay = (struct relay){
            .queue = queue,
            .writable = writable,
            .period = configure->sample_msec * NSEC_PER_MSEC,
            .announced = -1,
            .extension =
                {
                    .state = relay,
                    .locked_down = locked_down,
                    .watch = watch,
                    .handle = handle,
                    .open_streams = open_streams,
                    .take_frame = take_frame,
                    .tell = tell,
                },
        };
        sampler_open(&relay->sampler, writable);
        return streams_init(&relay->streams, queue);
}
