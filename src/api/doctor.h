/* SPDX-License-Identifier: Apache-2.0 */
/* What mai_doctor() finds out, before it becomes text or JSON. */
#pragma once

#include "api/internal.h"

/* Facts of the host that explain the rest; they decide nothing. */
struct host_facts {
        char kernel[160];
        unsigned uid;
        int cgroup_version;    /* as mounted: 1, 2, or 0 */
        char controllers[160]; /* words, blank between them */
        int landlock_abi;      /* 0: none */
        bool seccomp_notify;   /* refused system calls can be counted */
        bool user_namespaces;  /* tried by this very user */
        int user_namespaces_error;
};

void host_facts_read(struct host_facts *ret);

enum requirement_state {
        REQUIREMENT_UNKNOWN, /* no container could be made to look at */
        REQUIREMENT_ENFORCED,
        REQUIREMENT_MISSING,
};

/* One part of the default policy on one backend: the words of --allow-degraded, and what can't be waived. */
struct requirement {
        const char *name; /* static */
        enum requirement_state state;
        char evidence[200];   /* what was read back from a container, or "" */
        struct error problem; /* why it is missing, and the fix */
};
#define REQUIREMENTS_MAX 16

struct backend_report {
        const char *name;     /* static */
        bool available;       /* a container could be made, if with parts missing */
        bool enforced;        /* the default policy holds in full */
        struct error problem; /* why not */
        struct requirement requirements[REQUIREMENTS_MAX];
        size_t requirement_count;
};
#define BACKENDS_MAX 4

struct mai_report {
        struct host_facts facts;
        char *policy_path;
        char *trust_level;
        struct backend_report backends[BACKENDS_MAX];
        size_t backend_count;
        bool enforced; /* by the backend that the policy chooses */
        char *text, *json;
};

/* Fills in text and json. 0 or -ENOMEM. */
int report_render(mai_report *report);
