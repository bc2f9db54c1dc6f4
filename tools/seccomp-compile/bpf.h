/* SPDX-License-Identifier: Apache-2.0 */
/* From ranges to classic BPF. */
#pragma once

#include "seccomp-compile/ranges.h"

#define CODE_MAX 2048

struct code {
        struct sock_filter list[CODE_MAX];
        size_t count;
};

/* 0, or -E2BIG if it does not fit. `with_notify` false turns VERDICT_NOTIFY into EPERM. */
int bpf_compile(const struct ranges *ranges, bool with_notify, struct code *ret_code);
