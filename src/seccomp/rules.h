/* SPDX-License-Identifier: Apache-2.0 */
/* The argument rules that table.c refers to. */
#pragma once

#include "seccomp/table.h"

extern const struct seccomp_rule seccomp_rule_clone;
extern const struct seccomp_rule seccomp_rule_socket;
extern const struct seccomp_rule seccomp_rule_ioctl;
extern const struct seccomp_rule seccomp_rule_prctl;
extern const struct seccomp_rule seccomp_rule_personality;
extern const struct seccomp_rule seccomp_rule_setrlimit;
extern const struct seccomp_rule seccomp_rule_prlimit;
extern const struct seccomp_rule seccomp_rule_scheduler;
extern const struct seccomp_rule seccomp_rule_priority;
extern const struct seccomp_rule seccomp_rule_io_priority;
extern const struct seccomp_rule seccomp_rule_mknod;
extern const struct seccomp_rule seccomp_rule_mknodat;
extern const struct seccomp_rule seccomp_rule_own_pages;
