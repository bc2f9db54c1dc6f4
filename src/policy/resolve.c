/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy + trust level + request + host -> container spec. The policy is the ceiling: a request may lower a
 * limit or choose among what the policy lists, and nothing else.
 */
#include "policy/resolve_network.h"

#include <math.h>

#define ENVIRONMENT_MAX 1024

struct resolution {
        const struct policy *policy;
        const struct policy_level *level;
        const struct policy_request *request;
        struct host_capacity host;
        struct effective limits[KEY_MAX_CONCURRENT + 1];
        struct container_spec *spec;
        struct error *err;
};

/* A limit's place in the request and in the spec. Exactly one of the last two is used. */
static const struct {
        enum policy_key key;
        size_t request;
        size_t number; /* of a double in struct limits, or SIZE_MAX */
        size_t whole;  /* of a uint64_t in struct limits, or SIZE_MAX */
} limit_places[] = {
#define PLACE(KEY, member, number, whole)                                                                   \
        {                                                                                                   \
                KEY, offsetof(struct policy_request, member), number, whole                                 \
        }
#define NUMBER(KEY, member) PLACE(KEY, member, offsetof(struct limits, member), SIZE_MAX)
#define WHOLE(KEY, member) PLACE(KEY, member, SIZE_MAX, offsetof(struct limits, member))
    NUMBER(KEY_CPU_COUNT, cpu_count),
    WHOLE(KEY_MEM_LIMIT, mem_limit),
    NUMBER(KEY_TIMEOUT, timeout),
    NUMBER(KEY_CPU_TIME, cpu_time),
    WHOLE(KEY_PIDS_LIMIT, pids_limit),
    WHOLE(KEY_DISK_LIMIT, disk_limit),
    WHOLE(KEY_INODE_LIMIT, inode_limit),
    WHOLE(KEY_OUTPUT_LIMIT, output_limit),
    WHOLE(KEY_OPEN_FILES, open_files),
#undef WHOLE
#undef NUMBER
#undef PLACE
};
_Static_assert(ARRAY_SIZE(limit_places) == KEY_LIMITS_END_, "every limit has its place");

/* "timeout", or "mem_limit (--memory)" where the option has another name. */
static const char *option_name(const struct key *key, char buffer[KEY_PATH_MAX])
{
        (void)snprintf(buffer, KEY_PATH_MAX, "%s%s%s%s", key->name, key->option ? " (" : "",
            key->option ? key->option : "", key->option ? ")" : "");
        return buffer;
}

/* Where a ceiling was written, for the one who wonders. */
static int origin_text(const struct resolution *res, enum policy_key key, enum origin origin,
    const struct policy_value *value, char **ret)
{
        const char *name = policy_keys[key].name;
        const char *dot = origin == ORIGIN_LEVEL ? "." : "";
        const char *level = origin == ORIGIN_LEVEL ? res->level->name : "";
        int n;
        if (strcmp(res->policy->path, "built-in") == 0 || !value || value->line == 0)
                n = asprintf(ret, "%s%s%s%s%s in built-in policy",
                    origin == ORIGIN_LEVEL ? "trust_levels" : "", dot, level, dot, name);
        else
                n = asprintf(ret, "%s%s%s%s%s at %s:%u:%u", origin == ORIGIN_LEVEL ? "trust_levels" : "",
                    dot, level, dot, name, res->policy->path, value->line, value->column);
        if (n < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int find_level(struct resolution *res)
{
        const char *name = res->request->trust_level;
        if (!name)
                name = policy_top_value(res->policy, KEY_DEFAULT_TRUST_LEVEL)->text;
        res->level = policy_find_level(res->policy, name);
        if (res->level)
                return 0;

        char text[QUOTED_MAX];
        _cleanup_(strbuf_clear) struct strbuf known = STRBUF_INIT(4096);
        for (size_t i = 0; i < res->policy->level_count; i++)
                if (strbuf_appendf(&known, "%s%s", i > 0 ? ", " : "", res->policy->level_names[i]) < 0)
                        return error_oom(res->err);
        const char *near = nearest_word(name, res->policy->level_names, res->policy->level_count);
        _cleanup_(freep) char *hint = NULL;
        if (near && asprintf(&hint, "did you mean \"%s\"?", near) < 0)
                hint = NULL;
        return error_set(res->err, ERROR_REFUSED, 0, hint,
            "trust level %s is not in the policy, which knows: %s", quoted(name, text), strbuf_text(&known));
}

static int refuse_looser(struct resolution *res, enum policy_key key, const char *asked)
{
        const struct key *entry = &policy_keys[key];
        const struct effective *limit = &res->limits[key];
        char text[QUOTED_MAX], ceiling[NUMBER_TEXT_MAX];
        _cleanup_(freep) char *origin = NULL;
        _cleanup_(freep) char *hint = NULL;
        value_number_text(entry, limit->number, ceiling);
        if (origin_text(res, key, limit->origin, limit->value, &origin) < 0 ||
            asprintf(&hint, "ask for at most %s, or raise trust_levels.%s.%s in the policy", ceiling,
                res->level->name, entry->name) < 0) {
                hint = NULL;
                return error_oom(res->err);
        }
        quoted(asked, text);
        return error_set(res->err, ERROR_REFUSED, 0, hint,
            "%s: %.*s was asked for, but trust level \"%s\" allows at most %s (%s)", entry->name,
            (int)strlen(text) - 2, text + 1, res->level->name, ceiling, origin);
}

static int request_limits(struct resolution *res)
{
        for (size_t i = 0; i < ARRAY_SIZE(limit_places); i++) {
                enum policy_key key = limit_places[i].key;
                const struct key *entry = &policy_keys[key];
                const char *asked;
                memcpy(&asked, (const char *)res->request + limit_places[i].request, sizeof asked);
                if (!asked)
                        continue;
                struct policy_value value = {};
                if (value_read(entry, asked, &value) < 0) {
                        char name[KEY_PATH_MAX], text[QUOTED_MAX], wanted[EXPECTED_MAX];
                        return error_set(res->err, ERROR_USAGE, 0, NULL, "%s: found %s; expected %s",
                            option_name(entry, name), quoted(asked, text), value_expected(entry, wanted));
                }
                double number = policy_absolute(entry, &value, &res->host);
                if (number > res->limits[key].number)
                        return refuse_looser(res, key, asked);
                res->limits[key].number = number;
                if (key == KEY_CPU_TIME)
                        res->limits[key].origin = ORIGIN_LEVEL; /* as asked for: no longer derived */
        }
        return 0;
}

/* What the host does not have cannot be given; and what hangs together goes down together. */
static void lower_to_host(struct resolution *res)
{
        struct effective *limits = res->limits;
        limits[KEY_CPU_COUNT].number = MIN(limits[KEY_CPU_COUNT].number, (double)res->host.cpus);
        limits[KEY_MEM_LIMIT].number = MIN(limits[KEY_MEM_LIMIT].number, (double)res->host.memory);
        limits[KEY_DISK_LIMIT].number = MIN(limits[KEY_DISK_LIMIT].number, limits[KEY_MEM_LIMIT].number);
        if (limits[KEY_CPU_TIME].origin == ORIGIN_DERIVED) {
                double derived =
                    policy_derived_cpu_time(limits[KEY_CPU_COUNT].number, limits[KEY_TIMEOUT].number);
                limits[KEY_CPU_TIME].number = MIN(limits[KEY_CPU_TIME].number, derived);
        }
        for (size_t i = 0; i < ARRAY_SIZE(limit_places); i++) {
                double number = limits[limit_places[i].key].number;
                char *base = (char *)&res->spec->limits;
                if (limit_places[i].number != SIZE_MAX)
                        *(double *)(void *)(base + limit_places[i].number) = number;
                else
                        *(uint64_t *)(void *)(base + limit_places[i].whole) = (uint64_t)number;
        }
}

static int refuse_choice(struct resolution *res, enum policy_key key, enum policy_key list,
    const char *asked, const struct strbuf *allowed)
{
        char text[QUOTED_MAX];
        _cleanup_(freep) char *hint = NULL;
        if (asprintf(&hint, "add it to trust_levels.%s.%s in the policy, if it shall be allowed",
                res->level->name, policy_keys[list].name) < 0)
                hint = NULL;
        return error_set(res->err, ERROR_REFUSED, 0, hint,
            "%s: %s was asked for, but trust level \"%s\" allows: %s (%s)", policy_keys[key].name,
            quoted(asked, text), res->level->name, strbuf_text(allowed), res->policy->path);
}

static int choose_backend(struct resolution *res)
{
        const char *const *words = policy_keys[KEY_BACKEND].words;
        uint64_t own = policy_level_value(res->policy, res->level, KEY_BACKEND, NULL)->bits;
        uint64_t allowed =
            policy_level_value(res->policy, res->level, KEY_BACKENDS, NULL)->bits | UINT64_C(1) << own;
        const char *asked = res->request->backend ? res->request->backend : words[own];
        _cleanup_(strbuf_clear) struct strbuf names = STRBUF_INIT(256);
        for (unsigned i = 0; words[i]; i++) {
                if (!(allowed & UINT64_C(1) << i))
                        continue;
                if (strcmp(asked, words[i]) == 0) {
                        res->spec->backend = strdup(words[i]);
                        return res->spec->backend ? 0 : error_oom(res->err);
                }
                if (strbuf_appendf(&names, "%s%s", names.size > 0 ? ", " : "", words[i]) < 0)
                        return error_oom(res->err);
        }
        return refuse_choice(res, KEY_BACKEND, KEY_BACKENDS, asked, &names);
}

/*
 * A name that the policy gives (`own`; NULL: none) or, if it is in the policy's list, the request. *ret is a
 * copy, NULL where there is none.
 */
static int choose_name(struct resolution *res, enum policy_key key, enum policy_key list_key,
    const char *own, const char *asked, char **ret)
{
        const struct policy_value *list = policy_level_value(res->policy, res->level, list_key, NULL);
        _cleanup_(strbuf_clear) struct strbuf names = STRBUF_INIT(POLICY_SIZE_MAX);
        asked = asked ? asked : own;
        if (!asked)
                return 0;
        bool allowed = own && strcmp(asked, own) == 0;
        int r = own ? strbuf_append_text(&names, own) : 0;
        for (size_t i = 0; r == 0 && i < list->item_count; i++) {
                allowed |= strcmp(asked, list->items[i]) == 0;
                r = strbuf_appendf(&names, "%s%s", names.size > 0 ? ", " : "", list->items[i]);
        }
        if (r == 0 && names.size == 0)
                r = strbuf_append_text(&names, "none");
        if (r < 0)
                return error_oom(res->err);
        if (!allowed)
                return refuse_choice(res, key, list_key, asked, &names);
        *ret = strdup(asked);
        return *ret ? 0 : error_oom(res->err);
}

static int choose_image(struct resolution *res)
{
        const char *own = policy_level_value(res->policy, res->level, KEY_IMAGE, NULL)->text;
        return choose_name(res, KEY_IMAGE, KEY_IMAGES, own, res->request->image, &res->spec->image);
}

/* The level's own word goes before the engine's group. */
static int choose_runtime(struct resolution *res)
{
        const char *level = policy_level_value(res->policy, res->level, KEY_RUNTIME, NULL)->text;
        const char *engine = policy_top_value(res->policy, KEY_DOCKER_RUNTIME)->text;
        const char *asked = res->request->runtime;
        bool docker = strcmp(res->spec->backend, "docker") == 0;
        level = level && level[0] ? level : NULL;
        engine = engine && engine[0] ? engine : NULL;
        if (!docker && (level || asked))
                /* Whoever names a second kernel must not get the first one. */
                return error_set(res->err, ERROR_REFUSED, 0, "choose backend: docker, or name no runtime",
                    "runtime: \"%s\" was asked for, which the %s backend can't use", asked ? asked : level,
                    res->spec->backend);
        if (!docker)
                return 0;
        return choose_name(
            res, KEY_RUNTIME, KEY_RUNTIMES, level ? level : engine, asked, &res->spec->docker_runtime);
}

/* Sets "NAME=VALUE", over an earlier one of that name. */
static int set_variable(char ***environment, uint32_t *count, const char *assignment)
{
        size_t name_size = strcspn(assignment, "=") + 1;
        for (size_t i = 0; i < *count; i++) {
                if (strncmp((*environment)[i], assignment, name_size) != 0)
                        continue;
                char *copy = strdup(assignment);
                if (!copy)
                        return -ENOMEM;
                free((*environment)[i]);
                (*environment)[i] = copy;
                return 0;
        }
        return strv_append(environment, count, assignment);
}

static int merge_environment(struct resolution *res)
{
        const struct policy_value *policy_env = policy_level_value(res->policy, res->level, KEY_ENV, NULL);
        char ***environment = &res->spec->environment;
        uint32_t count = 0;
        int r = 0;
        for (size_t i = 0; r == 0 && i < policy_env->item_count; i++)
                r = strv_append(environment, &count, policy_env->items[i]);
        const char *const *asked = res->request->environment;
        for (size_t i = 0; r == 0 && asked && asked[i]; i++) {
                const char *equals = strchr(asked[i], '=');
                char text[QUOTED_MAX];
                if (!equals || !environment_name_valid(asked[i], (size_t)(equals - asked[i])))
                        return error_set(res->err, ERROR_USAGE, 0, NULL,
                            "env: found %s; expected NAME=VALUE, the name of letters, digits and _",
                            quoted(asked[i], text));
                if (i == ENVIRONMENT_MAX)
                        return error_set(res->err, ERROR_USAGE, 0, NULL, "env: found more than %d variables",
                            ENVIRONMENT_MAX);
                r = set_variable(environment, &count, asked[i]);
        }
        if (r == 0 && !*environment) {
                *environment = calloc(1, sizeof **environment);
                r = *environment ? 0 : -ENOMEM;
        }
        return r < 0 ? error_oom(res->err) : 0;
}

static int allow_degraded(struct resolution *res)
{
        const char *const *asked = res->request->allow_degraded;
        for (size_t i = 0; asked && asked[i]; i++) {
                const char *names[ENFORCEMENT_COUNT_];
                unsigned bit = ENFORCEMENT_COUNT_;
                for (unsigned j = 0; j < ENFORCEMENT_COUNT_; j++) {
                        names[j] = enforcement_name((enum enforcement)j);
                        if (strcmp(names[j], asked[i]) == 0)
                                bit = j;
                }
                if (bit < ENFORCEMENT_COUNT_) {
                        res->spec->degraded_allowed |= 1U << bit;
                        /* Where there is no cgroup, nothing that it would have done is there. */
                        if (bit == ENFORCE_CGROUP)
                                res->spec->degraded_allowed |= 1U << ENFORCE_SWAP | 1U << ENFORCE_CPUSET;
                        continue;
                }
                char text[QUOTED_MAX];
                _cleanup_(strbuf_clear) struct strbuf known = STRBUF_INIT(512);
                for (unsigned j = 0; j < ENFORCEMENT_COUNT_; j++)
                        if (strbuf_appendf(&known, "%s%s", j > 0 ? ", " : "", names[j]) < 0)
                                return error_oom(res->err);
                const char *near = nearest_word(asked[i], names, ENFORCEMENT_COUNT_);
                _cleanup_(freep) char *hint = NULL;
                if (near && asprintf(&hint, "did you mean \"%s\"?", near) < 0)
                        hint = NULL;
                return error_set(res->err, ERROR_USAGE, 0, hint,
                    "allow_degraded: found %s; expected one of: %s", quoted(asked[i], text),
                    strbuf_text(&known));
        }
        return 0;
}

static int choose_network(struct resolution *res)
{
        return resolve_network(res->policy, res->level, res->request, res->spec, res->err);
}

static void fill_isolation(struct resolution *res)
{
        const struct policy *policy = res->policy;
        const struct policy_level *level = res->level;
        struct container_spec *spec = res->spec;
        uint64_t user = policy_level_value(policy, level, KEY_USER, NULL)->bits;
        uint64_t options = policy_level_value(policy, level, KEY_SECURITY_OPT, NULL)->bits;
        uint64_t dropped = policy_level_value(policy, level, KEY_CAP_DROP, NULL)->bits;
        uint64_t added = policy_level_value(policy, level, KEY_CAP_ADD, NULL)->bits;

        spec->uid = (uint32_t)(user >> 32);
        spec->gid = (uint32_t)user;
        spec->read_only = policy_level_value(policy, level, KEY_READ_ONLY, NULL)->bits;
        spec->no_new_privileges = options & SECURITY_NO_NEW_PRIVILEGES;
        spec->seccomp = options & SECURITY_SECCOMP_UNCONFINED ? SECCOMP_UNCONFINED : SECCOMP_DEFAULT;
        spec->capabilities = added;
        if (!(dropped & CAPABILITIES_ALL))
                spec->capabilities |= capabilities_docker_default() & ~dropped;
}

static void fill_allocation(struct resolution *res)
{
        const struct policy *policy = res->policy;
        struct container_spec *spec = res->spec;
        double cpus = policy_absolute(
            &policy_keys[KEY_CPU_SHARE], policy_top_value(policy, KEY_CPU_SHARE), &res->host);
        double memory = policy_absolute(
            &policy_keys[KEY_MEM_SHARE], policy_top_value(policy, KEY_MEM_SHARE), &res->host);
        spec->host_cpu_share = MIN(cpus, (double)res->host.cpus);
        spec->host_mem_share = MIN((uint64_t)memory, res->host.memory);
        spec->queue_when_full =
            strcmp(policy_keys[KEY_WHEN_FULL].words[policy_top_value(policy, KEY_WHEN_FULL)->bits],
                "queue") == 0;
        spec->queue_length = (uint64_t)policy_top_value(policy, KEY_QUEUE_LENGTH)->number;
        spec->queue_timeout = policy_top_value(policy, KEY_QUEUE_TIMEOUT)->number;
        spec->level_concurrency = (uint64_t)res->limits[KEY_MAX_CONCURRENT].number;
        spec->monitoring_interval = policy_top_value(policy, KEY_INTERVAL)->number;
        spec->monitoring_samples = (uint64_t)policy_top_value(policy, KEY_SAMPLES)->number;
        spec->host_uid_base = (uint32_t)policy_top_value(policy, KEY_UID_BASE)->number;
}

/* A copy of a text that stands in a group at top level; NULL where there is none. False: out of memory. */
static bool copy_text(const struct policy *policy, enum policy_key key, char **ret)
{
        const struct policy_value *value = policy_top_value(policy, key);
        *ret = value->text && value->text[0] ? strdup(value->text) : NULL;
        return *ret || !value->text || !value->text[0];
}

static int fill_engine(struct resolution *res)
{
        struct container_spec *spec = res->spec;
        if (!copy_text(res->policy, KEY_DOCKER_HOST, &spec->docker_host))
                return error_oom(res->err);
        spec->docker_call_timeout = policy_top_value(res->policy, KEY_DOCKER_CALL_TIMEOUT)->number;
        if (strcmp(spec->backend, "docker") == 0)
                spec->ready = (unsigned)policy_top_value(res->policy, KEY_DOCKER_READY)->number;
        return 0;
}

static int fill_identity(struct resolution *res)
{
        struct container_spec *spec = res->spec;
        spec->trust_level = strdup(res->level->name);
        spec->policy_path = strdup(res->policy->path);
        memcpy(spec->policy_sha256, res->policy->sha256, sizeof spec->policy_sha256);
        if (!spec->trust_level || !spec->policy_path ||
            policy_level_weakenings(res->policy, res->level, &spec->unsafe) < 0)
                return error_oom(res->err);
        return 0;
}

int policy_resolve(const struct policy *policy, const struct policy_request *request, unsigned host_cpus,
    uint64_t host_memory, struct container_spec *ret_spec, struct error *err)
{
        static const struct policy_request nothing = {};
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        struct resolution res = {
            .policy = policy, .request = request ? request : &nothing, .spec = &spec, .err = err};
        res.host = (struct host_capacity){
            MAX(host_cpus, 1U), MAX(host_memory, (uint64_t)policy_keys[KEY_MEM_LIMIT].least)};

        int r = find_level(&res);
        if (r < 0)
                return r;
        r = policy_check_level(policy, res.level, &res.host, err);
        if (r < 0)
                return r;
        policy_level_limits(policy, res.level, &res.host, res.limits);

        static int (*const steps[])(struct resolution * res) = {request_limits, choose_backend, choose_image,
            choose_runtime, merge_environment, allow_degraded, fill_identity, fill_engine, choose_network};
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
                r = steps[i](&res);
                if (r < 0)
                        return r;
        }
        lower_to_host(&res);
        fill_isolation(&res);
        fill_allocation(&res);
        *ret_spec = spec;
        spec = (struct container_spec){};
        return 0;
}
