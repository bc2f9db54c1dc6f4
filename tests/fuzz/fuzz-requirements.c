/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds bytes to the parsers of requirements; the first byte says which. What must hold: no crash, no leak;
 * an error has its code and message; what is accepted is a file for pip of plain lines, none of which is an
 * option, a URL or a path, and which is read as the same set again.
 */
#include "layer/requirements_file.h"
#include "layer/script_header.h"
#include "layer/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
        if (!condition)
                abort();
}

static bool allowed(char c)
{
        return (c >= ' ' && c <= '~' && c != '$' && c != '\\' && c != '#' && c != '\'' && c != '@' &&
                   c != '/') ||
               c == '\n';
}

static void check_set(const struct requirement_set *set)
{
        _cleanup_(strbuf_clear) struct strbuf text = STRBUF_INIT(64U << 20);
        _cleanup_(strbuf_clear) struct strbuf again = STRBUF_INIT(64U << 20);
        _cleanup_(requirement_set_clear) struct requirement_set second = {};
        _cleanup_(error_clear) struct error err = {};
        must(requirement_set_format(set, &text) == 0);
        bool quoted = false;
        for (size_t i = 0; i < text.size; i++) {
                quoted ^= text.data[i] == '"';
                /* Quoted text of a marker may have more; pip does not look into it. */
                must(quoted ? text.data[i] >= ' ' && text.data[i] <= '~' && text.data[i] != '$'
                            : allowed(text.data[i]));
                if (i == 0 || text.data[i - 1] == '\n')
                        must((text.data[i] >= 'a' && text.data[i] <= 'z') ||
                             (text.data[i] >= '0' && text.data[i] <= '9'));
        }
        if (memmem(text.data ? text.data : "", text.size, "\" -", 3) || text.size > REQUIREMENTS_FILE_MAX)
                return;
        must(requirements_file_read("again", strbuf_text(&text), text.size, &second, &err) == 0);
        must(requirement_set_format(&second, &again) == 0);
        must(strcmp(strbuf_text(&text), strbuf_text(&again)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0)
                return 0;
        _cleanup_(requirement_set_clear) struct requirement_set set = {};
        _cleanup_(error_clear) struct error err = {};
        const char *text = (const char *)data + 1;
        int r;
        size--;
        switch (data[0] % 4) {
        case 0:
                r = requirements_file_read("file", text, size, &set, &err);
                break;
        case 1:
                r = script_header_read("main.py", text, size, &set, &err);
                break;
        case 2:
                r = pylock_read("pylock.toml", text, size, data[0] & 4, &set, &err);
                break;
        default: {
                json_t *document = NULL;
                r = toml_read(text, size, &document, &err);
                must(r < 0 || json_is_object(document));
                json_decref(document);
        }
        }
        if (r < 0) {
                must(err.code == ERROR_INPUT && err.message != NULL);
                return 0;
        }
        if (requirement_set_settle(&set, &err) == 0)
                check_set(&set);
        return 0;
}
