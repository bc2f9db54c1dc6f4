/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gateway/gateway.h"

/* The first entry of a kind is what plain `pip install` and `npm install` use: two indexes for one name
 * would let the one give what only the other should. */
static const struct {
        enum gateway_kind kind;
        const char *before, *after; /* the entry's name between them; NULL: the whole text is `before` */
} variables[] = {
    {GATEWAY_PYPI, "PIP_INDEX_URL=" GATEWAY_BASE_URL "/", "/simple/"},
    {GATEWAY_PYPI, "PIP_TRUSTED_HOST=127.0.0.1", NULL},
    {GATEWAY_PYPI, "PIP_DISABLE_PIP_VERSION_CHECK=1", NULL},
    {GATEWAY_PYPI, "PIP_NO_INPUT=1", NULL},
    {GATEWAY_PYPI, "PIP_NO_CACHE_DIR=1", NULL}, /* it would take of disk_limit once more what is installed */
    {GATEWAY_PYPI, "PIP_BREAK_SYSTEM_PACKAGES=1",
        NULL}, /* goes to the user's own directory: /usr is read-only */
    {GATEWAY_PYPI, "UV_DEFAULT_INDEX=" GATEWAY_BASE_URL "/", "/simple/"},
    {GATEWAY_PYPI, "UV_INDEX_URL=" GATEWAY_BASE_URL "/", "/simple/"}, /* before uv 0.4.23 */
    {GATEWAY_PYPI, "UV_PYTHON_DOWNLOADS=never", NULL},
    {GATEWAY_NPM, "npm_config_registry=" GATEWAY_BASE_URL "/", "/"},
    {GATEWAY_NPM, "npm_config_audit=false", NULL},
    {GATEWAY_NPM, "npm_config_fund=false", NULL},
    {GATEWAY_NPM, "npm_config_update_notifier=false", NULL},
};

static const struct gateway_entry *first_of(const struct gateway_spec *spec, enum gateway_kind kind)
{
        for (size_t i = 0; i < spec->entry_count; i++)
                if (spec->entries[i].kind == kind)
                        return &spec->entries[i];
        return NULL;
}

char **gateway_environment_free(char **environment)
{
        for (char **text = environment; text && *text; text++)
                free(*text);
        free(environment);
        return NULL;
}

char **gateway_environment(const struct gateway_spec *spec)
{
        char **environment = calloc(ARRAY_SIZE(variables) + 1, sizeof *environment);
        size_t count = 0;
        for (size_t i = 0; environment && i < ARRAY_SIZE(variables); i++) {
                const struct gateway_entry *entry = first_of(spec, variables[i].kind);
                if (!entry)
                        continue;
                const char *after = variables[i].after;
                if (asprintf(&environment[count], "%s%s%s", variables[i].before, after ? entry->name : "",
                        after ? after : "") < 0) {
                        environment[count] = NULL;
                        return gateway_environment_free(environment);
                }
                count++;
        }
        return environment;
}
