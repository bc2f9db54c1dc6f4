/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the TOML reader: values (toml_value.c) and the structure of documents (toml.c). */
#pragma once

#include "layer/scanner.h"
#include "layer/toml.h"
#include "util/strbuf.h"

#define TOML_DEPTH_MAX 32U
#define TOML_SIZE_MAX (16U << 20)
#define TOML_KEY_PARTS_MAX 32U

struct toml_parser {
        struct scanner scanner;
        const char *begin;
        struct error *err;
        json_t *root;
        void *marks;      /* tsearch tree of struct toml_mark */
        unsigned section; /* counts headers */
};

/* A dotted key, each part a new reference to a string. */
struct toml_key {
        json_t *parts[TOML_KEY_PARTS_MAX];
        size_t count;
};

void toml_key_clear(struct toml_key *key);

/* "line N: …" */
int toml_fail(const struct toml_parser *parser, const char *what);

/* Bare, quoted or dotted. */
int toml_take_key(struct toml_parser *parser, struct toml_key *ret);

/* *ret is a new reference. */
int toml_take_value(struct toml_parser *parser, unsigned depth, json_t **ret);

/* Spaces, line ends and comments. */
int toml_skip_lines(struct toml_parser *parser);

/* A comment, if there is one here: up to its line's end. */
int toml_skip_comment(struct toml_parser *parser);

/* A line's end: "\n" or "\r\n". */
bool toml_take_newline(struct toml_parser *parser);

/* Puts `value` (taken over) at a dotted key below `table`, making tables on the way. */
int toml_put(struct toml_parser *parser, json_t *table, const struct toml_key *key, json_t *value);

/* Nothing may be added to this table or array any more. */
int toml_freeze(struct toml_parser *parser, const json_t *node);
