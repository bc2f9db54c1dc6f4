/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds at a trust level: the file's words for it,
 * the top level's, and the built-in values, in that order.
 */
#include "policy/values.h"

#include <math.h>

const struct policy_level *policy_find_level(const struct policy *policy, const char *name)
{
        for (size_t i = 0; i < policy->level_count; i++)
                if (strcmp(policy->levels[i].name, name) == 0)
                        return &policy->levels[i];
        return NULL;
}

const struct policy_value *policy_fallback(
    const struct policy *policy, enum level_kind kind, enum policy_key key)
{
        if (key <= KEY_MAX_CONCURRENT && policy->level_fallback[kind][key].set)
                return &policy->level_fallback[kind][key];
        return &policy->fallback->values[key];
}

const struct policy_value *policy_level_value(const struct policy *policy, const struct policy_level *level,
    enum policy_key key, enum origin *ret_origin)
{
        const struct policy_value *written = level->section ? &level->section->values[key] : NULL;
        const struct policy_value *top = &policy->top->values[key];
        enum origin origin = ORIGIN_BUILT_IN;
        const struct policy_value *value = policy_fallback(policy, level->kind, key);
        /*
         * What loosens for everybody does not loosen for code that nobody vouches for: it has to be said at
         * that level. The built-in value of every such key is the strictest there is.
         */
        bool keeps_strict = level->kind != LEVEL_PLAIN && policy_keys[key].combine == COMBINE_STRICTER;
        if (written && written->set) {
                value = written;
                origin = ORIGIN_LEVEL;
        } else if (top->set && !keeps_strict) {
                value = top;
                origin = ORIGIN_TOP;
        }
        if (ret_origin)
                *ret_origin = origin;
        return value;
}

const struct policy_value *policy_top_value(const struct policy *policy, enum policy_key key)
{
        const struct policy_value *top = &policy->top->values[key];
        return top->set ? top : policy_fallback(policy, LEVEL_PLAIN, key);
}

double policy_absolute(
    const struct key *key, const struct policy_value *value, const struct host_capacity *host)
{
        if (!value->relative)
                return value->number;
        if (!host)
                return NAN;
        if (key->type == TYPE_CPUS)
                return MAX(value->number * host->cpus, key->least);
        return MAX((double)(uint64_t)(value->number * (double)host->memory), key->least);
}

double policy_derived_cpu_time(double cpu_count, double timeout)
{
        return MIN(whole_cpus(cpu_count) * timeout + 1, policy_keys[KEY_CPU_TIME].most);
}

/*
 * The value as found by the order of the file; for untrusted
 * and unknown the smaller of built-in and top level.
 */
static void limit_as_given(const struct policy *policy, const struct policy_level *level,
    enum policy_key key, const struct host_capacity *host, struct effective *limit)
{
        const struct key *entry = &policy_keys[key];
        limit->value = policy_level_value(policy, level, key, &limit->origin);
        limit->number = policy_absolute(entry, limit->value, host);
        if (limit->origin == ORIGIN_LEVEL || level->kind == LEVEL_PLAIN)
                return;
        const struct policy_value *built_in = policy_fallback(policy, level->kind, key);
        if (limit->origin == ORIGIN_TOP && built_in->set && !(limit->number <= built_in->number)) {
                *limit = (struct effective){built_in, ORIGIN_BUILT_IN, built_in->number};
        }
}

static void derive_cpu_time(struct effective limits[KEY_MAX_CONCURRENT + 1], bool cap)
{
        struct effective *limit = &limits[KEY_CPU_TIME];
        double derived = policy_derived_cpu_time(limits[KEY_CPU_COUNT].number, limits[KEY_TIMEOUT].number);
        if (limit->value->set && (!cap || limit->number <= derived))
                return;
        limit->origin = ORIGIN_DERIVED;
        limit->number = derived;
}

void policy_level_limits(const struct policy *policy, const struct policy_level *level,
    const struct host_capacity *host, struct effective limits[KEY_MAX_CONCURRENT + 1])
{
        struct effective trusted[KEY_MAX_CONCURRENT + 1];
        bool below_trusted = level->kind != LEVEL_PLAIN;
        if (below_trusted)
                policy_level_limits(policy, policy_find_level(policy, "trusted"), host, trusted);
        for (enum policy_key key = 0; key <= KEY_MAX_CONCURRENT; key++) {
                limit_as_given(policy, level, key, host, &limits[key]);
                if (key == KEY_CPU_TIME)
                        derive_cpu_time(limits, below_trusted && limits[key].origin != ORIGIN_LEVEL);
                /*
                 * What the file does not say itself yields to
                 * `trusted`; what it does say is checked in check.c.
                 */
                if (below_trusted && limits[key].origin != ORIGIN_LEVEL &&
                    limits[key].number > trusted[key].number)
                        limits[key] =
                            (struct effective){trusted[key].value, ORIGIN_TRUSTED, trusted[key].number};
        }
        /* A file that only lowers the memory does not have to speak of the disk. */
        struct effective *disk = &limits[KEY_DISK_LIMIT], *memory = &limits[KEY_MEM_LIMIT];
        bool disk_given = disk->origin == ORIGIN_LEVEL || disk->origin == ORIGIN_TOP;
        if (!disk_given && disk->number > memory->number) {
                disk->origin = ORIGIN_DERIVED;
                disk->number = memory->number;
        }
}
