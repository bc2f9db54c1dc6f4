/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds bytes to the policy reader as a file, and what it accepts on to resolution, `policy show` and back.
 * What must hold: no crash, no leak, an error always has its code, message and place, what was accepted
 * resolves for each level without loosening `untrusted` and `unknown` above `trusted`, and what `policy
 * show` prints is a policy again.
 */
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOST_CPUS 4
#define HOST_MEMORY (UINT64_C(8) << 30)

static void must(bool condition)
{
        if (!condition)
                abort();
}

static void must_be_below(const struct limits *a, const struct limits *b)
{
        must(a->cpu_count <= b->cpu_count && a->mem_limit <= b->mem_limit && a->timeout <= b->timeout);
        must(a->cpu_time <= b->cpu_time && a->pids_limit <= b->pids_limit && a->disk_limit <= b->disk_limit);
        must(a->inode_limit <= b->inode_limit && a->output_limit <= b->output_limit &&
             a->open_files <= b->open_files);
}

static void must_be_sound(const struct container_spec *spec)
{
        const struct limits *limits = &spec->limits;
        must(limits->cpu_count > 0 && limits->mem_limit > 0 && limits->timeout > 0 && limits->cpu_time > 0);
        must(limits->pids_limit > 0 && limits->disk_limit > 0 && limits->inode_limit > 0 &&
             limits->output_limit > 0);
        must(limits->open_files > 0 && limits->disk_limit <= limits->mem_limit);
        must(limits->cpu_count <= HOST_CPUS && limits->mem_limit <= HOST_MEMORY);
        must(spec->uid != 0 && spec->gid != 0 && spec->host_uid_base >= 65536);
        bool weak = !spec->read_only || !spec->no_new_privileges || spec->capabilities != 0 ||
                    spec->seccomp != SECCOMP_DEFAULT;
        must(!weak || spec->unsafe[0] != NULL);
}

static void check_level(const struct policy *policy, const char *level, const struct limits *trusted)
{
        _cleanup_(container_spec_clear) struct container_spec spec = {};
        _cleanup_(error_clear) struct error err = {};
        struct policy_request request = {.trust_level = level};
        if (policy_resolve(policy, &request, HOST_CPUS, HOST_MEMORY, &spec, &err) < 0) {
                must(err.code == ERROR_POLICY && err.message != NULL); /* shares against sizes */
                return;
        }
        must_be_sound(&spec);
        if (trusted && (strcmp(level, "untrusted") == 0 || strcmp(level, "unknown") == 0))
                must_be_below(&spec.limits, trusted);
}

static void check_show(const struct policy *policy, const char *level)
{
        _cleanup_(error_clear) struct error err = {};
        _cleanup_(freep) char *text = NULL;
        if (policy_show(policy, level, &text, &err) < 0) {
                must(err.code == ERROR_POLICY);
                return;
        }
        struct policy *again = NULL;
        if (policy_parse("shown", text, strlen(text), &again, &err) < 0)
                /* A level of the file's own that is the default one is not part of what is shown. */
                must(err.message && strstr(err.message, "default_trust_level"));
        policy_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_(error_clear) struct error err = {};
        struct policy *policy = NULL;
        if (policy_parse("fuzz.yaml", (const char *)data, size, &policy, &err) < 0) {
                must(err.code == ERROR_POLICY && err.message && strncmp(err.message, "fuzz.yaml:", 10) == 0);
                return 0;
        }
        _cleanup_(container_spec_clear) struct container_spec trusted = {};
        struct policy_request request = {.trust_level = "trusted"};
        bool resolved = policy_resolve(policy, &request, HOST_CPUS, HOST_MEMORY, &trusted, NULL) == 0;
        const char *const *levels = policy_trust_levels(policy);
        for (size_t i = 0; levels[i]; i++)
                check_level(policy, levels[i], resolved ? &trusted.limits : NULL);
        check_show(policy, "unknown");
        check_show(policy, "trusted");
        policy_free(policy);
        return 0;
}
