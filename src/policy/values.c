/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/values.h"
#include "util/parse.h"

#include <linux/capability.h>
#include <strings.h>

#define NAME_MAX_BYTES 255

/* By number, without CAP_. */
static const char *const capability_names[] = {
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
};

static const struct {
        const char *text;
        unsigned bit;
} security_options[] = {
    {"no-new-privileges", SECURITY_NO_NEW_PRIVILEGES},
    {"no-new-privileges:true", SECURITY_NO_NEW_PRIVILEGES},
    {"seccomp=default", SECURITY_SECCOMP_DEFAULT},
    {"seccomp=unconfined", SECURITY_SECCOMP_UNCONFINED},
};

uint64_t capabilities_docker_default(void)
{
        static const unsigned kept[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FSETID, CAP_FOWNER, CAP_MKNOD,
            CAP_NET_RAW, CAP_SETGID, CAP_SETUID, CAP_SETFCAP, CAP_SETPCAP, CAP_NET_BIND_SERVICE,
            CAP_SYS_CHROOT, CAP_KILL, CAP_AUDIT_WRITE};
        uint64_t mask = 0;
        for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
                mask |= UINT64_C(1) << kept[i];
        return mask;
}

/* Letters, digits and `others`, the first one a letter or digit. */
static bool is_name(const char *text, const char *others, size_t max)
{
        size_t size = strlen(text);
        if (size == 0 || size > max || (!letter(text[0]) && !digit(text[0])))
                return false;
        for (const char *at = text; *at != '\0'; at++)
                if (!letter(*at) && !digit(*at) && !strchr(others, *at))
                        return false;
        return true;
}

bool level_name_valid(const char *name)
{
        return is_name(name, "._-", POLICY_NAME_MAX);
}

bool environment_name_valid(const char *name, size_t size)
{
        if (size == 0 || digit(name[0]))
                return false;
        for (size_t i = 0; i < size; i++)
                if (!letter(name[i]) && !digit(name[i]) && name[i] != '_')
                        return false;
        return true;
}

/* Less of a host than this is a slip of the pen, and could not be written again without an exponent. */
#define SHARE_LEAST 0.00001

/* "N%" */
static bool read_share(const char *text, struct policy_value *value)
{
        double share;
        if (!parse_percent(text, &share) || share < SHARE_LEAST)
                return false;
        value->relative = true;
        value->number = share;
        return true;
}

static bool in_range(const struct key *key, double number)
{
        return number >= key->least && number <= key->most;
}

static bool read_bytes(const struct key *key, const char *text, struct policy_value *value)
{
        uint64_t bytes;
        if (!parse_size(text, &bytes) || bytes > (UINT64_C(1) << 53) || !in_range(key, (double)bytes))
                return false;
        value->relative = false;
        value->number = (double)bytes;
        return true;
}

static bool read_size(const struct key *key, const char *text, struct policy_value *value)
{
        return read_share(text, value) || read_bytes(key, text, value);
}

static bool read_cpus(const struct key *key, const char *text, struct policy_value *value)
{
        double number;
        if (read_share(text, value))
                return true;
        if (!parse_decimal(text, &number) || !in_range(key, number))
                return false;
        value->relative = false;
        value->number = number;
        return true;
}

static bool read_seconds(const struct key *key, const char *text, struct policy_value *value)
{
        double number;
        if (!parse_decimal(text, &number) || !in_range(key, number))
                return false;
        value->number = number;
        return true;
}

static bool read_count(const struct key *key, const char *text, struct policy_value *value)
{
        uint64_t number;
        if (!parse_u64(text, &number) || number > UINT32_MAX || !in_range(key, (double)number))
                return false;
        value->number = (double)number;
        return true;
}

static bool read_bool(const struct key *key, const char *text, struct policy_value *value)
{
        bool yes = strcmp(text, "true") == 0;
        if (!yes && strcmp(text, "false") != 0)
                return false;
        value->bits = yes;
        return true;
}

static bool read_word(const struct key *key, const char *text, struct policy_value *value)
{
        for (unsigned i = 0; key->words[i]; i++)
                if (strcmp(key->words[i], text) == 0) {
                        value->bits = i;
                        return true;
                }
        return false;
}

static bool read_word_bit(const struct key *key, const char *text, struct policy_value *value)
{
        struct policy_value word = {};
        if (!read_word(key, text, &word))
                return false;
        value->bits |= UINT64_C(1) << word.bits;
        return true;
}

static bool read_name(const struct key *key, const char *text, struct policy_value *value)
{
        return is_name(text, "._-:/@+", NAME_MAX_BYTES);
}

static bool read_level(const struct key *key, const char *text, struct policy_value *value)
{
        return level_name_valid(text);
}

static bool read_user(const struct key *key, const char *text, struct policy_value *value)
{
        char uid_text[12];
        const char *colon = strchr(text, ':');
        size_t size = colon ? (size_t)(colon - text) : strlen(text);
        uint64_t uid, gid;
        if (size >= sizeof uid_text)
                return false;
        memcpy(uid_text, text, size);
        uid_text[size] = '\0';
        if (!parse_u64(uid_text, &uid))
                return false;
        gid = uid;
        if (colon && !parse_u64(colon + 1, &gid))
                return false;
        if (uid == 0 || gid == 0 || uid > INT32_MAX || gid > INT32_MAX)
                return false;
        value->bits = uid << 32 | gid;
        return true;
}

static bool read_capability(const struct key *key, const char *text, struct policy_value *value)
{
        /* Everything at once can be dropped, but what is added has to be named. */
        if (strcasecmp(text, "ALL") == 0) {
                value->bits |= CAPABILITIES_ALL;
                return key == &policy_keys[KEY_CAP_DROP];
        }
        if (strncasecmp(text, "CAP_", 4) == 0)
                text += 4;
        for (unsigned i = 0; i < ARRAY_SIZE(capability_names); i++)
                if (strcasecmp(text, capability_names[i]) == 0) {
                        value->bits |= UINT64_C(1) << i;
                        return true;
                }
        return false;
}

static bool read_security_opt(const struct key *key, const char *text, struct policy_value *value)
{
        for (size_t i = 0; i < ARRAY_SIZE(security_options); i++)
                if (strcmp(text, security_options[i].text) == 0) {
                        value->bits |= security_options[i].bit;
                        return true;
                }
        return false;
}

static bool read_endpoint(const struct key *key, const char *text, struct policy_value *value)
{
        static const char *const schemes[] = {"unix:///", "tcp://", "https://"};
        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
                if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
                        return text[strlen(schemes[i])] != '\0' && strlen(text) < 1024;
        return false;
}

static bool read_assignment(const struct key *key, const char *text, struct policy_value *value)
{
        const char *equals = strchr(text, '=');
        return equals && environment_name_valid(text, (size_t)(equals - text));
}

const struct value_type value_types[TYPE_COUNT_] = {
    [TYPE_SIZE] = {"size", FORM_SCALAR, false, read_size, false,
        "a size in bytes, or such as \"512m\", \"1g\" or \"10%\""},
    [TYPE_BYTES] = {"size", FORM_SCALAR, false, read_bytes, false,
        "a size in bytes, or such as \"512m\" or \"1g\""},
    [TYPE_CPUS] = {"CPUs", FORM_SCALAR, false, read_cpus, false,
        "a number of CPUs such as 2 or 0.5, or such as \"50%\""},
    [TYPE_SECONDS] = {"seconds", FORM_SCALAR, true, read_seconds, false,
        "a number of seconds such as 10 or 0.5"},
    [TYPE_COUNT] = {"whole number", FORM_SCALAR, true, read_count, false, "a whole number"},
    [TYPE_BOOL] = {"`true` or `false`", FORM_SCALAR, true, read_bool, false, "true or false"},
    [TYPE_WORD] = {"word", FORM_SCALAR, false, read_word, false, "one of:"},
    [TYPE_WORD_LIST] = {"list of words", FORM_LIST, false, read_word_bit, false, "a list of some of:"},
    [TYPE_NAME] = {"name", FORM_SCALAR, false, read_name, true,
        "a name of letters, digits and . _ - : / @ +, the first a letter or digit"},
    [TYPE_NAME_LIST] = {"list of names", FORM_LIST, false, read_name, true,
        "a list of names of letters, digits and . _ - : / @ +, the first a letter or digit"},
    [TYPE_LEVEL] = {"name of a trust level", FORM_SCALAR, false, read_level, true,
        "the name of a trust level"},
    [TYPE_USER] = {"`\"UID:GID\"`", FORM_SCALAR, false, read_user, false,
        "\"UID:GID\" in numbers from 1 to 2147483647 (never 0 or root)"},
    [TYPE_CAPABILITIES] = {"list of capabilities", FORM_LIST, false, read_capability, false,
        "a list of capability names such as NET_RAW (cap_drop also takes ALL)"},
    [TYPE_SECURITY_OPT] = {"list of options", FORM_LIST, false, read_security_opt, false,
        "a list of no-new-privileges, seccomp=default, seccomp=unconfined"},
    [TYPE_ENDPOINT] = {"address of an engine", FORM_SCALAR, false, read_endpoint, true,
        "an address such as unix:///run/docker.sock or tcp://host:2376"},
    [TYPE_ENV] = {"variables", FORM_ENV, false, read_assignment, true,
        "a mapping of variable names to texts, or a list of NAME=VALUE"},
    [TYPE_URL] = {"URL", FORM_SCALAR, false, value_read_url, true,
        "a URL such as https://host/path, without credentials, query or fragment"},
    [TYPE_URL_LIST] = {"list of URLs", FORM_LIST, false, value_read_url, true,
        "a list of URLs such as https://host/path/, without credentials, query or fragment"},
    [TYPE_CIDR_LIST] = {"list of networks", FORM_LIST, false, value_read_cidr, true,
        "a list of networks such as 10.1.0.0/16 or fd00::/8, with no bit set behind the prefix"},
    [TYPE_GLOB_LIST] = {"list of patterns", FORM_LIST, false, value_read_glob, true,
        "a list of package names, in which * and ? may stand for anything"},
    [TYPE_HOST_LIST] = {"list of hosts", FORM_LIST, false, value_read_host, true,
        "a list of hosts such as files.example.org or 10.0.0.1:8443"},
    [TYPE_PATH] = {"absolute path", FORM_SCALAR, false, value_read_path, true,
        "an absolute path, without \"..\", of at most 1024 bytes"},
    [TYPE_SECRET] = {"`env:NAME` or `file:/PATH`", FORM_SCALAR, false, value_read_secret, true,
        "where the secret is to be read: env:NAME or file:/PATH"},
    [TYPE_GROUP] = {"mapping", FORM_OTHER, false, NULL, false, "a mapping"},
    [TYPE_LEVELS] = {"mapping of levels", FORM_OTHER, false, NULL, false,
        "a mapping of level names to their keys"},
    [TYPE_ENTRIES] = {"list of entries", FORM_OTHER, false, NULL, false, "a list of mappings"},
};

int strv_append(char ***items, uint32_t *count, const char *text)
{
        /* Room grows at the powers of two, so it need not be stored. */
        if ((*count & (*count + 1)) == 0) {
                char **bigger = realloc(*items, (2 * (size_t)*count + 2) * sizeof *bigger);
                if (!bigger)
                        return -ENOMEM;
                *items = bigger;
        }
        char *copy = strdup(text);
        if (!copy) {
                (*items)[*count] = NULL;
                return -ENOMEM;
        }
        (*items)[(*count)++] = copy;
        (*items)[*count] = NULL;
        return 0;
}

char **strv_free(char **items)
{
        for (size_t i = 0; items && items[i]; i++)
                free(items[i]);
        free(items);
        return NULL;
}

/* Whether the list has it: for variables, whether the name is set. */
static bool has_item(const struct policy_value *value, enum value_form form, const char *text)
{
        size_t size = strcspn(text, "=") + 1;
        for (size_t i = 0; i < value->item_count; i++) {
                const char *item = value->items[i];
                if (form == FORM_ENV ? strncmp(item, text, size) == 0 : strcmp(item, text) == 0)
                        return true;
        }
        return false;
}

int value_read(const struct key *key, const char *text, struct policy_value *value)
{
        const struct value_type *type = &value_types[key->type];
        uint64_t bits = value->bits;
        /* "010" is eight to some readers of YAML and ten to others. */
        bool is_number = key->most > 0;
        if (is_number && text[0] == '0' && digit(text[1]))
                return -EINVAL;
        if (!type->read(key, text, value))
                return -EINVAL;
        value->set = true;
        if (type->form == FORM_SCALAR) {
                if (!type->keep_text)
                        return 0;
                value->text = strdup(text);
                return value->text ? 0 : -ENOMEM;
        }
        if (!type->keep_text)
                return bits == value->bits ? -EEXIST : 0;
        if (has_item(value, type->form, text))
                return -EEXIST;
        return strv_append(&value->items, &value->item_count, text);
}

static void number_text(const struct key *key, double number, char *buffer, size_t size)
{
        char human[FORMAT_SIZE_MAX];
        if (key->type == TYPE_SIZE || key->type == TYPE_BYTES)
                (void)snprintf(buffer, size, "%s", format_size((uint64_t)number, human));
        else
                (void)snprintf(
                    buffer, size, "%.15g%s%s", number, key->unit ? " " : "", key->unit ? key->unit : "");
}

const char *value_number_text(const struct key *key, double number, char buffer[NUMBER_TEXT_MAX])
{
        number_text(key, number, buffer, NUMBER_TEXT_MAX);
        return buffer;
}

const char *value_expected(const struct key *key, char buffer[EXPECTED_MAX])
{
        const char *text = value_types[key->type].expected;
        int n = snprintf(buffer, EXPECTED_MAX, "%s", text);
        for (unsigned i = 0; key->words && key->words[i] && n < EXPECTED_MAX; i++)
                n += snprintf(
                    buffer + n, (size_t)(EXPECTED_MAX - n), "%s %s", i > 0 ? "," : "", key->words[i]);
        if (key->most > 0 && n < EXPECTED_MAX) {
                char least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
                (void)snprintf(buffer + n, (size_t)(EXPECTED_MAX - n), ", from %s to %s",
                    value_number_text(key, key->least, least), value_number_text(key, key->most, most));
        }
        return buffer;
}

const char *quoted(const char *text, char buffer[QUOTED_MAX])
{
        size_t n = 0;
        buffer[n++] = '"';
        for (const char *at = text; *at != '\0'; at++) {
                if (n > QUOTED_MAX - 12) {
                        memcpy(buffer + n, "...", 3);
                        n += 3;
                        break;
                }
                if (*at >= ' ' && *at <= '~')
                        buffer[n++] = *at;
                else
                        n += (size_t)snprintf(buffer + n, QUOTED_MAX - n, "\\x%02x", (unsigned char)*at);
        }
        buffer[n++] = '"';
        buffer[n] = '\0';
        return buffer;
}

/* A YAML double-quoted text. Values have no control characters: document.c and the request see to it. */
static int write_text(const char *text, struct strbuf *buf)
{
        int r = strbuf_append_text(buf, "\"");
        while (r == 0 && *text != '\0') {
                size_t plain = strcspn(text, "\\\"");
                r = strbuf_append(buf, text, plain);
                text += plain;
                if (r == 0 && *text != '\0')
                        r = strbuf_appendf(buf, "\\%c", *text++);
        }
        return r < 0 ? r : strbuf_append_text(buf, "\"");
}

/* The next separator of a list. */
static int write_comma(bool *first, struct strbuf *buf)
{
        int r = *first ? 0 : strbuf_append_text(buf, ", ");
        *first = false;
        return r;
}

/* The word for one bit of a value; NULL: there is none. */
static const char *bit_name(const struct key *key, unsigned bit)
{
        if (key->type == TYPE_WORD_LIST)
                return key->words[bit];
        if (key->type == TYPE_CAPABILITIES)
                return bit < ARRAY_SIZE(capability_names) ? capability_names[bit] : "ALL";
        for (size_t i = 0; key->type == TYPE_SECURITY_OPT && i < ARRAY_SIZE(security_options); i++)
                if (security_options[i].bit == UINT64_C(1) << bit)
                        return security_options[i].text;
        return NULL;
}

static int write_bits(const struct key *key, uint64_t bits, struct strbuf *buf)
{
        bool first = true;
        int r = 0;
        for (unsigned bit = 0; r == 0 && bit < 64; bit++) {
                if (!(bits & UINT64_C(1) << bit))
                        continue;
                const char *name = bit_name(key, bit);
                r = name ? write_comma(&first, buf) : -EINVAL;
                if (r == 0)
                        r = write_text(name, buf);
        }
        return r;
}

static int write_list(const struct key *key, const struct policy_value *value, struct strbuf *buf)
{
        bool first = true;
        int r = strbuf_append_text(buf, "[");
        if (r == 0 && !value_types[key->type].keep_text)
                r = write_bits(key, value->bits, buf);
        for (size_t i = 0; r == 0 && i < value->item_count; i++) {
                r = write_comma(&first, buf);
                if (r == 0)
                        r = write_text(value->items[i], buf);
        }
        return r < 0 ? r : strbuf_append_text(buf, "]");
}

static int write_number(const struct key *key, const struct policy_value *value, struct strbuf *buf)
{
        static const char units[] = "bkmgt";
        /* Twelve digits: what comes out of a division still fits into what parse_decimal() takes. */
        if (value->relative)
                return strbuf_appendf(buf, "\"%.12g%%\"", value->number * 100);
        if (key->type != TYPE_SIZE && key->type != TYPE_BYTES)
                return strbuf_appendf(buf, "%.12g", value->number);
        uint64_t bytes = (uint64_t)value->number;
        unsigned unit = 0;
        while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
                bytes /= 1024;
                unit++;
        }
        return strbuf_appendf(buf, "\"%llu%c\"", (unsigned long long)bytes, units[unit]);
}

int value_write(const struct key *key, const struct policy_value *value, struct strbuf *buf)
{
        const struct value_type *type = &value_types[key->type];
        if (type->form != FORM_SCALAR)
                return write_list(key, value, buf);
        if (type->keep_text)
                return write_text(value->text, buf);
        switch (key->type) {
        case TYPE_BOOL:
                return strbuf_append_text(buf, value->bits ? "true" : "false");
        case TYPE_WORD:
                return strbuf_appendf(buf, "\"%s\"", key->words[value->bits]);
        case TYPE_USER:
                return strbuf_appendf(
                    buf, "\"%u:%u\"", (unsigned)(value->bits >> 32), (unsigned)value->bits);
        default:
                return write_number(key, value, buf);
        }
}
