/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mai_doctor(): what this host can enforce, found out by making containers. One under the default policy;
 * and if that is refused, one with every part waived that can be, and for each part that turned out to be
 * missing one with all but that part waived, whose refusal gives the reason and the fix.
 */
#include "api/doctor.h"

static const char *const backend_names[] = {"native", "docker"};

#define ALL_PARTS ((1U << ENFORCEMENT_COUNT_) - 1)

/* ---- One try ---- */

struct doctor {
        mai_sandbox *sandbox;
        const char *backend;
        unsigned cpus;
        uint64_t memory;
};

/* Makes a container in which nothing but /bin/true runs. The result (caller frees), or NULL and the error.
 */
static struct result *try_container(const struct doctor *doctor, unsigned allowed, struct error *err)
{
        const char *names[ENFORCEMENT_COUNT_ + 1];
        size_t n = 0;
        for (unsigned i = 0; i < ENFORCEMENT_COUNT_; i++)
                if (allowed & 1U << i)
                        names[n++] = enforcement_name((enum enforcement)i);
        names[n] = NULL;
        const struct policy_request request = {.backend = doctor->backend, .allow_degraded = names};
        struct container_spec spec = {};
        if (policy_resolve(doctor->sandbox->policy, &request, doctor->cpus, doctor->memory, &spec, err) < 0)
                return NULL;
        struct result *result = result_new();
        if (!result) {
                container_spec_clear(&spec);
                (void)error_oom(err);
                return NULL;
        }
        static const char *const argv[] = {"/bin/true", NULL};
        static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
        const struct execution_request execution = {
            .argv = argv,
            .environment = environment,
            .stdin_fd = -1,
            .output_dirfd = -1,
            .cancel_fd = doctor->sandbox->cancel_fd,
        };
        executor_run(doctor->sandbox->manager, &spec, &execution, NULL, result);
        if (result->status == RUN_ERROR && result->error.code == ERROR_NONE)
                (void)error_set(&result->error, ERROR_BACKEND, 0, NULL, "no container came of it");
        return result;
}

/* ---- What the evidence says ---- */

static void say_cgroup(const struct evidence *evidence, char *text, size_t size)
{
        if (evidence->cgroup_version > 0)
                (void)snprintf(text, size, "v%d %.60s: %llu bytes, %llu processes, %llu of %llu us of CPU",
                    evidence->cgroup_version, evidence->cgroup_path,
                    (unsigned long long)evidence->memory_max, (unsigned long long)evidence->pids_max,
                    (unsigned long long)evidence->cpu_quota_usec,
                    (unsigned long long)evidence->cpu_period_usec);
}

static void say_swap(const struct evidence *evidence, char *text, size_t size)
{
        (void)snprintf(text, size, "%s: at most %llu bytes",
            evidence->cgroup_version == 1 ? "memory and swap together" : "swap",
            (unsigned long long)evidence->memory_swap_max);
}

static void say_cpuset(const struct evidence *evidence, char *text, size_t size)
{
        (void)snprintf(text, size, "%u seen", evidence->cpus_allowed);
}

static void say_landlock(const struct evidence *evidence, char *text, size_t size)
{
        (void)snprintf(text, size, "in force, ABI %d", evidence->landlock_abi);
}

static void say_groups(const struct evidence *evidence, char *text, size_t size)
{
        (void)snprintf(text, size, "%u supplementary groups", evidence->group_count);
}

static void say_uid(const struct evidence *evidence, char *text, size_t size)
{
        (void)snprintf(text, size, "uid %u inside is uid %u on the host", evidence->uid, evidence->host_uid);
}

static void say_proc(const struct evidence *evidence, char *text, size_t size)
{
        (void)evidence;
        (void)snprintf(text, size, "a /proc of its own, read-only, with the host's figures covered");
}

static void say_namespaces(const struct evidence *evidence, char *text, size_t size)
{
        unsigned apart = 0;
        for (size_t i = 0; i < NAMESPACE_COUNT_; i++)
                apart += evidence->namespaces[i] != evidence->host_namespaces[i];
        (void)snprintf(text, size, "%u of its own", apart);
}

static void say_capabilities(const struct evidence *evidence, char *text, size_t size)
{
        uint64_t any = evidence->cap_effective | evidence->cap_permitted | evidence->cap_inheritable |
                       evidence->cap_bounding | evidence->cap_ambient;
        (void)snprintf(text, size, "0x%llx in all five sets, no_new_privs %d", (unsigned long long)any,
            evidence->no_new_privs);
}

static void say_seccomp(const struct evidence *evidence, char *text, size_t size)
{
        (void)snprintf(text, size, "mode %d, %u filters, profile %s", evidence->seccomp_mode,
            evidence->seccomp_filters, evidence->seccomp_profile);
}

static void say_root(const struct evidence *evidence, char *text, size_t size)
{
        (void)snprintf(text, size, "%s", evidence->read_only_root ? "read-only" : "writable");
}

static void say_network(const struct evidence *evidence, char *text, size_t size)
{
        (void)snprintf(text, size, "%s", evidence->network ? evidence->network : "unknown");
}

/* `part`: which word of --allow-degraded waives it; ENFORCEMENT_COUNT_: none does. */
static const struct {
        const char *name;
        enum enforcement part;
        void (*say)(const struct evidence *evidence, char *text, size_t size);
} requirements[] = {
    {"cgroup", ENFORCE_CGROUP, say_cgroup},
    {"swap", ENFORCE_SWAP, say_swap},
    {"cpuset", ENFORCE_CPUSET, say_cpuset},
    {"uid", ENFORCE_UID, say_uid},
    {"groups", ENFORCE_GROUPS, say_groups},
    {"landlock", ENFORCE_LANDLOCK, say_landlock},
    {"proc", ENFORCE_PROC, say_proc},
    {"namespaces", ENFORCEMENT_COUNT_, say_namespaces},
    {"capabilities", ENFORCEMENT_COUNT_, say_capabilities},
    {"seccomp", ENFORCEMENT_COUNT_, say_seccomp},
    {"root", ENFORCEMENT_COUNT_, say_root},
    {"network", ENFORCEMENT_COUNT_, say_network},
};

/* ---- One backend ---- */

/* Why is this part missing? The refusal of a container that must have it says so. */
static void find_reason(const struct doctor *doctor, enum enforcement part, struct requirement *requirement)
{
        struct error err = {};
        unsigned allowed = ALL_PARTS & ~(1U << part);
        /* These two go with the cgroup, and its word allows them: it must not be said, or they could not be
         * asked for. */
        if (part == ENFORCE_SWAP || part == ENFORCE_CPUSET)
                allowed &= ~(1U << ENFORCE_CGROUP);
        struct result *result = try_container(doctor, allowed, &err);
        if (result && result->status != RUN_ERROR)
                requirement->state = REQUIREMENT_ENFORCED; /* missing a moment ago: believe the better try */
        else
                error_move(&requirement->problem, result ? &result->error : &err);
        error_clear(&err);
        (void)result_free(result);
}

static void look_at(const struct doctor *doctor, const struct result *result, struct backend_report *report)
{
        report->requirement_count = ARRAY_SIZE(requirements);
        for (size_t i = 0; i < ARRAY_SIZE(requirements); i++) {
                struct requirement *requirement = &report->requirements[i];
                requirement->name = requirements[i].name;
                if (!result || !result->has_evidence)
                        continue;
                enum enforcement part = requirements[i].part;
                bool missing =
                    part < ENFORCEMENT_COUNT_ && (result->evidence.degraded & 1U << (unsigned)part) != 0;
                requirement->state = missing ? REQUIREMENT_MISSING : REQUIREMENT_ENFORCED;
                if (missing)
                        find_reason(doctor, part, requirement);
                if (requirement->state == REQUIREMENT_ENFORCED)
                        requirements[i].say(
                            &result->evidence, requirement->evidence, sizeof requirement->evidence);
        }
}

static void examine(const struct doctor *doctor, struct backend_report *report)
{
        struct error err = {};
        struct result *result = try_container(doctor, 0, &err);
        if (result && result->status != RUN_ERROR) {
                report->available = report->enforced = true;
                look_at(doctor, result, report);
                (void)result_free(result);
                return;
        }
        error_move(&report->problem, result ? &result->error : &err);
        (void)result_free(result);
        result = try_container(doctor, ALL_PARTS, &err);
        report->available = result && result->status != RUN_ERROR;
        if (!report->available) /* then it is not a part that is missing, and this says better what it is */
                error_move(&report->problem, result ? &result->error : &err);
        look_at(doctor, report->available ? result : NULL, report);
        error_clear(&err);
        (void)result_free(result);
}

/* ---- All of it ---- */

static int doctor_run(mai_sandbox *sandbox, mai_report *report, struct error *err)
{
        struct doctor doctor = {.sandbox = sandbox};
        policy_host_capacity(&doctor.cpus, &doctor.memory);
        struct container_spec spec = {};
        const struct policy_request request = {};
        int r = policy_resolve(sandbox->policy, &request, doctor.cpus, doctor.memory, &spec, err);
        if (r < 0)
                return r;
        host_facts_read(&report->facts);
        report->policy_path = strdup(policy_path(sandbox->policy));
        report->trust_level = TAKE_PTR(spec.trust_level);
        for (size_t i = 0; i < ARRAY_SIZE(backend_names); i++) {
                if (!backend_find(backend_names[i]))
                        continue;
                struct backend_report *backend = &report->backends[report->backend_count++];
                backend->name = doctor.backend = backend_names[i];
                examine(&doctor, backend);
                if (strcmp(spec.backend, backend->name) == 0)
                        report->enforced = backend->enforced;
        }
        container_spec_clear(&spec);
        return report->policy_path && report->trust_level && report_render(report) == 0 ? 0 : error_oom(err);
}

int mai_doctor(const char *policy_path, mai_report **ret, mai_error **ret_error)
{
        mai_sandbox *sandbox;
        int r = mai_sandbox_open(policy_path, &sandbox, ret_error);
        if (r < 0)
                return r;
        struct error err = {};
        mai_report *report = calloc(1, sizeof *report);
        r = report ? doctor_run(sandbox, report, &err) : error_oom(&err);
        (void)mai_sandbox_close(sandbox);
        if (r < 0) {
                (void)mai_report_free(report);
                return api_fail(r, &err, ret_error);
        }
        *ret = report;
        return 0;
}

mai_report *mai_report_free(mai_report *report)
{
        if (!report)
                return NULL;
        for (size_t i = 0; i < report->backend_count; i++) {
                struct backend_report *backend = &report->backends[i];
                error_clear(&backend->problem);
                for (size_t j = 0; j < backend->requirement_count; j++)
                        error_clear(&backend->requirements[j].problem);
        }
        free(report->policy_path);
        free(report->trust_level);
        free(report->text);
        free(report->json);
        free(report);
        return NULL;
}

int mai_report_enforced(const mai_report *report)
{
        return report->enforced;
}

const char *mai_report_text(const mai_report *report)
{
        return report->text;
}

const char *mai_report_json(const mai_report *report)
{
        return report->json;
}
