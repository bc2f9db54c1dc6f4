/* SPDX-License-Identifier: Apache-2.0 */
#include "seccomp/generated.h"

const char seccomp_profile_name[] = "default";

const struct seccomp_program *seccomp_program(bool with_notify)
{
        return with_notify ? &seccomp_generated_with_notify : &seccomp_generated_without_notify;
}

const char *seccomp_profile_sha256(void)
{
        return seccomp_generated_sha256;
}

const char *seccomp_syscall_name(int number)
{
        if (number < 0 || (size_t)number >= seccomp_generated_name_count)
                return NULL;
        uint16_t offset = seccomp_generated_name_offsets[number];
        return offset == 0 ? NULL : seccomp_generated_names + offset;
}
