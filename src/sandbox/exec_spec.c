/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/exec_spec.h"

#include "protocol/guest.h"

/* Appends strings, each with its NUL; counts them. */
static int add_strings(struct strbuf *spec, const char *const *strings, uint32_t *ret_count)
{
        uint32_t count = 0;
        for (; strings && strings[count]; count++)
                if (strbuf_append(spec, strings[count], strlen(strings[count]) + 1) < 0)
                        return -E2BIG;
        *ret_count = count;
        return 0;
}

int exec_spec_encode(const struct exec_spec *exec, struct strbuf *spec, struct error *err)
{
        struct guest_spec head = {.version = GUEST_PROTOCOL_VERSION};
        if (strbuf_append(spec, &head, sizeof head) < 0 || add_strings(spec, exec->argv, &head.argc) < 0 ||
            add_strings(spec, exec->environment, &head.envc) < 0 ||
            strbuf_append(spec, exec->argv[0], strlen(exec->argv[0]) + 1) < 0)
                return error_set(
                    err, ERROR_INPUT, E2BIG, "pass long input as a file", "arguments and environment");
        memcpy(spec->data, &head, sizeof head); /* now that the counts are known */
        return 0;
}
