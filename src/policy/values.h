/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of policy values: one row per type says how its text is read and written, and what to tell
 * someone who wrote it wrong. The file, the built-in values and requests all come through here.
 */
#pragma once

#include "policy/model.h"

enum value_form {
        FORM_SCALAR,
        FORM_LIST,
        FORM_ENV,   /* a mapping of names to texts, or a list */
        FORM_OTHER, /* mappings that document.c knows */
};

struct value_type {
        const char *name; /* for the reference */
        enum value_form form;
        bool plain; /* must not be quoted in the file: numbers and booleans */
        /*
         * Reads one scalar, or one item of a list into `value`.
         * False: not understood. -ENOMEM can't be told: see oom.
         */
        bool (*read)(const struct key *key, const char *text, struct policy_value *value);
        bool keep_text; /* the text (or items) is kept as it stands */
        const char *expected;
};

extern const struct value_type value_types[TYPE_COUNT_];

/* Reads one scalar or list item. 0, -EINVAL (not understood), -EEXIST (item twice), or -ENOMEM. */
int value_read(const struct key *key, const char *text, struct policy_value *value);

/* "a size such as 512m, \"1g\" or \"10%\", from 1 MiB": what value_read() would have understood. */
#define EXPECTED_MAX 320
const char *value_expected(const struct key *key, char buffer[EXPECTED_MAX]);

/* Appends the value as YAML that document.c reads back. */
int value_write(const struct key *key, const struct policy_value *value, struct strbuf *buf);

/* A number with its unit, for messages: "256 MiB", "10 seconds", "0.5 CPUs". */
#define NUMBER_TEXT_MAX 80
const char *value_number_text(const struct key *key, double number, char buffer[NUMBER_TEXT_MAX]);

/* Quoted, with everything but printable ASCII escaped, and cut when long: for messages. */
#define QUOTED_MAX 140
const char *quoted(const char *text, char buffer[QUOTED_MAX]);

/* Bits of security_opt. */
#define SECURITY_NO_NEW_PRIVILEGES (1U << 0)
#define SECURITY_SECCOMP_DEFAULT (1U << 1)
#define SECURITY_SECCOMP_UNCONFINED (1U << 2)

/* Bit mask for "ALL" in cap_drop, and Docker's default set. */
#define CAPABILITIES_ALL (UINT64_C(1) << 63)
uint64_t capabilities_docker_default(void);

/* [A-Za-z_][A-Za-z0-9_]* */
bool environment_name_valid(const char *name, size_t size);
bool level_name_valid(const char *name);

/* One of "https://host/…" or "http://host/…" without credentials, query or fragment. */
bool url_valid(const char *url);

/* values_network.c: the readers of its types, for the table. */
bool value_read_url(const struct key *key, const char *text, struct policy_value *value);
bool value_read_glob(const struct key *key, const char *text, struct policy_value *value);
bool value_read_cidr(const struct key *key, const char *text, struct policy_value *value);
bool value_read_host(const struct key *key, const char *text, struct policy_value *value);
bool value_read_path(const struct key *key, const char *text, struct policy_value *value);
bool value_read_secret(const struct key *key, const char *text, struct policy_value *value);

/* Absolute, no "..", not too long. */
#define PATH_VALUE_MAX 1024U
bool path_valid(const char *path);

static inline bool letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool digit(char c)
{
        return c >= '0' && c <= '9';
}
