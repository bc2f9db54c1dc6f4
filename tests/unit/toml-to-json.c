/* SPDX-License-Identifier: Apache-2.0 */
/* Reads TOML documents from standard input, separated by NULs; prints for each a line: JSON, or "error: …".
 */
#include "layer/toml.h"
#include "util/fd.h"

int main(void)
{
        _cleanup_(freep) char *text = NULL;
        size_t size;
        if (fd_read_whole(STDIN_FILENO, 64U << 20, &text, &size) < 0)
                return 1;
        for (size_t at = 0; at < size;) {
                size_t length = strnlen(text + at, size - at);
                _cleanup_(error_clear) struct error err = {};
                json_t *document;
                if (toml_read(text + at, length, &document, &err) < 0) {
                        (void)printf("error: %s\n", err.message);
                } else {
                        (void)json_dumpf(document, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
                        (void)printf("\n");
                        json_decref(document);
                }
                at += length + 1;
        }
        return 0;
}
