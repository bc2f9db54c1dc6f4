/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the values of a policy have to say together:
 * contradictions, and weakenings that nobody signed for.
 */
#include "policy/values.h"

struct weakening {
        enum policy_key key;
        bool (*weak)(const struct policy_value *value);
};

static bool security_opt_weak(const struct policy_value *value)
{
        return !(value->bits & SECURITY_NO_NEW_PRIVILEGES) || (value->bits & SECURITY_SECCOMP_UNCONFINED);
}

static bool cap_drop_weak(const struct policy_value *value)
{
        return !(value->bits & CAPABILITIES_ALL);
}

static bool cap_add_weak(const struct policy_value *value)
{
        return value->bits != 0;
}

static bool read_only_weak(const struct policy_value *value)
{
        return !value->bits;
}

static const struct weakening weakenings[] = {
    {KEY_SECURITY_OPT, security_opt_weak},
    {KEY_CAP_DROP, cap_drop_weak},
    {KEY_CAP_ADD, cap_add_weak},
    {KEY_READ_ONLY, read_only_weak},
};

int policy_level_weakenings(const struct policy *policy, const struct policy_level *level, char ***ret)
{
        char **list = NULL;
        uint32_t count = 0;
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(weakenings); i++) {
                const struct policy_value *value =
                    policy_level_value(policy, level, weakenings[i].key, NULL);
                if (!weakenings[i].weak(value))
                        continue;
                _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(65536);
                r = strbuf_appendf(&text, "%s: ", policy_keys[weakenings[i].key].name);
                if (r == 0)
                        r = value_write(&policy_keys[weakenings[i].key], value, &text);
                if (r == 0)
                        r = strv_append(&list, &count, strbuf_text(&text));
        }
        if (r == 0 && !list) {
                list = calloc(1, sizeof *list);
                r = list ? 0 : -ENOMEM;
        }
        if (r < 0) {
                strv_free(list);
                return r;
        }
        *ret = list;
        return 0;
}

static int check_weakenings(const struct policy *policy, const struct policy_level *level, struct error *err)
{
        bool unsafe = policy_level_value(policy, level, KEY_UNSAFE, NULL)->bits;
        for (size_t i = 0; !unsafe && i < ARRAY_SIZE(weakenings); i++) {
                enum origin origin;
                const struct policy_value *value =
                    policy_level_value(policy, level, weakenings[i].key, &origin);
                if (!weakenings[i].weak(value))
                        continue;
                _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(65536);
                if (value_write(&policy_keys[weakenings[i].key], value, &text) < 0)
                        return error_oom(err);
                _cleanup_(freep) char *hint = NULL;
                if (asprintf(&hint, "write \"unsafe: true\" at %s%s too, if this is meant",
                        origin == ORIGIN_LEVEL ? "trust_levels." : "top level",
                        origin == ORIGIN_LEVEL ? level->name : "") < 0)
                        hint = NULL;
                return policy_fail(policy, value->line, value->column, hint, err,
                    "%s: found %s, which weakens trust level \"%s\"; expected \"unsafe: true\" beside it",
                    policy_keys[weakenings[i].key].name, strbuf_text(&text), level->name);
        }
        const struct policy_value *options = policy_level_value(policy, level, KEY_SECURITY_OPT, NULL);
        uint64_t both = SECURITY_SECCOMP_DEFAULT | SECURITY_SECCOMP_UNCONFINED;
        if ((options->bits & both) == both)
                return policy_fail(policy, options->line, options->column, NULL, err,
                    "security_opt: found both seccomp=default and seccomp=unconfined; expected one of them");
        return 0;
}

/*
 * `untrusted` and `unknown` above `trusted`. Compared where
 * both are absolute or both shares, or the host is known.
 */
static int check_below_trusted(const struct policy *policy, const struct policy_level *level,
    const struct effective *limits, const struct host_capacity *host, struct error *err)
{
        struct effective trusted[KEY_MAX_CONCURRENT + 1];
        policy_level_limits(policy, policy_find_level(policy, "trusted"), host, trusted);
        for (enum policy_key key = 0; key < KEY_LIMITS_END_; key++) {
                if (limits[key].origin != ORIGIN_LEVEL)
                        continue;
                const struct policy_value *value = limits[key].value;
                bool shares = value->relative && trusted[key].value->relative;
                bool above = shares ? value->number > trusted[key].value->number
                                    : limits[key].number > trusted[key].number;
                if (!above)
                        continue;
                _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(4096), ceiling = STRBUF_INIT(4096);
                struct policy_value plain = {.number = trusted[key].number};
                if (value_write(&policy_keys[key], value, &text) < 0 ||
                    value_write(&policy_keys[key], shares ? trusted[key].value : &plain, &ceiling) < 0)
                        return error_oom(err);
                return policy_fail(policy, value->line, value->column,
                    "code that nobody vouches for may not get more than trusted code", err,
                    "trust_levels.%s.%s: found %s; expected at most %s, which trust level \"trusted\" has",
                    level->name, policy_keys[key].name, strbuf_text(&text), strbuf_text(&ceiling));
        }
        return 0;
}

static int check_disk(const struct policy *policy, const struct policy_level *level,
    const struct effective *limits, struct error *err)
{
        const struct effective *disk = &limits[KEY_DISK_LIMIT], *memory = &limits[KEY_MEM_LIMIT];
        if (!(disk->number > memory->number))
                return 0;
        char disk_text[NUMBER_TEXT_MAX], memory_text[NUMBER_TEXT_MAX];
        /* The line to mend is the one that was written for this level, if there is one. */
        bool blame_memory = disk->origin != ORIGIN_LEVEL && memory->origin == ORIGIN_LEVEL;
        const struct policy_value *at = blame_memory ? memory->value : disk->value;
        return policy_fail(policy, at->line, at->column,
            "files lie in memory: lower disk_limit at that level, or raise mem_limit", err,
            "trust level \"%s\": found disk_limit of %s; expected at most its mem_limit of %s", level->name,
            value_number_text(&policy_keys[KEY_DISK_LIMIT], disk->number, disk_text),
            value_number_text(&policy_keys[KEY_MEM_LIMIT], memory->number, memory_text));
}

static int check_network(const struct policy *policy, const struct policy_level *level, struct error *err)
{
        const struct policy_value *mode = policy_level_value(policy, level, KEY_NETWORK_MODE, NULL);
        if (mode->bits == NETWORK_DEPENDENCIES && policy->top->values[KEY_WHITELIST].set &&
            policy->entry_count == 0)
                return policy_fail(policy, mode->line, mode->column, NULL, err,
                    "network_mode: found \"dependencies\" while network.whitelist is empty; expected an "
                    "entry there");
        return 0;
}

/* Whoever has the gateway's user could change what other runs find in the cache. */
static int check_gateway_user(const struct policy *policy, struct error *err)
{
        const struct policy_value *user = policy_top_value(policy, KEY_NETWORK_USER);
        uint32_t uid = (uint32_t)(user->bits >> 32);
        double base = policy_top_value(policy, KEY_UID_BASE)->number;
        if (uid < base || uid >= base + 65536)
                return 0;
        const struct policy_value *at = user->line > 0 ? user : policy_top_value(policy, KEY_UID_BASE);
        return policy_fail(policy, at->line, at->column, "choose another one, or another native.uid_base",
            err,
            "network.user: found uid %u, which is one of the 65536 from native.uid_base on; expected one "
            "that "
            "no container has",
            uid);
}

int policy_check_level(const struct policy *policy, const struct policy_level *level,
    const struct host_capacity *host, struct error *err)
{
        struct effective limits[KEY_MAX_CONCURRENT + 1];
        policy_level_limits(policy, level, host, limits);
        int r = 0;
        if (level->kind != LEVEL_PLAIN)
                r = check_below_trusted(policy, level, limits, host, err);
        if (r == 0)
                r = check_disk(policy, level, limits, err);
        return r;
}

int policy_check(const struct policy *policy, struct error *err)
{
        for (size_t i = 0; i < policy->level_count; i++) {
                int r = check_weakenings(policy, &policy->levels[i], err);
                if (r == 0)
                        r = check_network(policy, &policy->levels[i], err);
                if (r == 0)
                        r = policy_check_level(policy, &policy->levels[i], NULL, err);
                if (r < 0)
                        return r;
        }
        int r = check_gateway_user(policy, err);
        if (r < 0)
                return r;
        const struct policy_value *level = policy_top_value(policy, KEY_DEFAULT_TRUST_LEVEL);
        if (!policy_find_level(policy, level->text)) {
                const char *near = nearest_word(level->text, policy->level_names, policy->level_count);
                _cleanup_(freep) char *hint = NULL;
                if (near && asprintf(&hint, "did you mean \"%s\"?", near) < 0)
                        hint = NULL;
                return policy_fail(policy, level->line, level->column, hint, err,
                    "allocation.default_trust_level: found \"%s\"; expected one of the trust levels",
                    level->text);
        }
        return 0;
}
