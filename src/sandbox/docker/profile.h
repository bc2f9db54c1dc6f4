/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The project's system-call table in the form that a Docker engine takes. It is the first of two filters:
 * the init loads the native one on top, which is the stricter, so this one only has to allow what that one
 * allows, and what the init needs to load it.
 *
 * Where they differ (tests/unit/test-docker-profile.c compares them call by call):
 *   - seccomp(2), landlock_*(2), setting RLIMIT_CORE and any limit of process 1, CPU masks, and the options
 * of prctl(2) that drop capabilities are allowed here: the init needs them before its own filter is in
 * force;
 *   - everything refused is EPERM here. Of two filters that both refuse, the newer one's error number
 * counts, so programs see the native one;
 *   - calls that the native engine hands to its supervisor to be counted are refused here, uncounted.
 */
#pragma once

#include <jansson.h>

/* The profile as a JSON object, or NULL: out of memory. */
json_t *docker_seccomp_profile(void);
