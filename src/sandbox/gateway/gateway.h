/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's end of a run's gateway (docs/GATEWAY.md): starting it, handing it the guest's sockets, and
 * hearing what it did. One process serves one run. It has no privileges and reads what the network sends, so
 * nothing that it says is believed beyond what is checked here, and it can't hold a run up.
 */
#pragma once

#include "policy/spec.h"
#include "protocol/gateway.h"
#include "util/error.h"
#include "util/strbuf.h"

#include <sys/types.h>

struct gateway_client; /* NULL: none */

enum gateway_verdict {
        GATEWAY_SERVED,
        GATEWAY_DENIED,
        GATEWAY_MISSING, /* no upstream knows it */
        GATEWAY_FAILED,  /* an upstream could not be read */
        GATEWAY_VERDICT_COUNT_,
};

enum gateway_event_type {
        GATEWAY_EVENT_NOTHING, /* nothing now: wait for the descriptor */
        GATEWAY_EVENT_READY,
        GATEWAY_EVENT_REQUEST,
        GATEWAY_EVENT_END,  /* it ended as it should, with its last figures */
        GATEWAY_EVENT_GONE, /* the stream has ended; no event comes after it */
};

#define GATEWAY_WORD_SIZE 32
#define GATEWAY_TEXT_SIZE 256

struct gateway_event {
        enum gateway_event_type type;
        /* REQUEST */
        enum gateway_verdict verdict;
        char reason[GATEWAY_WORD_SIZE];  /* a word of docs/GATEWAY.md; "" where there is none */
        char subject[GATEWAY_TEXT_SIZE]; /* the file or package, or the line that was refused; printable */
        bool file;                       /* the subject is a file, not a page */
        uint64_t bytes;
        /* END */
        uint64_t received_bytes, sent_bytes; /* from and to the guest */
};

/* Whether it is installed; ERROR_UNENFORCED where it is not. Cheap: asked before anything is made. */
int gateway_check(struct error *err);

/*
 * Starts it and returns at once. READY or the end of its stream follows. Secrets are read here, and reach it
 * by a pipe. ERROR_GATEWAY, or ERROR_POLICY where a secret can't be read.
 */
int gateway_start(const struct gateway_spec *spec, unsigned degraded_allowed, struct gateway_client **ret,
    struct error *err);

/* For polling; -1 when the stream has ended. */
int gateway_fd(const struct gateway_client *client);

/* Never blocks. -errno: what it says makes no sense, or it says too much. */
int gateway_next(struct gateway_client *client, struct gateway_event *ret);

/*
 * Hands it a listening socket or a connection of the guest; the descriptor stays the caller's. Does not
 * wait: -EAGAIN when it does not read.
 */
int gateway_hand_in(struct gateway_client *client, int fd);

/*
 * READY has come, and holds: no capabilities, no new privileges, a filter, Landlock, not root. *err says
 * what is missing (ERROR_MISMATCH).
 */
bool gateway_is_ready(const struct gateway_client *client);
int gateway_check_hardening(
    const struct gateway_client *client, unsigned degraded_allowed, struct error *err);

/* Lets it end; its last events can be read until GONE. Idempotent. */
void gateway_finish(struct gateway_client *client);

/* Waits for its end, by force after `deadline_msec`, and says how it went: "ended by signal 9", "...". */
void gateway_wait(struct gateway_client *client, unsigned deadline_msec);
const char *gateway_last_words(struct gateway_client *client, char buffer[GATEWAY_TEXT_SIZE * 2]);

struct gateway_client *gateway_free(struct gateway_client *client);

/* config.c: what it is told, as JSON. Holds secrets: wipe it. */
int gateway_config_text(const struct gateway_spec *spec, unsigned degraded_allowed, bool privileged,
    char **ret_text, struct error *err);

/* config.c: the directory above the cache, with all that is missing; the cache itself is the gateway's. */
int gateway_make_cache_parent(const char *cache, struct error *err);

/*
 * environment.c: what makes pip, uv and npm inside use it, as "K=V"; NULL-terminated. Caller frees the list
 * and its texts with gateway_environment_free(). NULL: out of memory.
 */
char **gateway_environment(const struct gateway_spec *spec);
char **gateway_environment_free(char **environment);
