/* SPDX-License-Identifier: Apache-2.0 */
/* What to execute, in the form in which the guest protocol carries it, whatever the backend sends it
 * through. */
#pragma once

#include "sandbox/backend.h"
#include "util/strbuf.h"

/*
 * Appends the payload of the SPEC_DATA frames (struct guest_spec and its strings, see protocol/guest.h) to
 * an empty buffer whose limit is GUEST_SPEC_MAX. 0, or -errno with ERROR_INPUT when it is too long. Any
 * thread.
 */
int exec_spec_encode(const struct exec_spec *exec, struct strbuf *spec, struct error *err);
