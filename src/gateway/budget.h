/* SPDX-License-Identifier: Apache-2.0 */
/* What a run has used of its limits. Each function takes something, or says which limit forbids it. */
#pragma once

#include "gateway/config.h"
#include "gateway/reason.h"

struct entry_use {
        uint64_t bytes;
        uint64_t files;
};

struct budget {
        const struct gateway_config *config;
        struct entry_use *entries; /* as many as the configuration has */
        uint64_t requests, denied, names, name_bytes, misses, fetches, files, urls, url_bytes, bytes,
            sent_bytes, received_bytes;
        double tokens;         /* of the rate */
        uint64_t tokens_since; /* clock_now() when they were counted */
};

int budget_init(struct budget *budget, const struct gateway_config *config);
void budget_clear(struct budget *budget);

/* A request was read. *ret_delay: nanoseconds it has to wait for its turn. */
enum reason budget_request(struct budget *budget, uint64_t now, uint64_t *ret_delay);

/* A name that no upstream has heard from us yet. */
enum reason budget_name(struct budget *budget, const char *name);

/* The upstream knew nothing of a name: the next one is refused once there were too many. */
void budget_miss(struct budget *budget);

enum reason budget_fetch(struct budget *budget);
enum reason budget_file(struct budget *budget, const struct index_entry *entry);
/* A URL of the web that was not asked for before, with so many characters that its prefix does not give. */
enum reason budget_url(struct budget *budget, const struct index_entry *entry, uint64_t rest);

/* What else of the guest's choice reaches a server of the web, in bytes. */
enum reason budget_url_bytes(struct budget *budget, uint64_t bytes);

enum reason budget_bytes(struct budget *budget, const struct index_entry *entry, uint64_t bytes);
enum reason budget_sent(struct budget *budget, uint64_t bytes);
