/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attack tests prove that they would notice: the same attack is run against a build in which one named
 * defence is left out (tests/defences-off), and must succeed there. Such a build says so in its version and
 * in every result, and is never installed. In an ordinary build the macro is the constant true.
 */
#pragma once

#include <string.h>

#ifdef MAI_DEFENCE_OFF
#define DEFENCE(name) (strcmp(MAI_DEFENCE_OFF, (name)) != 0)
#define DEFENCE_OFF "test build: defence " MAI_DEFENCE_OFF " off"
#define DEFENCE_OFF_SUFFIX " (" DEFENCE_OFF ")"
#else
#define DEFENCE(name) true
#define DEFENCE_OFF NULL
#define DEFENCE_OFF_SUFFIX ""
#endif
