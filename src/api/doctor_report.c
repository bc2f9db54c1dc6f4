/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's findings as text for people and as JSON for programs. */
#include "api/doctor.h"

#include "sandbox/json.h"
#include "util/strbuf.h"

#define TEXT_MAX (64U << 10)

static const char *const state_names[] = {[REQUIREMENT_UNKNOWN] = "unknown",
    [REQUIREMENT_ENFORCED] = "enforced",
    [REQUIREMENT_MISSING] = "missing"};

/* ---- JSON ---- */

static json_t *facts_json(struct json_builder *builder, const struct host_facts *facts)
{
        json_t *object = json_object();
        json_put(builder, object, "kernel", json_text(facts->kernel));
        json_put(builder, object, "uid", json_integer(facts->uid));
        json_put(builder, object, "cgroup_version",
            facts->cgroup_version ? json_integer(facts->cgroup_version) : json_null());
        json_t *controllers = json_array();
        char words[sizeof facts->controllers];
        memcpy(words, facts->controllers, sizeof words);
        char *rest = words;
        for (char *word; (word = strsep(&rest, " ")) != NULL;)
                if (*word)
                        json_add(builder, controllers, json_text(word));
        json_put(builder, object, "cgroup_controllers", controllers);
        json_put(builder, object, "landlock_abi",
            facts->landlock_abi ? json_integer(facts->landlock_abi) : json_null());
        json_put(builder, object, "seccomp_notify", json_boolean(facts->seccomp_notify));
        json_put(builder, object, "user_namespaces", json_boolean(facts->user_namespaces));
        return object;
}

static json_t *backend_json(struct json_builder *builder, const struct backend_report *backend)
{
        json_t *object = json_object();
        json_put(builder, object, "name", json_text(backend->name));
        json_put(builder, object, "available", json_boolean(backend->available));
        json_put(builder, object, "enforced", json_boolean(backend->enforced));
        json_put(builder, object, "reason", json_text(backend->problem.message));
        json_put(builder, object, "fix", json_text(backend->problem.hint));
        json_t *list = json_array();
        for (size_t i = 0; i < backend->requirement_count; i++) {
                const struct requirement *requirement = &backend->requirements[i];
                json_t *item = json_object();
                json_put(builder, item, "name", json_text(requirement->name));
                json_put(builder, item, "state", json_text(state_names[requirement->state]));
                json_put(builder, item, "evidence",
                    json_text(requirement->evidence[0] ? requirement->evidence : NULL));
                json_put(builder, item, "reason", json_text(requirement->problem.message));
                json_put(builder, item, "fix", json_text(requirement->problem.hint));
                json_add(builder, list, item);
        }
        json_put(builder, object, "requirements", list);
        return object;
}

static char *report_json(const mai_report *report)
{
        struct json_builder builder = {};
        json_t *document = json_object();
        json_put(&builder, document, "schema_version", json_integer(1));
        json_put(&builder, document, "enforced", json_boolean(report->enforced));
        json_put(&builder, document, "policy", json_text(report->policy_path));
        json_put(&builder, document, "trust_level", json_text(report->trust_level));
        json_put(&builder, document, "host", facts_json(&builder, &report->facts));
        json_t *backends = json_array();
        for (size_t i = 0; i < report->backend_count; i++)
                json_add(&builder, backends, backend_json(&builder, &report->backends[i]));
        json_put(&builder, document, "backends", backends);
        return json_line(&builder, document);
}

/* ---- Text ---- */

static int add_facts(struct strbuf *text, const struct host_facts *facts)
{
        int r = strbuf_appendf(
            text, "host\n  %-13s%s\n  %-13s%u\n", "kernel", facts->kernel, "as uid", facts->uid);
        if (r == 0)
                r = facts->cgroup_version ? strbuf_appendf(text, "  %-13sv%d: %s\n", "cgroup",
                                                facts->cgroup_version, facts->controllers)
                                          : strbuf_appendf(text, "  %-13snone\n", "cgroup");
        if (r == 0)
                r = facts->landlock_abi
                        ? strbuf_appendf(text, "  %-13sABI %d\n", "landlock", facts->landlock_abi)
                        : strbuf_appendf(text, "  %-13snone\n", "landlock");
        if (r == 0)
                r = strbuf_appendf(text, "  %-13s%s\n", "seccomp",
                    facts->seccomp_notify ? "refused calls are counted" : "refused calls can't be counted");
        if (r == 0)
                r = facts->user_namespaces ? strbuf_appendf(text, "  %-13sallowed\n", "user ns")
                                           : strbuf_appendf(text, "  %-13srefused: %s\n", "user ns",
                                                 strerror(facts->user_namespaces_error));
        return r;
}

static int add_problem(struct strbuf *text, const char *indent, const struct error *problem)
{
        int r = 0;
        if (problem->message)
                r = strbuf_appendf(text, "%swhy: %s\n", indent, problem->message);
        if (r == 0 && problem->hint)
                r = strbuf_appendf(text, "%sfix: %s\n", indent, problem->hint);
        return r;
}

static int add_backend(struct strbuf *text, const struct backend_report *backend)
{
        int r = strbuf_appendf(text, "\n%s: %s\n", backend->name,
            backend->enforced    ? "everything is enforced"
            : backend->available ? "works only with parts missing"
                                 : "not usable");
        if (r == 0 && !backend->available)
                r = add_problem(text, "  ", &backend->problem);
        for (size_t i = 0; i < backend->requirement_count && r == 0; i++) {
                const struct requirement *requirement = &backend->requirements[i];
                if (requirement->state == REQUIREMENT_UNKNOWN)
                        continue;
                r = requirement->state == REQUIREMENT_ENFORCED
                        ? strbuf_appendf(
                              text, "  %-8s %-13s%s\n", "ok", requirement->name, requirement->evidence)
                        : strbuf_appendf(text, "  %-8s %s\n", "MISSING", requirement->name);
                if (r == 0)
                        r = add_problem(text, "             ", &requirement->problem);
        }
        return r;
}

static char *report_text_of(const mai_report *report)
{
        _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(TEXT_MAX);
        int r = add_facts(&text, &report->facts);
        for (size_t i = 0; i < report->backend_count && r == 0; i++)
                r = add_backend(&text, &report->backends[i]);
        if (r == 0)
                r = strbuf_appendf(&text, "\nThe default policy (%s, level %s) %s.\n", report->policy_path,
                    report->trust_level,
                    report->enforced ? "is enforced in full"
                                     : "can't be enforced on this host as this user");
        return r == 0 ? strbuf_take(&text) : NULL;
}

int report_render(mai_report *report)
{
        report->json = report_json(report);
        report->text = report_text_of(report);
        return report->json && report->text ? 0 : -ENOMEM;
}
