/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/budget.h"

#include "util/clock.h"

int budget_init(struct budget *budget, const struct gateway_config *config)
{
        *budget = (struct budget){
            .config = config, .tokens = (double)config->limits.burst, .tokens_since = clock_now()};
        budget->entries = calloc(config->entry_count, sizeof *budget->entries);
        return budget->entries ? 0 : -ENOMEM;
}

void budget_clear(struct budget *budget)
{
        free(budget->entries);
        budget->entries = NULL;
}

/* Takes `amount` of what a limit allows, or nothing. */
static bool take(uint64_t *used, uint64_t amount, uint64_t limit)
{
        if (*used > limit || amount > limit - *used)
                return false;
        *used += amount;
        return true;
}

static struct entry_use *use_of(struct budget *budget, const struct index_entry *entry)
{
        return &budget->entries[entry - budget->config->entries];
}

enum reason budget_request(struct budget *budget, uint64_t now, uint64_t *ret_delay)
{
        const struct gateway_limits *limits = &budget->config->limits;
        double rate = (double)limits->rate;
        *ret_delay = 0;
        if (!take(&budget->requests, 1, limits->requests))
                return REASON_LIMIT_REQUESTS;
        budget->tokens += (double)(now - budget->tokens_since) / 1e9 * rate;
        budget->tokens = MIN(budget->tokens, (double)limits->burst) - 1;
        budget->tokens_since = now;
        if (budget->tokens < 0)
                *ret_delay = (uint64_t)(-budget->tokens / rate * 1e9);
        return REASON_NONE;
}

enum reason budget_name(struct budget *budget, const char *name)
{
        const struct gateway_limits *limits = &budget->config->limits;
        if (budget->misses >= limits->misses)
                return REASON_LIMIT_MISSES;
        if (budget->names >= limits->names)
                return REASON_LIMIT_NAMES;
        if (!take(&budget->name_bytes, strlen(name), limits->name_bytes))
                return REASON_LIMIT_NAME_BYTES;
        budget->names++;
        return REASON_NONE;
}

void budget_miss(struct budget *budget)
{
        budget->misses++;
}

enum reason budget_fetch(struct budget *budget)
{
        return take(&budget->fetches, 1, budget->config->limits.fetches) ? REASON_NONE
                                                                         : REASON_LIMIT_FETCHES;
}

enum reason budget_file(struct budget *budget, const struct index_entry *entry)
{
        struct entry_use *use = use_of(budget, entry);
        if (use->files >= entry->max_files || !take(&budget->files, 1, budget->config->limits.files))
                return REASON_LIMIT_FILES;
        use->files++;
        return REASON_NONE;
}

enum reason budget_url_bytes(struct budget *budget, uint64_t bytes)
{
        return take(&budget->url_bytes, bytes, budget->config->limits.url_bytes) ? REASON_NONE
                                                                                 : REASON_LIMIT_URL_BYTES;
}

enum reason budget_url(struct budget *budget, const struct index_entry *entry, uint64_t rest)
{
        struct entry_use *use = use_of(budget, entry);
        if (use->files >= entry->max_files || budget->urls >= budget->config->limits.urls)
                return REASON_LIMIT_URLS;
        enum reason reason = budget_url_bytes(budget, rest);
        if (reason != REASON_NONE)
                return reason;
        use->files++;
        budget->urls++;
        return REASON_NONE;
}

enum reason budget_bytes(struct budget *budget, const struct index_entry *entry, uint64_t bytes)
{
        struct entry_use *use = use_of(budget, entry);
        if (!take(&use->bytes, bytes, entry->max_bytes))
                return REASON_LIMIT_BYTES;
        return take(&budget->bytes, bytes, budget->config->limits.bytes) ? REASON_NONE : REASON_LIMIT_BYTES;
}

enum reason budget_sent(struct budget *budget, uint64_t bytes)
{
        return take(&budget->sent_bytes, bytes, budget->config->limits.sent_bytes) ? REASON_NONE
                                                                                   : REASON_LIMIT_BYTES;
}
