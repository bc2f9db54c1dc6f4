/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/spec.h"

static const char *const enforcement_names[ENFORCEMENT_COUNT_] = {
    [ENFORCE_CGROUP] = "cgroup",
    [ENFORCE_SWAP] = "swap",
    [ENFORCE_CPUSET] = "cpuset",
    [ENFORCE_LANDLOCK] = "landlock",
    [ENFORCE_GROUPS] = "groups",
    [ENFORCE_UID] = "uid",
    [ENFORCE_PROC] = "proc",
    [ENFORCE_INODES] = "inodes",
};

const char *enforcement_name(enum enforcement enforcement)
{
        return (unsigned)enforcement < ENFORCEMENT_COUNT_ ? enforcement_names[enforcement] : NULL;
}

static void free_all(char **texts)
{
        for (size_t i = 0; texts && texts[i]; i++)
                free(texts[i]);
        free(texts);
}

void container_spec_clear(struct container_spec *spec)
{
        if (!spec)
                return;
        free(spec->trust_level);
        free(spec->backend);
        free(spec->image);
        free(spec->policy_path);
        gateway_spec_free(spec->gateway);
        free(spec->docker_host);
        free(spec->docker_runtime);
        free_all(spec->environment);
        free_all(spec->unsafe);
        *spec = (struct container_spec){};
}

/* ---- Kinds ---- */

/* What a kind has of strings. */
#define KIND_TEXT(member) offsetof(struct container_spec, member)
static const size_t kind_texts[] = {KIND_TEXT(trust_level), KIND_TEXT(backend), KIND_TEXT(image),
    KIND_TEXT(docker_host), KIND_TEXT(docker_runtime)};

static char **text_at(struct container_spec *spec, size_t offset)
{
        return (char **)(void *)((char *)spec + offset);
}

static const char *const_text_at(const struct container_spec *spec, size_t offset)
{
        return *(const char *const *)(const void *)((const char *)spec + offset);
}

int container_spec_copy_kind(struct container_spec *ret, const struct container_spec *spec)
{
        *ret = *spec;
        ret->environment = ret->unsafe = NULL;
        ret->policy_path = NULL;
        bool good = true;
        for (size_t i = 0; i < ARRAY_SIZE(kind_texts); i++) {
                const char *text = const_text_at(spec, kind_texts[i]);
                char *copy = text && good ? strdup(text) : NULL;
                good = good && (copy || !text);
                *text_at(ret, kind_texts[i]) = copy;
        }
        return good ? 0 : -ENOMEM;
}

static bool same_text(const char *a, const char *b)
{
        return a && b ? strcmp(a, b) == 0 : a == b;
}

bool container_spec_same_kind(const struct container_spec *a, const struct container_spec *b)
{
        for (size_t i = 0; i < ARRAY_SIZE(kind_texts); i++)
                if (!same_text(const_text_at(a, kind_texts[i]), const_text_at(b, kind_texts[i])))
                        return false;
        const struct limits *x = &a->limits, *y = &b->limits;
        return x->cpu_count == y->cpu_count && x->mem_limit == y->mem_limit &&
               x->pids_limit == y->pids_limit && x->disk_limit == y->disk_limit &&
               x->inode_limit == y->inode_limit && x->open_files == y->open_files && a->uid == b->uid &&
               a->gid == b->gid && a->read_only == b->read_only &&
               a->no_new_privileges == b->no_new_privileges && a->capabilities == b->capabilities &&
               a->seccomp == b->seccomp && a->network == b->network &&
               a->monitoring_interval == b->monitoring_interval && a->host_uid_base == b->host_uid_base &&
               a->docker_call_timeout == b->docker_call_timeout &&
               a->degraded_allowed == b->degraded_allowed;
}
