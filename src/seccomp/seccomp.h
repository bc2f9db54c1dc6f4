/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system-call filter. What is allowed stands in one table (seccomp/table.c), with a reason per group;
 * tools/seccomp-compile turns it into BPF at build time, so that a run only loads it. The same table is
 * rendered to other engines' formats.
 */
#pragma once

#include "util/common.h"

#include <linux/filter.h>

enum seccomp_verdict {
        VERDICT_ALLOW,
        VERDICT_EPERM,  /* known, and denied */
        VERDICT_ENOSYS, /* as if the kernel were older: libc falls back. Also everything that the table does
                           not name */
        VERDICT_NOTIFY, /* denied with EPERM by the supervisor, which counts it as `syscall_denied` */
        VERDICT_BROKERED,     /* done by the supervisor for the caller, within its bounds; EPERM where nobody
                                 listens */
        VERDICT_ENOTTY,       /* ioctl requests outside the list */
        VERDICT_EAFNOSUPPORT, /* socket families outside the list */
};

/* The compiled filters; arrays live in generated code. */
struct seccomp_program {
        const struct sock_filter *code;
        uint16_t length;
};

/* `with_notify` false: VERDICT_NOTIFY calls return EPERM by themselves (where nobody listens). */
const struct seccomp_program *seccomp_program(bool with_notify);

/* The name and digest that results show: "default" and hexadecimal SHA-256 of the BPF code (with notify). */
extern const char seccomp_profile_name[];
const char *seccomp_profile_sha256(void);

/*
 * The name of a system call of this architecture as the
 * table or the kernel headers know it; NULL if unknown.
 */
const char *seccomp_syscall_name(int number);
