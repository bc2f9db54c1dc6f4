/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy: config/sandbox.yaml read, validated, and resolved with a request into a container spec.
 *
 * Reading is strict and fails closed: every error carries "file:line:column: what was found; what was
 * expected". All keys stand in one table (policy/keys.c), which validation, `policy show`, docs/POLICY.md
 * and the tests read. A policy is immutable once loaded, and may be shared between threads.
 */
#pragma once

#include "policy/spec.h"
#include "util/error.h"

struct policy;

/*
 * Loads the policy. `path` NULL means the search order: $MAI_SANDBOX_POLICY,
 * ~/.config/mai-sandbox/sandbox.yaml, /etc/mai-sandbox/sandbox.yaml, then the copy of the shipped file built
 * into the program. The first that exists is taken, and if it is bad that is an error. Files must be
 * regular, belong to the caller or root, not be writable by group or others, and be at most 1 MiB. Errors:
 * ERROR_POLICY. Caller frees with policy_free().
 */
int policy_load(const char *path, struct policy **ret, struct error *err);

/* The same for bytes in memory; `name` stands where the file name would in errors. For tests and fuzzing. */
int policy_parse(const char *name, const char *text, size_t size, struct policy **ret, struct error *err);

struct policy *policy_free(struct policy *policy);

const char *policy_path(const struct policy *policy);   /* "built-in" when built in */
const char *policy_sha256(const struct policy *policy); /* hexadecimal */

/*
 * What a caller asks for, in words: the option values as given, each to be parsed by its key's own rule. A
 * NULL member was not given. Everything may only tighten; asking for more than the policy allows is
 * ERROR_REFUSED and the message names the ceiling. A value that can't be parsed at all is ERROR_USAGE.
 */
struct policy_request {
        const char *trust_level;
        const char *backend;
        const char *image;
        const char *runtime;
        const char *timeout;   /* seconds */
        const char *mem_limit; /* size or "N%" */
        const char *cpu_count;
        const char *pids_limit;
        const char *cpu_time;
        const char *disk_limit;
        const char *inode_limit;
        const char *output_limit;
        const char *open_files;
        const char *network_mode;
        const char *const *whitelist;      /* names of entries, NULL-terminated; NULL or empty: all */
        const char *const *environment;    /* "K=V", NULL-terminated, or NULL */
        const char *const *allow_degraded; /* names of enum enforcement, NULL-terminated, or NULL */
};

/*
 * Resolves policy + trust level + request + host capacity. `host_cpus` (CPUs that we may run on) and
 * `host_memory` (bytes) are arguments so that tests can choose them; policy_host_capacity() reads the real
 * ones. A limit above the host's capacity is lowered to it. On success *ret_spec is filled and the caller
 * clears it.
 */
int policy_resolve(const struct policy *policy, const struct policy_request *request, unsigned host_cpus,
    uint64_t host_memory, struct container_spec *ret_spec, struct error *err);

void policy_host_capacity(unsigned *ret_cpus, uint64_t *ret_memory);

/*
 * The text of `policy show --trust LEVEL`: YAML, every key with
 * its resolved value and where it comes from. Caller frees.
 */
int policy_show(const struct policy *policy, const char *trust_level, char **ret_text, struct error *err);

/*
 * One line per warning-free summary, for `policy check`:
 * the levels' names, NULL-terminated, owned by the policy.
 */
const char *const *policy_trust_levels(const struct policy *policy);

/*
 * The reference table of all keys as Markdown: docs/POLICY.md
 * is checked against it. Caller frees; NULL if out of memory.
 */
char *policy_reference_markdown(void);
