/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image that containers are really made of: the base image and a few files of ours, the init and what
 * gives names to the user and to the loopback interface. It is named after all of them, so it is made once,
 * and again only when one changes.
 */
#pragma once

#include "util/error.h"
#include "util/strbuf.h"

#include <jansson.h>

#define IMAGE_REPOSITORY "mai-sandbox-derived"
/* The largest build context: the init, which is a small static program. */
#define IMAGE_CONTEXT_MAX (16U << 20)

/* The init's bytes, part of this module. */
void image_init_program(const void **ret_data, size_t *ret_size);

/* "mai-sandbox-derived:..." for the base image's id. */
void image_derived_name(const char *base_id, char *ret, size_t size);

/*
 * May containers be made of this image? `answer` is the engine's account of it. What would run or write
 * without our doing is refused: ONBUILD triggers (they run while a layer is added) and volumes.
 */
int image_check(const json_t *answer, const char *name, struct error *err);

/* The build context, a tar archive. 0 or -ENOMEM. */
int image_context(const char *base_id, struct strbuf *ret);

/* The first error in the answer to a build or pull, one JSON object after another; -errno with it, else 0.
 */
int image_answer_error(const char *body, size_t size, const char *what, struct error *err);
