/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the first byte of a guest or an upstream is read, the process gives up all that it does not need:
 * its user, its capabilities, new programs, files other than the cache and what name resolution reads, ports
 * other than those of its upstreams, and every system call that a network client does not make.
 */
#pragma once

#include "gateway/config.h"

/* What came of it, read back from the kernel. */
struct hardening {
        uint32_t uid, gid;
        uint64_t capabilities; /* permitted and effective together; 0 is right */
        bool no_new_privs;
        int landlock_abi; /* 0: none */
        bool seccomp;
};

/* In this order: limits, user, capabilities, no_new_privs, Landlock, filter. */
int harden(
    const struct gateway_config *config, int cache_directory, struct hardening *ret, struct error *err);

/* Loads the filter (filter.c). */
int harden_load_filter(struct error *err);

/* Enters the Landlock rules (landlock.c). *ret_abi is 0 where the kernel has none and the configuration
 * permits that. */
int harden_landlock(
    const struct gateway_config *config, int cache_directory, int *ret_abi, struct error *err);
