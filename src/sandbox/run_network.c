/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/run_network.h"

#include "sandbox/run.h"
#include "util/clock.h"

#include <poll.h>

/* It ends as soon as it is told to; one that does not is killed. */
#define FINISH_DEADLINE (2 * NSEC_PER_SEC)

/* Entries of a result that name what was asked for; what comes on top is counted under its reason alone, so
 * that a program can't push other events out of the result. */
#define DENIALS_NAMED_MAX 32U
#define OUTCOMES_NAMED_MAX 128U

/* Events taken in one go, so that one part of a run does not starve the others. */
#define EVENTS_PER_TURN 64U

static const struct {
        const char *kind;
        const char *detail_key;
} notes[GATEWAY_VERDICT_COUNT_] = {
    [GATEWAY_SERVED] = {"network_fetched", "file"},
    [GATEWAY_DENIED] = {"network_denied", "request"},
    [GATEWAY_MISSING] = {"network_missing", "package"},
    [GATEWAY_FAILED] = {"network_failed", "request"},
};

static void fail(struct run *run, enum error_code code, const char *hint, const char *what)
{
        char words[GATEWAY_TEXT_SIZE * 2];
        struct error err = {};
        struct gateway_client *client = run->network.client;
        gateway_finish(client);
        gateway_wait(client, 200);
        (void)error_set(&err, code, 0, hint, "network_mode: the package gateway %s: %s", what,
            gateway_last_words(client, words));
        run_fail(run, &err);
}

void run_network_start(struct run *run)
{
        if (run->spec->network == NETWORK_NONE)
                return;
        struct error err = {};
        struct run_network *network = &run->network;
        network->environment = gateway_environment(run->spec->gateway);
        if (!network->environment)
                run_fail_oom(run);
        else if (gateway_start(run->spec->gateway, run->spec->degraded_allowed, &network->client, &err) < 0)
                run_fail(run, &err);
}

bool run_network_delays_gate(struct run *run)
{
        struct gateway_client *client = run->network.client;
        run->network.gate_waits = client && !gateway_is_ready(client);
        return run->network.gate_waits;
}

int run_network_fd(const struct run *run)
{
        return run->network.client ? gateway_fd(run->network.client) : -1;
}

static void on_ready(struct run *run)
{
        struct error err = {};
        if (gateway_check_hardening(run->network.client, run->spec->degraded_allowed, &err) < 0)
                run_fail(run, &err);
        else if (run->network.gate_waits && run->phase == PHASE_STARTING) {
                run->network.gate_waits = false;
                run_release_gate(run);
        }
}

static void on_request(struct run *run, const struct gateway_event *event)
{
        /* Pages are the way to the files, and no news. */
        if (event->verdict == GATEWAY_SERVED && !event->file)
                return;
        bool denied = event->verdict == GATEWAY_DENIED;
        bool named = run->network.named[denied] < (denied ? DENIALS_NAMED_MAX : OUTCOMES_NAMED_MAX);
        run->network.named[denied] += named;
        run_note(run, &(struct event_note){.kind = notes[event->verdict].kind,
                          .detail_key = named ? notes[event->verdict].detail_key : NULL,
                          .detail = named ? event->subject : NULL,
                          .detail_size = named ? strlen(event->subject) : 0,
                          .reason = event->reason[0] ? event->reason : NULL,
                          .count = 1,
                          .has_bytes = event->verdict == GATEWAY_SERVED,
                          .bytes = event->bytes});
}

/* Gone before its time: nothing that the program does from now on is what it would have done. */
static void on_gone(struct run *run)
{
        if (run->phase > PHASE_KILLING || run->exited)
                return; /* the program's outcome is known */
        fail(run, ERROR_GATEWAY, "try again; nothing of the run is left",
            run->phase < PHASE_RUNNING ? "did not start" : "ended unexpectedly");
}

static void take(struct run *run, const struct gateway_event *event)
{
        switch (event->type) {
        case GATEWAY_EVENT_READY:
                on_ready(run);
                break;
        case GATEWAY_EVENT_REQUEST:
                on_request(run, event);
                break;
        case GATEWAY_EVENT_END:
                run->network.ended = true;
                run->network.received_bytes = event->received_bytes;
                run->network.sent_bytes = event->sent_bytes;
                break;
        case GATEWAY_EVENT_GONE:
                on_gone(run);
                break;
        case GATEWAY_EVENT_NOTHING:
                break;
        }
}

/* Whether there may be more. */
static bool take_one(struct run *run)
{
        struct gateway_event event;
        int r = gateway_next(run->network.client, &event);
        if (r < 0) {
                if (run->phase <= PHASE_KILLING && !run->exited)
                        fail(run, ERROR_GATEWAY, NULL, "sent a malformed message");
                return false;
        }
        take(run, &event);
        return event.type != GATEWAY_EVENT_NOTHING && event.type != GATEWAY_EVENT_GONE;
}

void run_network_take_events(struct run *run)
{
        for (unsigned i = 0; i < EVENTS_PER_TURN && run->network.client && take_one(run); i++) {
        }
}

void run_network_on_socket(struct run *run, struct container_event *event)
{
        /* One that can't be handed in is closed: the guest sees a connection that was reset. */
        if (run->network.client)
                (void)gateway_hand_in(run->network.client, event->socket);
        (void)close(event->socket);
}

void run_network_finish(struct run *run)
{
        struct gateway_client *client = run->network.client;
        if (client) {
                uint64_t deadline = clock_now() + FINISH_DEADLINE;
                gateway_finish(client);
                while (gateway_fd(client) >= 0 && clock_now() < deadline) {
                        struct pollfd poller = {.fd = gateway_fd(client), .events = POLLIN};
                        (void)poll(&poller, 1, 100);
                        while (take_one(run)) {
                        }
                }
                gateway_wait(client, gateway_fd(client) < 0 ? 500 : 0);
                if (run->network.ended && run->started_at > 0) {
                        run->result->usage.net_rx_bytes = run->network.sent_bytes;
                        run->result->usage.net_tx_bytes = run->network.received_bytes;
                }
        }
        run->network.client = gateway_free(client);
        run->network.environment = gateway_environment_free(run->network.environment);
}
