/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the ledger's directory: their names and their text.
 *
 *   ID.SLOT.BACKEND   a container; the name alone tells what `prune` needs, should the text be damaged
 *   waiting.TICKET    a run in the queue; tickets are given in order of arrival
 *   new               a file being written, before it gets its name
 *   lock              held while the directory is read or changed
 *
 * The text is a heading, "key=value" lines in a fixed order, and "end". All of it must be as expected,
 * otherwise the record counts as damaged: it was cut short by a full disk or a crash of the host.
 */
#pragma once

#include "state/ledger.h"

#define RECORD_NAME_SIZE 64
#define RECORD_TEXT_MAX 1024
#define RECORD_BOOT_ID_SIZE 37
#define RECORD_SLOTS 65536U

/* What a file holds, container and waiting run alike. */
struct record_data {
        char id[LEDGER_ID_SIZE];
        char backend[16];
        char trust_level[64];
        char boot_id[RECORD_BOOT_ID_SIZE];
        char started_at[32];
        uint64_t slot;
        uint64_t pid;
        uint64_t micro_cpus; /* millionths: whole numbers add up exactly, and are the same in every locale */
        uint64_t memory;
        /* Only of a waiting run: */
        uint64_t ticket;
        uint64_t level_concurrency;
        uint64_t share_micro_cpus;
        uint64_t share_memory;
        uint64_t deadline; /* CLOCK_MONOTONIC, nanoseconds: after it the run counts no more, even if it is
                              stopped */
};

enum record_kind { RECORD_OTHER, RECORD_CONTAINER, RECORD_WAITING };

/* What a file's name tells: fills id, slot and backend, or the ticket. Others stay untouched. */
enum record_kind record_name_parse(const char *name, struct record_data *data);
void record_name_format(
    enum record_kind kind, const struct record_data *data, char ret_name[RECORD_NAME_SIZE]);

/* Returns the length, or -EINVAL for a value that a record can't hold (too long, control characters). */
int record_format(enum record_kind kind, const struct record_data *data, char ret_text[RECORD_TEXT_MAX]);

/* 0, or -EBADMSG when damaged; *ret is then untouched. */
int record_parse(enum record_kind kind, const char *text, struct record_data *ret);
